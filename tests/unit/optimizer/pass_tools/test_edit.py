import numpy as np
import onnx
import pytest
from graphs import graph
from onnx_ir import to_proto

from irbench.onnx.sizes import Size
from irbench.optimizer.pass_tools.edit import add_constant, clean, insert, only_reader, replace, reshape_operation

BRANCHES = """
    y = If (c) <
        then_branch = yes () => (float[2] o1) { z_constant1 = Relu (z)  o1 = Neg (z_constant1) },
        else_branch = no () => (float[2] o2) { o2 = Neg (x) }
    >
"""


def test_a_new_constant_is_called_as_no_other_value_is_inner_graphs_included():
    model = graph(f"(bool c, float[2] x) => (float[2] y) {{ z = Relu (x)  z_constant = Neg (x)  {BRANCHES} }}")
    made = add_constant(model.graph, np.ones(2, np.float32), model.graph[0].outputs[0])
    assert made.name == "z_constant2"
    onnx.checker.check_model(to_proto(model), full_check=True)


def test_a_new_node_and_an_output_that_is_replaced_are_called_as_no_other_value_is():
    branches = BRANCHES.replace("z_constant1", "y_replaced")
    model = graph(f"(bool c, float[2] x) => (float[2] y) {{ z = Relu (x)  y_neg = Neg (x)  {branches} }}")
    old = model.graph.outputs[0]
    node = old.producer()
    assert node is not None
    made = insert(node, "Neg", [model.graph.inputs[1]])
    assert made.name == "y_neg1"
    replace(old, made)
    assert (old.name, made.name) == ("y_replaced1", "y")
    onnx.checker.check_model(to_proto(model), full_check=True)


def test_a_reader_in_a_branch_does_not_stand_where_the_value_does():
    model = graph(f"(bool c, float[2] x) => (float[2] y) {{ z = Relu (x)  {BRANCHES} }}")
    z = model.graph[0].outputs[0]
    assert len(z.uses()) == 1
    assert only_reader(z) is None


def test_a_loop_keeps_its_inputs_where_the_condition_is_omitted():
    body = """
        body = turn (int64 i, bool go) => (bool on, float[2] o) { on = Identity (go)  o = Neg (x) }
    """
    model = graph(f'(int64 n, float[2] x) => (float[?,2] y) {{ unread = Relu (x)  y = Loop (n, "") <{body}> }}')
    clean(model)
    assert [node.op_type for node in model.graph] == ["Loop"]
    onnx.checker.check_model(to_proto(model), full_check=True)


B, L = Size(1, ("b",)), Size(1, ("l",))
FOUR, ONCE = Size(4), Size(1)


@pytest.mark.parametrize(
    ("source", "sizes", "found"),
    [
        ([B, L, FOUR], [B, L, Size(2), Size(2)], ("Reshape", [0, 0, 2, 2])),
        ([B, L], [B, ONCE, L], ("Unsqueeze", [1])),
        ([B, L], [ONCE, B, ONCE, L, ONCE], ("Unsqueeze", [0, 2, 4])),
        ([B, ONCE, ONCE, L], [B, L], ("Squeeze", [1, 2])),
        ([B, ONCE, L], [B, L, ONCE], None),
        ([B, ONCE, L], [L, B], None),
        ([B, FOUR, L], [B, L], None),
    ],
)
def test_a_tensor_is_reshaped_by_a_constant_or_by_axes_of_size_one(source, sizes, found):
    assert reshape_operation(source, sizes) == found
