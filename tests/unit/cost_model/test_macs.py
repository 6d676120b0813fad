"""Multiply-accumulates of graphs whose arithmetic is written out by hand."""

import numpy as np
import onnx
import onnx.parser
import pytest
from written_graphs import graph, ones

from irbench.cost_model.counting import cost_of_file, model_cost
from irbench.spec import TensorSpec


def counted(model, inputs=()):
    """Return the multiply-accumulates, and the nodes that lack theirs."""
    cost = model_cost(model, inputs)
    return cost.macs, cost.without_macs


COUNTED = {
    # 8 maps of 6x6, each value from 3 channels under a 3x3 kernel
    "a convolution": (
        "(float[1,3,8,8] x) => (float[1,8,6,6] y) { y = Conv (x, w) }",
        {"w": ones(8, 3, 3, 3)},
        8 * 6 * 6 * 3 * 3 * 3,
    ),
    "a depthwise convolution": (
        (
            "(float[1,4,8,8] x) => (float[1,4,4,4] y) "
            "{ y = Conv <group = 4, strides = [2, 2], pads = [1, 1, 1, 1]> (x, w) }"
        ),
        {"w": ones(4, 1, 3, 3)},
        4 * 4 * 4 * 3 * 3,
    ),
    # every input value meets each of the 5 kernels of its channel once
    "a transposed convolution": (
        "(float[1,3,4,4] x) => (float[1,5,8,8] y) { y = ConvTranspose <strides = [2, 2]> (x, w) }",
        {"w": ones(3, 5, 2, 2)},
        3 * 4 * 4 * 5 * 2 * 2,
    ),
    "a transposed Gemm": (
        "(float[7,2] x) => (float[2,5] y) { y = Gemm <transA = 1> (x, w) }",
        {"w": ones(7, 5)},
        2 * 5 * 7,
    ),
    "a product of stacks of matrices": (
        "(float[4,2,3] x) => (float[4,2,5] y) { y = MatMul (x, w) }",
        {"w": ones(3, 5)},
        4 * 2 * 3 * 5,
    ),
    "an Einsum": (
        '(float[2,3,4] x) => (float[2,3,5] y) { y = Einsum <equation = "b s d, d e -> b s e"> (x, w) }',
        {"w": ones(4, 5)},
        2 * 3 * 4 * 5,
    ),
    "an Einsum with an ellipsis": (
        '(float[7,2,3] x) => (float[7,2,5] y) { y = Einsum <equation = "...b,bc->...c"> (x, w) }',
        {"w": ones(3, 5)},
        7 * 2 * 3 * 5,
    ),
    # a matrix of 2 x 4 first, then one of 2 x 5: not every combination of all four indices
    "an Einsum of three operands": (
        '(float[2,3] x) => (float[2,5] y) { y = Einsum <equation = "ab,bc,cd->ad"> (x, w, v) }',
        {"w": ones(3, 4), "v": ones(4, 5)},
        2 * 3 * 4 + 2 * 4 * 5,
    ),
    "an Einsum without an output": (
        '(float[2,3] x) => (float[2,4] y) { y = Einsum <equation = "ab,bc"> (x, w) }',
        {"w": ones(3, 4)},
        2 * 3 * 4,
    ),
    "an Einsum that stretches an operand": (
        '(float[8,2,3] x) => (float[8,2,4] y) { y = Einsum <equation = "bij,bjk->bik"> (x, w) }',
        {"w": ones(1, 3, 4)},
        8 * 2 * 3 * 4,
    ),
    # 6 steps of 2 samples in two directions: four gates of 5 from 3 inputs and 5 states
    "an LSTM": (
        '(float[6,2,3] x) => (float[6,2,2,5] y) { y = LSTM <hidden_size = 5, direction = "bidirectional"> (x, w, r) }',
        {"w": ones(2, 20, 3), "r": ones(2, 20, 5)},
        6 * 2 * 2 * 20 * (3 + 5),
    ),
    "a GRU": (
        "(float[6,2,3] x) => (float[6,1,2,5] y) { y = GRU <hidden_size = 5> (x, w, r) }",
        {"w": ones(1, 15, 3), "r": ones(1, 15, 5)},
        6 * 2 * 15 * (3 + 5),
    ),
    # 4 heads: 3 queries of 8 meet 5 keys, and the scores 5 values of 6
    "attention by heads": (
        "(float[2,4,3,8] q, float[2,4,5,8] k, float[2,4,5,6] v) => (float[2,4,3,6] y) { y = Attention (q, k, v) }",
        {},
        2 * 4 * 3 * 5 * (8 + 6),
    ),
    "attention with its heads side by side": (
        (
            "(float[2,3,32] q, float[2,5,32] k, float[2,5,24] v) => (float[2,3,24] y) "
            "{ y = Attention <q_num_heads = 4, kv_num_heads = 4> (q, k, v) }"
        ),
        {},
        2 * 4 * 3 * 5 * (8 + 6),
    ),
    "a quantised product": (
        "(uint8[2,3] x) => (int32[2,5] y) { y = MatMulInteger (x, w) }",
        {"w": np.ones((3, 5), np.uint8)},
        2 * 3 * 5,
    ),
    "a loop": (
        (
            "(float[2,3] x, bool go) => (float[2,3] y) { y = Loop <body = turn "
            "(int64 i, bool c, float[2,3] s) => (bool d, float[2,3] t) { d = Identity (c)  t = MatMul (s, w) }"
            "> (four, go, x) }"
        ),
        {"w": ones(3, 3), "four": np.int64(4)},
        4 * 2 * 3 * 3,
    ),
    "a scan": (
        (
            "(float[2,3] x, float[6,3,3] k) => (float[2,3] y) { y = Scan <num_scan_inputs = 1, body = turn "
            "(float[2,3] s, float[3,3] w) => (float[2,3] t) { t = MatMul (s, w) }> (x, k) }"
        ),
        {},
        6 * 2 * 3 * 3,
    ),
    "a scan of operator set 8, whose first axis is the batch": (
        (
            "(float[4,2,3] x, float[4,6,3,3] k) => (float[4,2,3] y) { y = Scan <num_scan_inputs = 1, body = turn "
            "(float[2,3] s, float[3,3] w) => (float[2,3] t) { t = MatMul (s, w) }> (, x, k) }"
        ),
        {},
        4 * 6 * 2 * 3 * 3,
    ),
    "the dearer branch": (
        (
            "(float[2,3] x, bool go) => (y) { y = If <then_branch = a () => (float[2,5] s) { s = MatMul (x, w) }, "
            "else_branch = b () => (float[2,3] s) { s = Identity (x) }> (go) }"
        ),
        {"w": ones(3, 5)},
        2 * 3 * 5,
    ),
    "what is no product": ("(float[2,3] x) => (float[2,3] y) { a = Add (x, x)  y = Softmax (a) }", {}, 0),
}


@pytest.mark.parametrize("case", COUNTED)
def test_a_count_is_what_one_gets_by_hand(case):
    text, weights, expected = COUNTED[case]
    assert counted(graph(text, **weights), ()) == (expected, ())


def test_free_sizes_are_those_that_the_inputs_are_given():
    model = graph("(float[batch,3] x) => (float[batch,5] y) { y = MatMul (x, w) }", w=ones(3, 5))
    assert counted(model, [TensorSpec("x", "float32", (4, 3))]) == (4 * 3 * 5, ())
    assert model.graph.input[0].type.tensor_type.shape.dim[0].dim_param == "batch"


def test_sizes_are_followed_through_computed_shapes():
    model = graph(
        "(float[batch,6,8] x) => (y) { s = Shape (x)  g = Gather (s, first)  p = ReduceProd (g, zero) "
        "t = Concat <axis = 0> (p, eight)  r = Reshape (x, t)  y = MatMul (r, w) }",
        first=np.array([0, 1]), zero=np.array([0]), eight=np.array([8]), w=ones(8, 5),
    )  # fmt: skip
    assert counted(model, [TensorSpec("x", "float32", (2, 6, 8))]) == (2 * 6 * 8 * 5, ())


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("(float[n,3] x, float[3,5] w) => (y) { [product] y = MatMul (x, w) }", "product"),
        ("(float[2,3] x, float[3,5] w) => (y) { y = own.FusedMatMul (x, w) }", "FusedMatMul of y"),
        (
            (
                "(float[2,3] x, float[3,3] w, int64 n, bool go) => (y) { y = Loop <body = turn "
                "(int64 i, bool c, float[2,3] s) => (bool d, float[2,3] t) "
                "{ d = Identity (c)  t = MatMul (s, w) }> (n, go, x) }"
            ),
            "Loop of y",
        ),
    ],
    ids=["a dynamic size", "a vendor's operator", "turns that nobody knows"],
)
def test_what_cannot_be_counted_is_named(text, named):
    assert counted(graph(text), ()) == (0, (named,))


def test_what_either_branch_cannot_count_is_named():
    model = graph(
        "(float[2,3] x, float[n,3] z, bool go) => (y) { y = If <"
        "then_branch = a () => (float[2,5] s) { s = MatMul (x, w) }, "
        "else_branch = b () => (float[n,5] s) { [other] s = MatMul (z, w) }> (go) }",
        w=ones(3, 5),
    )
    assert counted(model, ()) == (2 * 3 * 5, ("other",))


def test_a_function_counts_where_it_is_called():
    model = graph("(float[2,3] x, float[3,3] w) => (float[2,3] y) { a = own.twice (x, w)  y = own.twice (a, w) }")
    body = onnx.parser.parse_function(
        '<domain: "own", opset_import: ["" : 23]> twice (x, w) => (y) { y = MatMul (x, w) }'
    )
    model.functions.append(body)
    assert counted(model, ()) == (2 * 2 * 3 * 3, ())


def test_weights_are_not_read_from_a_file(tmp_path):
    model = graph("(float[batch,300] x) => (y) { y = MatMul (x, w) }", w=ones(300, 500))
    onnx.save(model, tmp_path / "m.onnx", save_as_external_data=True, location="m.data")
    (tmp_path / "m.data").unlink()
    cost = cost_of_file(tmp_path / "m.onnx", [TensorSpec("x", "float32", (1, 300))])
    assert (cost.macs, cost.weight_bytes) == (300 * 500, 4 * 300 * 500)
