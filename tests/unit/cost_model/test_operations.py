"""Operations of single nodes, each counted by hand; 1 multiply-accumulate is 2 of them."""

import numpy as np
import onnx.defs
import pytest
from written_graphs import graph, ones

from irbench.cost_model.counting import model_cost
from irbench.cost_model.rules import RULES, rule_for
from irbench.onnx.operator_classes import OperatorClass, operator_class

INT8 = np.int8
FLOAT = np.float32(1)
ZERO = INT8(0)

OPERATIONS = {
    "a bias of a convolution is added to every output": (
        "(float[1,3,8,8] x) => (y) { y = Conv (x, w, b) }",
        {"w": ones(4, 3, 3, 3), "b": ones(4)},
        2 * 4 * 6 * 6 * 3 * 3 * 3 + 4 * 6 * 6,
    ),
    "an activation that is fused into a convolution": (
        '(float[1,3,8,8] x) => (y) { y = com.microsoft.FusedConv <activation = "Relu"> (x, w, b) }',
        {"w": ones(4, 3, 3, 3), "b": ones(4)},
        2 * 4 * 6 * 6 * 27 + 2 * 4 * 6 * 6,
    ),
    "dilation reaches further and multiplies as much": (
        "(float[1,1,9,9] x) => (y) { y = Conv <dilations = [2, 2]> (x, w) }",
        {"w": ones(1, 1, 3, 3)},
        2 * 5 * 5 * 9,
    ),
    "alpha and beta of a Gemm": (
        "(float[2,3] x) => (y) { y = Gemm <alpha = 0.5, beta = 2.0> (x, w, c) }",
        {"w": ones(3, 5), "c": ones(5)},
        2 * 2 * 3 * 5 + 3 * 2 * 5,
    ),
    "a quantised convolution, whose outputs are made integers": (
        "(int8[1,3,8,8] x) => (y) { y = QLinearConv (x, s, z, w, s, z, s, z) }",
        {"w": np.ones((4, 3, 3, 3), INT8), "s": FLOAT, "z": ZERO},
        2 * 4 * 36 * 27 + 3 * 4 * 36,
    ),
    # four gates of the size h from h inputs and h states: 16 h^2; sigmoids of 4, and ten others for each state
    "a step of an LSTM": (
        "(float[1,1,8] x) => (y) { y = LSTM <hidden_size = 8> (x, w, r) }",
        {"w": ones(1, 32, 8), "r": ones(1, 32, 8)},
        16 * 8 * 8 + (3 * 4 + 6) * 8,
    ),
    "the two biases of an LSTM": (
        "(float[1,1,8] x) => (y) { y = LSTM <hidden_size = 8> (x, w, r, b) }",
        {"w": ones(1, 32, 8), "r": ones(1, 32, 8), "b": ones(1, 64)},
        16 * 8 * 8 + (3 * 4 + 6 + 8) * 8,
    ),
    "a softmax": ("(float[2,3] x) => (y) { y = Softmax (x) }", {}, 5 * 6),
    "a layer normalisation with a bias": (
        "(float[2,3] x) => (y) { y = LayerNormalization (x, s, b) }",
        {"s": ones(3), "b": ones(3)},
        7 * 6,
    ),
    "a batch normalisation": (
        "(float[2,3,4] x) => (y) { y = BatchNormalization (x, s, s, s, s) }",
        {"s": ones(3)},
        2 * 24,
    ),
    "a residual that is normalised": (
        "(float[2,5,3] x, float[2,5,3] r) => (y) { y = com.microsoft.SkipLayerNormalization (x, r, s, b) }",
        {"s": ones(3), "b": ones(3)},
        (1 + 7) * 30,
    ),
    "elements that are stretched": ("(float[4,1] x, float[3] z) => (y) { y = Add (x, z) }", {}, 12),
    "a sum of three": ("(float[4] x) => (y) { y = Sum (x, x, x) }", {}, 8),
    "a sigmoid": ("(float[4] x) => (y) { y = Sigmoid (x) }", {}, 16),
    "a GELU by its error function": ("(float[4] x) => (y) { y = Gelu (x) }", {}, 20),
    'a GELU by tanh': ('(float[4] x) => (y) { y = Gelu <approximate = "tanh"> (x) }', {}, 36),
    "a limit on one side": ("(float[4] x) => (y) { y = Clip (x, low) }", {"low": np.float32(0)}, 4),
    "a window of 3x3": ("(float[1,2,8,8] x) => (y) { y = MaxPool <kernel_shape = [3, 3]> (x) }", {}, 9 * 2 * 36),
    "a global pool": ("(float[1,2,8,8] x) => (y) { y = GlobalAveragePool (x) }", {}, 128),
    "a reduction": ("(float[2,8] x) => (y) { y = ReduceMean (x) }", {}, 16),
    "neighbours of two axes are interpolated": (
        '(float[1,2,4,4] x) => (y) { y = Resize <mode = "linear"> (x, none, scales) }',
        {"none": np.array([], np.float32), "scales": np.array([1, 1, 2, 2], np.float32)},
        7 * 2 * 64,
    ),
    "a resize that changes no size copies": (
        '(float[1,2,4,4] x) => (y) { y = Resize <mode = "linear"> (x, none, scales) }',
        {"none": np.array([], np.float32), "scales": np.ones(4, np.float32)},
        0,
    ),
    "the nearest neighbour is copied": (
        "(float[1,2,4,4] x) => (y) { y = Resize (x, none, scales) }",
        {"none": np.array([], np.float32), "scales": np.array([1, 1, 2, 2], np.float32)},
        0,
    ),
    "a transpose computes nothing": ("(float[2,3] x) => (y) { y = Transpose (x) }", {}, 0),
    "a cast computes nothing": ("(float[2,3] x) => (y) { y = Cast <to = 10> (x) }", {}, 0),
    "a quantiser": ("(float[4] x) => (y) { y = QuantizeLinear (x, s, z) }", {"s": FLOAT, "z": ZERO}, 12),
    # 4 heads, 6 queries, 9 keys: two products of 8, and scale, mask and softmax of each score
    "attention whose heads share keys and values": (
        (
            "(float[2,6,32] q, float[2,9,16] k, float[2,9,16] v, float[6,9] m) => (y) "
            "{ y = Attention <q_num_heads = 4, kv_num_heads = 2> (q, k, v, m) }"
        ),
        {},
        2 * 4 * 6 * 9 * (2 * (8 + 8) + 1 + 1 + 5),
    ),
    "attention to keys of earlier calls": (
        (
            "(float[1,2,1,8] q, float[1,2,1,8] k, float[1,2,1,8] v, float[1,2,7,8] pk, float[1,2,7,8] pv) => (y) "
            "{ y, ok, ov = Attention (q, k, v, m, pk, pv) }"
        ),
        {"m": np.zeros((1, 8), np.float32)},
        2 * 8 * (2 * (8 + 8) + 1 + 1 + 5),
    ),
    # heads of queries are projected, rotated, and meet 5 past and 3 present keys
    "grouped queries with a cache": (
        (
            "(float[1,3,32] q, float[1,3,16] k, float[1,3,16] v, float[1,2,5,8] pk, float[1,2,5,8] pv, "
            "int32[1] l, int32 t) => (y) { y, ok, ov = com.microsoft.GroupQueryAttention "
            "<num_heads = 4, kv_num_heads = 2, do_rotary = 1> (q, k, v, pk, pv, l, t) }"
        ),
        {},
        4 * 3 * 8 * (2 * (8 + 8) + 1 + 1 + 5) + 3 * 3 * 8 * (4 + 2),
    ),
    # a buffer for past and present keys, as long as both: one query meets the 5 that fit
    "grouped queries with a buffer for past and present keys": (
        (
            "(float[1,1,32] q, float[1,1,16] k, float[1,1,16] v, float[1,2,5,8] pk, float[1,2,5,8] pv, int32[1] l, "
            "int32 t) => (float[1,1,32] y, float[1,2,5,8] ok, float[1,2,5,8] ov) { y, ok, ov = "
            "com.microsoft.GroupQueryAttention <num_heads = 4, kv_num_heads = 2> (q, k, v, pk, pv, l, t) }"
        ),
        {},
        4 * 1 * 5 * (2 * (8 + 8) + 1 + 1 + 5),
    ),
    "grouped queries with a length that is stated": (
        (
            "(float[1,1,32] q, float[1,1,16] k, float[1,1,16] v, float[1,2,5,8] pk, float[1,2,5,8] pv, int32[1] l) "
            "=> (y) { y, ok, ov = com.microsoft.GroupQueryAttention <num_heads = 4, kv_num_heads = 2> "
            "(q, k, v, pk, pv, l, t) }"
        ),
        {"t": np.int32(3)},
        4 * 1 * 3 * (2 * (8 + 8) + 1 + 1 + 5),
    ),
    "attention with a buffer whose past keys are counted": (
        (
            "(float[1,1,6] x, float[2,1,2,9,4] p) => (y) { y, o = com.microsoft.Attention "
            "<num_heads = 2, past_present_share_buffer = 1> (x, w, b, , p, , n) }"
        ),
        {"w": ones(6, 24), "b": ones(24), "n": np.int32(3)},
        2 * 6 * 24 + 24 + 2 * 4 * (2 * (4 + 4) + 1 + 5),
    ),
    # the input is projected to queries, keys and values of 2 heads of 4
    "attention that projects its input": (
        "(float[1,3,6] x) => (y) { y = com.microsoft.Attention <num_heads = 2> (x, w, b) }",
        {"w": ones(6, 24), "b": ones(24)},
        2 * 3 * 6 * 24 + 3 * 24 + 2 * 3 * 3 * (2 * (4 + 4) + 1 + 5),
    ),
    # as above: input 3 is the scale of the input, and no mask
    "quantised attention without a mask": (
        "(uint8[1,3,6] x) => (y) { y = com.microsoft.QAttention <num_heads = 2> (x, w, b, s, s) }",
        {"w": np.ones((6, 24), np.uint8), "b": ones(24), "s": FLOAT},
        2 * 3 * 6 * 24 + 3 * 24 + 2 * 3 * 3 * (2 * (4 + 4) + 1 + 5),
    ),
    "quantised attention with a mask": (
        "(uint8[1,3,6] x, int32[1,3] m) => (y) { y = com.microsoft.QAttention <num_heads = 2> (x, w, b, s, s, m) }",
        {"w": np.ones((6, 24), np.uint8), "b": ones(24), "s": FLOAT},
        2 * 3 * 6 * 24 + 3 * 24 + 2 * 3 * 3 * (2 * (4 + 4) + 1 + 1 + 5),
    ),
    "weights of 4 bits, which are made numbers first": (
        "(float[2,32] x) => (y) { y = com.microsoft.MatMulNBits <K = 32, N = 8, bits = 4, block_size = 32> (x, w, s) }",
        {"w": np.ones((8, 1, 16), np.uint8), "s": ones(8)},
        2 * 2 * 32 * 8 + 2 * 32 * 8,
    ),
    "updates that are added": (
        '(float[4] x, int64[2,1] i, float[2] u) => (y) { y = ScatterND <reduction = "add"> (x, i, u) }',
        {},
        2,
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", OPERATIONS)
def test_operations_are_those_that_one_counts_by_hand(case):
    text, weights, expected = OPERATIONS[case]
    cost = model_cost(graph(text, **weights), ())
    assert (cost.flops, cost.uncounted) == (expected, ())


UNCOUNTED_OF_ONNX = {
    *("Bernoulli", "BlackmanWindow", "CausalConvWithState", "DFT", "Det", "HammingWindow", "HannWindow"),
    *("ImageDecoder", "LinearAttention", "MaxRoiPool", "MelWeightMatrix", "Multinomial", "NonMaxSuppression"),
    *("NonZero", "RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike", "RegexFullMatch", "STFT"),
    *("StringConcat", "StringNormalizer", "StringSplit", "TfIdfVectorizer", "TopK", "Unique"),
}


def test_operators_of_onnx_without_a_rule_are_those_that_are_known_to_have_none():
    schemas = {schema.name for schema in onnx.defs.get_all_schemas_with_history() if schema.domain == ""}
    counted = {name for name in schemas if operator_class("", name) is OperatorClass.CONTROL_FLOW or name in RULES}
    assert schemas - counted == UNCOUNTED_OF_ONNX


def test_every_rule_is_of_a_classified_operator():
    assert [name for name in RULES if operator_class("com.microsoft", name) is OperatorClass.OTHER] == []


def test_an_operator_of_an_unknown_domain_has_no_rule_whatever_its_name():
    assert rule_for("own", "MatMul") is None
    cost = model_cost(graph("(float[2,3] x) => (y) { y = own.Relu (x) }"), ())
    (node,) = cost.nodes
    assert (node.macs, node.flops, cost.unknown_operators) == (None, None, ("own.Relu",))


def test_an_operator_without_a_rule_that_multiplies_nothing_lacks_operations_only():
    cost = model_cost(graph("(float[2,8] x) => (y) { y, i = TopK (x, k) }", k=np.array([2])), ())
    (node,) = cost.nodes
    assert (node.macs, node.flops, cost.without_macs) == (0, None, ())
    assert [(missing.operator, missing.reason) for missing in cost.uncounted] == [("TopK", "no-rule")]
    assert cost.total.without_flops == 1
    assert cost.intensity is None
