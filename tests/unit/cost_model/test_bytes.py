"""Bytes that nodes read and write, parameters, and sums."""

import numpy as np
import pytest
from onnx import TensorProto, helper
from written_graphs import graph, ones

from irbench.cost_model.counting import model_cost
from irbench.onnx.operator_classes import OperatorClass


def moved(node):
    return node.read_bytes, node.written_bytes


MOVED = {
    "every input once, and the output": (
        "(float[2,3] x) => (y) { y = MatMul (x, w) }", {"w": ones(3, 5)}, (4 * 6 + 4 * 15, 4 * 10),
    ),
    "an input that is given twice once": ("(float[2,3] x) => (y) { y = Add (x, x) }", {}, (24, 24)),
    "elements of half the width": ("(float16[2,3] x) => (y) { y = Relu (x) }", {}, (12, 12)),
    "nothing for a tensor of another shape": (
        "(float[2,3] x) => (y) { y = Reshape (x, s) }", {"s": np.array([6])}, (0, 0),
    ),
    "nothing for sizes": ("(float[2,3] x) => (y) { y = Shape (x) }", {}, (0, 0)),
    "the rows of a table that are picked, and their numbers": (
        "(int64[4] i) => (y) { y = Gather (w, i) }", {"w": ones(100, 3)}, (4 * 12 + 8 * 4, 4 * 12),
    ),
    "the part of a tensor that is cut out": (
        "(float[100] x) => (y) { y = Slice (x, a, b) }",
        {"a": np.array([10]), "b": np.array([14])},
        (4 * 4 + 8 + 8, 4 * 4),
    ),
    "bytes of two types": ("(float[4] x) => (y) { y = Cast <to = 10> (x) }", {}, (16, 8)),
}  # fmt: skip


@pytest.mark.parametrize("case", MOVED)
def test_a_node_reads_and_writes(case):
    text, weights, expected = MOVED[case]
    (node,) = model_cost(graph(text, **weights), ()).nodes
    assert moved(node) == expected


def test_two_elements_of_four_bits_share_a_byte():
    model = graph("(float[2,6] x) => (y) { w = DequantizeLinear (q, s)  y = MatMul (x, w) }", s=np.float32(1))
    model.graph.initializer.append(helper.make_tensor("q", TensorProto.INT4, [6, 5], vals=bytes(15), raw=True))
    cost = model_cost(model, ())
    assert cost.nodes[0].read_bytes == 15 + 4
    assert cost.weight_types == {"int4": 15, "float32": 4}
    assert cost.parameters == 30 + 1


def test_numbers_that_are_packed_into_bytes_are_all_parameters():
    model = graph(
        "(float[2,40] x) => (y) "
        "{ y = com.microsoft.MatMulNBits <K = 40, N = 8, bits = 4, block_size = 32> (x, w, s, z) }",
        w=np.ones((8, 2, 16), np.uint8), s=ones(8, 2), z=np.ones((8, 1), np.uint8),
    )  # fmt: skip
    cost = model_cost(model, ())
    assert cost.parameters == 8 * 40 + 8 * 2 + 8 * 2
    assert cost.weight_types == {"uint8": 8 * 2 * 16 + 8, "float32": 4 * 16}


def test_a_byte_for_each_number_is_packed_no_further():
    model = graph(
        "(float[2,32] x) => (y) { y = com.microsoft.MatMulNBits <K = 32, N = 8, bits = 8, block_size = 32> (x, w, s) }",
        w=np.ones((8, 1, 32), np.uint8), s=ones(8, 1),
    )  # fmt: skip
    assert model_cost(model, ()).parameters == 8 * 32 + 8


def test_present_keys_of_a_shared_buffer_are_as_many_as_past_ones():
    (node,) = model_cost(
        graph(
            "(float[1,1,32] q, float[1,1,16] k, float[1,1,16] v, float[1,2,5,8] pk, float[1,2,5,8] pv, int32[1] l, "
            "int32 t) => (float[1,1,32] y, float[1,2,5,8] ok, float[1,2,5,8] ov) { y, ok, ov = "
            "com.microsoft.GroupQueryAttention <num_heads = 4, kv_num_heads = 2> (q, k, v, pk, pv, l, t) }"
        ),
        (),
    ).nodes
    assert node.written_bytes == 4 * (32 + 2 * 2 * 5 * 8)


def test_weights_count_at_their_first_node_and_are_read_by_each():
    model = graph("(float[2,3] x) => (y) { a = MatMul (x, w)  y = MatMul (a, w) }", w=ones(3, 3))
    first, second = model_cost(model, ()).nodes
    assert (first.parameters, first.weight_bytes, second.parameters, second.weight_bytes) == (9, 36, 0, 0)
    assert first.read_bytes == second.read_bytes == 24 + 36


def test_activations_are_what_is_moved_besides_weights():
    cost = model_cost(graph("(float[2,3] x) => (y) { y = MatMul (x, w) }", w=ones(3, 5)), ())
    assert cost.activation_bytes == 24 + 40
    assert cost.activation_types == {"float32": 64}
    assert cost.total.moved_bytes == 24 + 40 + 60


def test_sizes_and_axes_are_no_parameters():
    cost = model_cost(graph("(float[2,3] x) => (y) { y = Reshape (x, s) }", s=np.array([6])), ())
    assert (cost.parameters, cost.weight_bytes) == (0, 8)


def test_intensity_is_operations_for_each_byte():
    cost = model_cost(graph("(float[2,3] x) => (y) { y = MatMul (x, w) }", w=ones(3, 5)), ())
    assert cost.intensity == pytest.approx(2 * 30 / 124)
    assert cost.nodes[0].intensity == cost.intensity


def test_a_loop_moves_its_weights_in_every_turn():
    model = graph(
        "(float[2,3] x, bool go) => (y) { y = Loop <body = turn (int64 i, bool c, float[2,3] s) => (bool d, float[2,3]"
        " t) { d = Identity (c)  t = MatMul (s, w) }> (four, go, x) }",
        w=ones(3, 3), four=np.int64(4),
    )  # fmt: skip
    loop, _, product = model_cost(model, ()).nodes
    assert (loop.op_type, loop.flops, loop.executions, moved(loop)) == ("Loop", 0, 1, (0, 0))
    assert (product.executions, product.flops, product.parameters) == (4, 4 * 2 * 18, 9)
    assert moved(product) == (4 * (24 + 36), 4 * 24)


def test_what_a_loop_of_unknown_length_does_is_counted_nowhere():
    model = graph(
        "(float[2,3] x, float[3,3] w, int64 n, bool go) => (y) { y = Loop <body = turn (int64 i, bool c, float[2,3] s)"
        " => (bool d, float[2,3] t) { d = Identity (c)  t = MatMul (s, w) }> (n, go, x) }"
    )
    cost = model_cost(model, ())
    assert [(node.op_type, node.flops, node.executions) for node in cost.nodes] == [
        ("Loop", None, 1), ("Identity", None, 0), ("MatMul", None, 0),
    ]  # fmt: skip
    assert [(node.operator, node.reason) for node in cost.uncounted] == [("Loop", "unknown-trip-count")]


def test_bytes_of_strings_are_unknown():
    cost = model_cost(graph("(string[2] x) => (y) { y = Transpose (x) }"), ())
    assert (cost.nodes[0].read_bytes, cost.total.without_bytes, cost.uncounted) == (None, 1, ())


def test_sums_are_by_class_and_by_operator_the_dearest_first():
    model = graph(
        "(float[2,3] x) => (y) { a = MatMul (x, w)  b = Relu (a)  y = MatMul (b, v) }", w=ones(3, 5), v=ones(5, 5)
    )
    cost = model_cost(model, ())
    assert list(cost.by_class()) == [OperatorClass.MATRIX, OperatorClass.ELEMENTWISE]
    assert list(cost.by_operator()) == ["MatMul", "Relu"]
    assert cost.by_operator()["MatMul"].nodes == 2
    assert sum(found.flops for found in cost.by_class().values()) == cost.flops == 2 * (30 + 50) + 10


def test_a_node_without_a_name_is_called_by_its_output():
    cost = model_cost(graph("(float[2] x) => (y) { [first] a = Relu (x)  y = Relu (a) }"), ())
    assert [node.name for node in cost.nodes] == ["first", "Relu of y"]
