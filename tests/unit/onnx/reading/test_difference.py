"""What was done to a graph is told by names, and fusions by what lies between the tensors of a new node."""

import pytest

from irbench.onnx.reading.difference import Fusion, InventoryDifference, difference
from irbench.onnx.reading.inventory import Inventory, NodeEntry, WeightEntry


def node(name, operator, inputs, outputs):
    return NodeEntry(name, operator, "", tuple(inputs.split()), tuple(outputs.split()))


def graph(*nodes, weights=""):
    return Inventory(nodes=nodes, weights=tuple(WeightEntry(name, "float32", ()) for name in weights.split()))


GELU = (
    node("div", "Div", "x c", "a"),
    node("erf", "Erf", "a", "b"),
    node("add", "Add", "b one", "d"),
    node("mul", "Mul", "x d", "e"),
    node("half", "Mul", "e h", "y"),
)


def test_equal_graphs_do_not_differ():
    found = difference(graph(*GELU), graph(*GELU))
    assert found == InventoryDifference({}, (), (), (), {})


def test_a_new_node_in_the_place_of_several_is_a_fusion():
    found = difference(graph(*GELU), graph(node("gelu", "Gelu", "x", "y")))
    assert found.fusions == {Fusion("Gelu", (("Add", 1), ("Div", 1), ("Erf", 1), ("Mul", 2))): 1}
    assert found.operators == {"Div": (1, 0), "Erf": (1, 0), "Add": (1, 0), "Mul": (2, 0), "Gelu": (0, 1)}
    assert [item.name for item in found.added] == ["gelu"]
    assert [item.name for item in found.removed] == ["div", "erf", "add", "mul", "half"]


def test_what_still_stands_before_a_fusion_is_no_part_of_it():
    before = graph(node("conv", "Conv", "x w", "a"), node("twice", "Mul", "a a", "b"), node("relu", "Relu", "b", "y"))
    after = graph(node("conv", "Conv", "x w", "a"), node("square_relu", "SquareRelu", "a", "y"))
    assert difference(before, after).fusions == {Fusion("SquareRelu", (("Mul", 1), ("Relu", 1))): 1}


def test_a_node_that_kept_its_name_and_changed_its_operator_is_changed_and_may_be_a_fusion():
    before = graph(node("conv", "Conv", "x w", "a"), node("relu", "Relu", "a", "y"))
    after = graph(node("conv", "FusedConv", "x w", "y"))
    found = difference(before, after)
    assert [(item.operator, other.operator) for item, other in found.changed] == [("Conv", "FusedConv")]
    assert found.fusions == {Fusion("FusedConv", (("Conv", 1), ("Relu", 1))): 1}


def test_a_node_that_was_only_renamed_is_the_same():
    found = difference(graph(node("a", "Relu", "x", "y")), graph(node("b", "Relu", "x", "y")))
    assert not found.added
    assert not found.removed


def test_one_node_for_one_is_no_fusion():
    found = difference(graph(node("a", "Relu", "x", "y")), graph(node("b", "Clip", "x", "y")))
    assert not found.fusions
    assert found.operators == {"Relu": (1, 0), "Clip": (0, 1)}


def test_a_cycle_in_a_broken_graph_ends():
    before = graph(node("a", "Relu", "y", "z"), node("b", "Relu", "z", "y"))
    assert difference(before, graph(node("c", "Clip", "x", "y"))).fusions == {Fusion("Clip", (("Relu", 2),)): 1}


ATTENTION = (
    node("queries", "Mul", "x scale", "q"),
    node("scores", "MatMul", "q k", "scores"),
    node("softmax", "Softmax", "scores", "weights"),
    node("weighed", "MatMul", "weights v", "attended"),
    node("joined", "Reshape", "attended whole", "a"),
)


def test_a_fusion_is_seen_where_new_tensors_are_named_after_those_that_are_gone():
    made = (node("n1", "Mul", "x scale", "q_mul"), node("n2", "Attention", "q_mul k v", "a_reshape_reshape"))
    found = difference(graph(*ATTENTION, weights="whole"), graph(*made)).fusions
    assert found == {Fusion("Attention", (("MatMul", 2), ("Reshape", 1), ("Softmax", 1))): 1}


MASKED = (
    node("padded", "Not", "mask", "padded"),
    node("far", "Mul", "padded lowest", "far"),
    node("scores", "MatMul", "q k", "scores"),
    node("near", "Add", "scores far", "near"),
    node("softmax", "Softmax", "near", "weights"),
    node("weighed", "MatMul", "weights v", "y"),
)
MASKED_ATTENTION = Fusion("Attention", (("Add", 1), ("MatMul", 2), ("Softmax", 1)))


def test_a_mask_named_after_the_scores_does_not_stand_for_them():
    mask = node("n1", "Where", "mask zero lowest", "scores_where")
    after = graph(mask, node("n2", "Attention", "q k v scores_where", "y"), weights="zero lowest")
    assert difference(graph(*MASKED, weights="lowest"), after).fusions == {MASKED_ATTENTION: 1}


def test_a_mask_of_the_same_input_as_the_scores_does_not_stand_for_them():
    ids = (node("mask", "Equal", "ids padding", "mask"), node("embed", "Gather", "table ids", "x"))
    qkv = tuple(node(name, "MatMul", f"x w{name}", name) for name in "qkv")
    mask = node("n1", "Where", "mask zero lowest", "scores_where")
    after = (*ids, *qkv, mask, node("n2", "Attention", "q k v scores_where", "y"))
    weights = "padding table wq wk wv zero lowest"
    found = difference(graph(*ids, *qkv, *MASKED, weights=weights), graph(*after, weights=weights)).fusions
    assert found == {MASKED_ATTENTION: 1}


def test_what_may_lie_behind_an_input_of_unknown_origin_is_no_part_of_a_fusion():
    before = graph(*MASKED, node("dense", "MatMul", "y w", "z"), node("relu", "Relu", "z", "out"), weights="w lowest")
    made = (node("n1", "Attention", "q k v mask", "val_0"), node("n2", "DenseRelu", "val_0 w", "out"))
    assert not difference(before, graph(*made, weights="w")).fusions


WHOLE_GELU = {Fusion("Gelu", (("Add", 1), ("Div", 1), ("Erf", 1), ("Mul", 2))): 1}


@pytest.mark.parametrize("read", ["x_narrow", "val_0"])
@pytest.mark.parametrize("made", ["y_narrow", "val_1"])
@pytest.mark.parametrize("form", ["Cast", "Identity", "Transpose", "QuantizeLinear"])
def test_casts_around_a_fusion_hide_nothing_of_it(form, read, made):
    after = (node("n1", form, "x", read), node("n2", "Gelu", read, made), node("n3", "Cast", made, "y"))
    assert difference(graph(*GELU, weights="c one h"), graph(*after)).fusions == WHOLE_GELU


def test_a_fusion_ends_at_the_tensor_whose_values_an_input_holds():
    before = graph(node("up", "Mul", "in two", "x"), *GELU, weights="two c one h")
    up = (node("n0", "Scale", "in two", "x_scale"), node("n1", "Cast", "x_scale", "val_0"))
    after = graph(
        *up, node("n2", "Reshape", "val_0 flat", "val_1"), node("n3", "Gelu", "val_1", "y"), weights="two flat"
    )
    assert difference(before, after).fusions == WHOLE_GELU


def test_a_cast_takes_no_place_of_what_computes_its_values():
    dense = (node("flat", "Reshape", "x s", "a"), node("dense", "MatMul", "a w", "b"), node("bias", "Add", "b c", "y"))
    before = graph(*dense, node("end", "Neg", "y", "z"), weights="s w c")
    named = (node("n1", "MatMul", "x w", "b_matmul"), node("n2", "Cast", "b_matmul", "val_0"))
    behind = (*named, node("n3", "Add", "val_0 c", "y"), node("n4", "Neg", "y", "z"))
    ahead = (node("n1", "MatMul", "x w", "val_0"), node("n2", "Cast", "val_0", "y"), node("n3", "Neg", "y", "z"))
    assert not difference(before, graph(*behind, weights="s w c")).fusions
    assert not difference(before, graph(*ahead, weights="s w c")).fusions


def test_a_node_that_only_works_on_another_shape_is_no_fusion():
    before = graph(node("flat", "Reshape", "x s", "a"), node("dense", "MatMul", "a w", "b"))
    assert not difference(before, graph(node("new", "MatMul", "x w", "b_matmul"))).fusions


def test_a_weight_named_after_a_tensor_does_not_end_a_fusion():
    after = graph(node("gelu", "Gelu", "x a_constant", "y"), weights="a_constant")
    assert difference(graph(*GELU), after).fusions == {
        Fusion("Gelu", (("Add", 1), ("Div", 1), ("Erf", 1), ("Mul", 2))): 1
    }


def test_a_node_that_two_new_ones_depend_on_is_part_of_the_first():
    before = graph(
        node("square", "Mul", "x x", "a"),
        node("positive", "Relu", "a", "b"),
        node("first", "Exp", "b", "y"),
        node("second", "Neg", "b", "n"),
        node("last", "Tanh", "n", "z"),
    )
    after = graph(node("one", "SquareExp", "x", "y"), node("other", "SquareTanh", "x", "z"))
    assert difference(before, after).fusions == {
        Fusion("SquareExp", (("Exp", 1), ("Mul", 1), ("Relu", 1))): 1,
        Fusion("SquareTanh", (("Neg", 1), ("Tanh", 1))): 1,
    }


def test_nodes_are_part_of_the_first_one_in_the_graph_also_if_that_kept_its_name():
    before = graph(node("square", "Mul", "x x", "a"), node("relu", "Relu", "a", "b"), node("neg", "Neg", "b", "y"))
    after = graph(node("relu", "SquareRelu", "x", "b_new"), node("made", "NegRelu", "b_new", "y"))
    assert difference(before, after).fusions == {Fusion("SquareRelu", (("Mul", 1), ("Relu", 1))): 1}


def test_what_computes_sizes_is_no_part_of_a_fusion():
    sizes = (
        node("size", "Shape", "x", "s"),
        node("batch", "Gather", "s first", "n"),
        node("to", "Concat", "n -1", "to"),
    )
    before = graph(*sizes, node("relu", "Relu", "x", "a"), node("flat", "Reshape", "a to", "y"), weights="first -1")
    after = graph(node("new", "FlatRelu", "x", "y"))
    assert difference(before, after).fusions == {Fusion("FlatRelu", (("Relu", 1), ("Reshape", 1))): 1}
