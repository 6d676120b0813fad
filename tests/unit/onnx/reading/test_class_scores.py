"""Outputs with scores of classes are known by the operators that compute them."""

from __future__ import annotations

from itertools import pairwise

import onnx
import onnx.parser
import pytest
from onnx import TensorProto, helper

from irbench.onnx.reading import class_scores as of_classes
from irbench.onnx.reading.class_scores import ClassScores, class_scores, known_class_axes
from irbench.onnx.reading.value_shapes import inferred_at


def model(
    nodes: list[onnx.NodeProto], *outputs: str, shape: tuple[int | str, ...] = ("N", 10), opset: int = 17
) -> onnx.ModelProto:
    given = [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)]
    made = [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name in outputs]
    graph = helper.make_graph(nodes, "model", given, made)
    imports = [helper.make_opsetid("", opset), helper.make_opsetid("ai.onnx.ml", 3)]
    return helper.make_model(graph, opset_imports=imports)


def shown(made: onnx.ModelProto) -> tuple[bool | None, ...]:
    return tuple(each.shown for each in class_scores(made))


def axes(made: onnx.ModelProto) -> tuple[int | None, ...]:
    return tuple(each.axis for each in class_scores(made))


def node(operator: str, given: str, made: str, **attributes: object) -> onnx.NodeProto:
    return helper.make_node(operator, [given], [made], **attributes)


@pytest.mark.parametrize("between", ["Cast", "Reshape", "Identity"])
def test_a_softmax_at_the_end_gives_scores_whatever_only_moves_them(between: str) -> None:
    attributes = {"to": TensorProto.FLOAT16} if between == "Cast" else {}
    given = ["p", "size"] if between == "Reshape" else ["p"]
    moved = helper.make_node(between, given, ["label"], **attributes)
    size = helper.make_node("Constant", [], ["size"], value_ints=[0, -1])
    made = model([size, node("Softmax", "x", "p"), moved, node("ArgMax", "p", "best")], "label")
    assert shown(made) == (True,)


def test_each_output_is_judged_for_itself_whatever_their_order() -> None:
    nodes = [node("Neg", "x", "box"), node("LogSoftmax", "x", "label"), node("Sigmoid", "x", "mask")]
    assert shown(model(nodes, "box", "label", "mask")) == (None, True, False)
    assert shown(model(nodes, "mask", "label")) == (False, True)


def reads(name: str) -> onnx.NodeProto:
    return helper.make_node("Mul", [name, "x"], ["y"])


def branch_that_reads(name: str) -> onnx.NodeProto:
    made = helper.make_tensor_value_info("inner", TensorProto.FLOAT, None)
    body = helper.make_graph([node("Neg", name, "inner")], "branch", [], [made])
    return helper.make_node("If", ["condition"], ["y"], then_branch=body, else_branch=body)


@pytest.mark.parametrize(
    "reader", [reads("weights"), reads("shown"), branch_that_reads("weights")], ids=["itself", "moved", "in a branch"]
)
def test_a_softmax_that_the_graph_computes_with_may_be_weights_or_scores(reader: onnx.NodeProto) -> None:
    nodes = [node("Softmax", "x", "weights"), node("Identity", "weights", "shown"), reader]
    assert shown(model(nodes, "weights", "shown", "y")) == (None, None, None)


@pytest.mark.parametrize(
    ("operator", "after"),
    [("LogSoftmax", "Exp"), ("Softmax", "Log"), ("Softmax", "Clip"), ("Softmax", "Sqrt")],
)
def test_what_keeps_the_order_of_probabilities_keeps_the_scores(operator: str, after: str) -> None:
    made = model([node(operator, "x", "p"), node(after, "p", "label")], "label", "p")
    assert shown(made) == (True, True)


@pytest.mark.parametrize(("after", "known"), [("Exp", False), ("Clip", False), ("Log", None)])
def test_the_same_functions_of_anything_else_give_none(after: str, known: bool | None) -> None:
    assert shown(model([node("Neg", "x", "p"), node(after, "p", "y")], "y")) == (known,)


@pytest.mark.parametrize("domain", ["com.microsoft", "of.others"])
@pytest.mark.parametrize("operator", ["Softmax", "Sigmoid", "Identity"])
def test_operators_of_another_domain_show_nothing_whatever_they_are_called(operator: str, domain: str) -> None:
    foreign = node(operator, "p", "label", domain=domain)
    assert shown(model([node("Softmax", "x", "p"), foreign], "label")) == (None,)


def test_the_full_name_of_the_domain_of_onnx_is_its_own() -> None:
    assert shown(model([node("Softmax", "x", "label", domain="ai.onnx")], "label")) == (True,)


def quantized(given: str, made: str, domain: str = "") -> list[onnx.NodeProto]:
    """Return nodes that quantise and dequantise, to ``made`` by way of ``made_q``."""
    return [
        helper.make_node("QuantizeLinear", [given, "scale", "zero"], [f"{made}_q"], domain=domain),
        helper.make_node("DequantizeLinear", [f"{made}_q", "scale", "zero"], [made], domain=domain),
    ]


@pytest.mark.parametrize("element", [TensorProto.UINT8, TensorProto.INT8, TensorProto.INT16])
@pytest.mark.parametrize("domain", ["", "com.microsoft"])
def test_quantised_probabilities_are_scores_as_integers_too(domain: str, element: int) -> None:
    made = model([*quantized("x", "z"), node("Softmax", "z", "p"), *quantized("p", "y", domain)], "y_q", "y")
    made.graph.output[0].type.tensor_type.elem_type = element
    assert shown(made) == (True, True)


def test_quantised_logits_are_not_known_and_images_in_eight_bits_are_no_scores() -> None:
    nodes = [*quantized("x", "logits"), node("Softmax", "x", "p"), node("Cast", "p", "image", to=TensorProto.UINT8)]
    made = model(nodes, "logits_q", "logits", "image")
    for place in (0, 2):
        made.graph.output[place].type.tensor_type.elem_type = TensorProto.UINT8
    assert shown(made) == (None, None, False)


def test_probabilities_that_were_integers_in_between_are_no_scores() -> None:
    nodes = [node("Softmax", "x", "p"), node("Cast", "p", "whole", to=TensorProto.INT64)]
    made = model([*nodes, node("Cast", "whole", "label", to=TensorProto.FLOAT)], "label")
    assert shown(made) == (False,)


@pytest.mark.parametrize(("axis", "known"), [({}, True), ({"axis": 1}, None), ({"axis": 0}, False)])
def test_a_softmax_on_integers_is_one(axis: dict[str, int], known: bool | None) -> None:
    softmax = helper.make_node(
        "QLinearSoftmax", ["x", "s", "z", "s", "z"], ["label_q"], domain="com.microsoft", opset=11, **axis
    )
    dequantized = helper.make_node("DequantizeLinear", ["label_q", "s", "z"], ["label"])
    made = model([softmax, dequantized], "label_q", "label", shape=("N", 5, 7))
    made.graph.output[0].type.tensor_type.elem_type = TensorProto.UINT8
    assert shown(made) == (known, known)


@pytest.mark.parametrize(
    ("axis", "opset", "has_classes"),
    [({}, 17, True), ({}, 11, False), ({"axis": 1}, 17, None), ({"axis": 2}, 11, True), ({"axis": 0}, 17, False)],
)
def test_scores_lie_along_the_last_axis_and_the_second_of_three_may_count_positions(
    axis: dict[str, int], opset: int, has_classes: bool | None
) -> None:
    made = model([node("Softmax", "x", "label", **axis)], "label", shape=("N", 5, 7), opset=opset)
    assert shown(made) == (has_classes,)


@pytest.mark.parametrize("shape", [("N", 1), ("N",)])
def test_a_single_number_is_no_score_of_a_class(shape: tuple[int | str, ...]) -> None:
    assert shown(model([node("Softmax", "x", "label")], "label", shape=shape)) == (False,)


def test_integers_and_outputs_that_are_inputs_are_not_taken_for_scores() -> None:
    made = model([node("ArgMax", "x", "best")], "x", "best")
    made.graph.output[1].type.tensor_type.elem_type = TensorProto.INT64
    assert shown(made) == (None, False)


def test_the_second_output_of_a_classifier_of_machine_learning_has_the_scores() -> None:
    classifier = helper.make_node("LinearClassifier", ["x"], ["best", "raw"], domain="ai.onnx.ml", coefficients=[1.0])
    made = model([classifier, node("Normalizer", "raw", "scores", domain="ai.onnx.ml")], "best", "scores")
    made.graph.output[0].type.tensor_type.elem_type = TensorProto.INT64
    assert shown(made) == (False, True)


@pytest.mark.parametrize(
    ("scores", "known"),
    [
        ([ClassScores(None, 1), ClassScores(True, 2)], (None, 2)),
        ([ClassScores(False, 1), ClassScores(False)], ()),
        ([ClassScores(None, 1), ClassScores(False)], None),
        ([], ()),
    ],
)
def test_one_output_that_is_known_is_enough(scores: list[ClassScores], known: tuple[int | None, ...] | None) -> None:
    assert known_class_axes(scores) == known


@pytest.mark.parametrize(
    ("nodes", "axis", "shows_classes"),
    [
        ("c = Conv(x, w) y = Softmax<axis = 1>(c)", 1, True),
        ("c = Conv(x, w) y = Softmax<axis = -3>(c)", 1, True),
        ("c = Conv(x, w) d = LogSoftmax<axis = 1>(c) y = Identity(d)", 1, True),
        ("c = Conv(x, w) t = Transpose<perm = [0, 2, 3, 1]>(c) y = Softmax(t)", 3, True),
        ("y = Conv(x, w)", 1, None),
        ('c = Conv(x, w) y = Resize<mode = "linear">(c, , s)', 1, None),
        ("c = Conv(x, w) y = Add(c, b)", 1, None),
        ("c = Conv(x, w) y = Transpose<perm = [0, 2, 3, 1]>(c)", 3, None),
        ("y = MatMul(x, m)", 3, None),
        ("c = Conv(x, w) y = Softmax<axis = 2>(c)", 2, False),
        ("c = Conv(x, w) y = Relu(c)", 1, False),
        ("c = Conv(x, w) a = LeakyRelu(c) y = GlobalAveragePool(a)", 1, None),
        ("c = Conv(x, w) k = Constant<value_float = 2.0>() y = Mul(k, c)", 1, None),
        ("c = Conv(x, w) p = Softmax<axis = 1>(c) y = Transpose<perm = [0, 2, 3, 1]>(p)", 3, True),
        ('c = Conv(x, w) p = Softmax<axis = 1>(c) y = Resize<mode = "linear">(p, , s)', 1, True),
        ("c = Conv(x, w) t = Transpose(c) p = Softmax<axis = 2>(t) y = Transpose(p)", 1, True),
        ("c = Conv(x, w) s_ = Sigmoid(c) y = Transpose<perm = [0, 2, 3, 1]>(s_)", 3, False),
        ("c = Conv(x, w) d = Conv(x, w) y = Add(c, d)", None, None),
        ("c = Conv(x, w) y = Reshape(c, r)", None, None),
        ("y = Tanh(x)", None, False),
    ],
)
def test_the_axis_of_classes_is_that_of_the_last_layer(
    nodes: str, axis: int | None, shows_classes: bool | None
) -> None:
    text = f"""<ir_version: 8, opset_import: ["" : 17]> g (float[N,3,8,8] x) => (float[N,A,B,C] y)
        <float[5,3,1,1] w = {{{",".join(["1"] * 15)}}}, float[4] s = {{1, 1, 2, 2}}, float[1] b = {{1}},
         float[8,2] m = {{{",".join(["1"] * 16)}}}, int64[4] r = {{0, 8, 8, 5}}> {{ {nodes} }}"""
    made = onnx.parser.parse_model(text)
    assert axes(made) == (axis,)
    assert shown(made) == (shows_classes,)


def test_a_softmax_of_an_old_operator_set_over_several_axes_gives_no_classes() -> None:
    text = """<ir_version: 6, opset_import: ["" : 11]> g (float[N,3,8,8] x) => (float[N,3,8,8] y) {
        y = Softmax<axis = 1>(x) }"""
    made = onnx.parser.parse_model(text)
    assert class_scores(made) == (ClassScores(False),)


@pytest.mark.parametrize(
    ("shapes", "nodes", "known"),
    [
        (("[N,3,8,8]", "[N,5,1,1]"), "c = GlobalAveragePool(m) y = Softmax<axis = 1>(c)", True),
        (("[N,3,8,8]", "[N,1,8,8]"), "y = Softmax<axis = 1>(m)", False),
        (("[N,3,8,8]", "[N,5]"), "c = GlobalAveragePool(m) p = Softmax<axis = 1>(c) y = Flatten(p)", True),
    ],
)
def test_the_axis_of_a_softmax_must_count_several_classes(
    shapes: tuple[str, str], nodes: str, known: bool | None
) -> None:
    text = f"""<ir_version: 8, opset_import: ["" : 17]> g (float{shapes[0]} x) => (float{shapes[1]} y)
        <float[5,3,1,1] w = {{{",".join(["1"] * 15)}}}, int64[3] r = {{0, 5, 64}}, int64[4] q = {{0, 5, 8, 8}}> {{
        m = Conv(x, w) {nodes} }}"""
    assert shown(onnx.parser.parse_model(text)) == (known,)


@pytest.mark.parametrize(
    ("opset", "shapes", "nodes", "known"),
    [
        (9, ("[N,10,1,1]", "[N,10,1,1]"), "y = Softmax(x)", ClassScores(True, 1)),
        (9, ("[N,10,8,8]", "[N,10,H,W]"), "p = GlobalAveragePool(x) y = Softmax(p)", ClassScores(True, 1)),
        (9, ("[1,10]", "[1,10]"), "y = Softmax<axis = 0>(x)", ClassScores(True, 1)),
        (9, ("[N,5,8]", "[N,5,8]"), "y = Softmax<axis = -2>(x)", ClassScores(False)),
        (17, ("[N,5,1]", "[N,5,1]"), "y = Softmax<axis = 1>(x)", ClassScores(True, 1)),
        (17, ("[N,5,1]", "[N,5,1]"), "y = Softmax(x)", ClassScores(False, 2)),
    ],
)
def test_the_only_axis_with_several_values_is_that_of_the_classes(
    opset: int, shapes: tuple[str, str], nodes: str, known: ClassScores
) -> None:
    text = f"""<ir_version: 8, opset_import: ["" : {opset}]> g (float{shapes[0]} x) => (float{shapes[1]} y) {{
        {nodes} }}"""
    assert class_scores(onnx.parser.parse_model(text)) == (known,)


@pytest.mark.parametrize(
    ("given", "made", "axis", "target", "known"),
    [
        ("[N,84]", "[N,84]", 2, "[0, -1]", ClassScores(False)),  # boxes of 21 classes each, in one row
        ("[N,4,8,8]", "[N,256]", 1, "[0, -1]", ClassScores(False)),
        ("[N,4,8,8]", "[N,M]", 1, "[0, -1]", ClassScores(False)),
        ("[N,4,H,W]", "[N,M]", 1, "[0, -1]", ClassScores(None)),
        ("[N,4,8,8]", "[N,4,64]", 1, "[0, 4, -1]", ClassScores(None, 1)),
        ("[N,4,64]", "[N,4,8,8]", 1, "[0, 4, 8, 8]", ClassScores(True, 1)),
        ("[N,7,21]", "[M,21]", 2, "[-1, 21]", ClassScores(True, 1)),
        ("[M,21]", "[N,7,21]", 1, "[-1, 7, 21]", ClassScores(True, 2)),
        ("[N,4,8,8]", "[N,8,8,4]", 1, "[0, 8, 8, 4]", ClassScores(None)),
        ("[N,21]", "[N,21]", 1, "computed", ClassScores(None)),
    ],
)
def test_an_axis_is_that_of_the_classes_until_a_reshape_joins_it_with_another(
    given: str, made: str, axis: int, target: str, known: ClassScores
) -> None:
    boxes = "b = Constant<value_ints = [0, -1, 21]>() i = Reshape(x, b)" if given == "[N,84]" else "i = Identity(x)"
    r = "q = com.others.Sizes(x)" if target == "computed" else f"q = Constant<value_ints = {target}>()"
    text = f"""<ir_version: 8, opset_import: ["" : 17, "com.others" : 1]> g (float{given} x) => (float{made} y) {{
        {boxes} p = Softmax<axis = {axis}>(i) {r} y = Reshape(p, q) }}"""
    assert class_scores(onnx.parser.parse_model(text)) == (known,)


def test_an_output_whose_shape_the_file_does_not_state_is_judged_by_the_shape_that_follows() -> None:
    made = model([node("Softmax", "x", "label", axis=1)], "label", shape=("N", 5, 8, 8))
    made.graph.output[0].type.tensor_type.ClearField("shape")
    assert class_scores(made) == (ClassScores(True, 1),)


def test_shapes_are_inferred_only_for_scores_behind_a_reshape(monkeypatch: pytest.MonkeyPatch) -> None:
    inferred: list[onnx.ModelProto] = []

    def infer(made: onnx.ModelProto, _: object) -> onnx.ModelProto:
        inferred.append(made)
        return inferred_at(made, ())

    monkeypatch.setattr(of_classes, "inferred_at", infer)
    keys = [node("Neg", "x", "n"), node("Reshape", "n", "k"), node("Reshape", "n", "v")]
    class_scores(model([*keys, node("Softmax", "x", "label")], "k", "v", "label"))
    assert not inferred
    class_scores(model([node("Softmax", "x", "p"), node("Flatten", "p", "a"), node("Flatten", "p", "b")], "a", "b"))
    assert len(inferred) == 1


def test_a_long_chain_of_copies_is_followed_to_its_end() -> None:
    names = ["p", *(f"copy{number}" for number in range(2_000)), "label"]
    copies = [node("Identity", given, made) for given, made in pairwise(names)]
    assert shown(model([node("Softmax", "x", "p"), *copies], "p", "label")) == (True, True)
