"""Shapes of the operators that ONNX Runtime adds: those that ONNX Runtime itself makes."""

from __future__ import annotations

import numpy as np
import onnx.checker
import onnx.defs
import pytest
from onnx import helper
from written_graphs import graph, ones

from irbench.onnx.contributed import contributed_schemas
from irbench.onnx.reading.value_shapes import inferred_at
from irbench.spec import TensorSpec

ort = pytest.importorskip("onnxruntime")

FLOAT, U8, I8, I32 = np.float32, np.uint8, np.int8, np.int32
S, Z = FLOAT(0.1), U8(0)


def f(*shape):
    return np.full(shape, 0.5, FLOAT)


def u8(*shape):
    return np.ones(shape, U8)


# operator, attributes, inputs (None is left out), number of outputs
RUN = {
    "Gelu": ("Gelu", {}, [f(2, 3)], 1),
    "BiasGelu": ("BiasGelu", {}, [f(2, 3), f(3)], 1),
    "FastGelu": ("FastGelu", {}, [f(2, 3)], 1),
    "QuickGelu": ("QuickGelu", {}, [f(2, 3)], 1),
    "SkipLayerNormalization": ("SkipLayerNormalization", {}, [f(2, 5, 8), f(2, 5, 8), f(8), f(8)], 1),
    "SkipLayerNormalization with its sum": (
        "SkipLayerNormalization", {}, [f(2, 5, 8), f(2, 5, 8), f(8), f(8)], (1, 0, 0, 1),
    ),
    "SkipSimplifiedLayerNormalization": ("SkipSimplifiedLayerNormalization", {}, [f(2, 5, 8), f(2, 5, 8), f(8)], 1),
    "EmbedLayerNormalization": (
        "EmbedLayerNormalization", {},
        [np.zeros((2, 5), I32), np.zeros((2, 5), I32), f(10, 8), f(7, 8), f(2, 8), f(8), f(8)], 2,
    ),
    "FusedMatMul": ("FusedMatMul", {"alpha": 0.5}, [f(2, 3, 4), f(4, 5)], 1),
    "FusedMatMul of transposed matrices": ("FusedMatMul", {"transA": 1, "transB": 1}, [f(2, 4, 3), f(5, 4)], 1),
    "FusedGemm": ("FusedGemm", {"activation": "Relu", "transB": 1}, [f(2, 3), f(5, 3), f(5)], 1),
    "FusedConv": (
        "FusedConv", {"activation": "Relu", "pads": [1, 1, 1, 1], "strides": [2, 2]}, [f(1, 3, 9, 8), f(4, 3, 3, 3)], 1,
    ),
    "FusedConv with dilation": (
        "FusedConv", {"activation": "Relu", "dilations": [2, 2], "auto_pad": "VALID"},
        [f(1, 3, 9, 8), f(4, 3, 3, 3)], 1,
    ),
    "MatMulNBits": (
        "MatMulNBits", {"K": 32, "N": 8, "bits": 4, "block_size": 32}, [f(2, 3, 32), u8(8, 1, 16), f(8)], 1,
    ),
    "DynamicQuantizeMatMul": ("DynamicQuantizeMatMul", {}, [f(2, 3, 4), u8(4, 5), S, Z], 1),
    "MatMulIntegerToFloat": ("MatMulIntegerToFloat", {}, [u8(2, 3, 4), u8(4, 5), S, S], 1),
    "QGemm to integers": ("QGemm", {"transB": 1}, [u8(2, 3), S, Z, u8(5, 3), S, Z, None, S, Z], 1),
    "QGemm to floats": ("QGemm", {}, [u8(2, 3), S, Z, u8(3, 5), S, Z], 1),
    "QLinearAdd": ("QLinearAdd", {}, [u8(2, 1, 4), S, Z, u8(3, 1), S, Z, S, Z], 1),
    "QLinearMul": ("QLinearMul", {}, [u8(2, 3), S, Z, u8(2, 3), S, Z, S, Z], 1),
    "QLinearConcat": ("QLinearConcat", {"axis": 1}, [S, Z, u8(2, 3), S, Z, u8(2, 4), S, Z], 1),
    "QLinearSigmoid": ("QLinearSigmoid", {}, [u8(2, 3), S, Z, S, Z], 1),
    "QLinearSoftmax": ("QLinearSoftmax", {"axis": 1, "opset": 13}, [u8(2, 3), S, Z, S, Z], 1),
    "QLinearAveragePool": (
        "QLinearAveragePool", {"kernel_shape": [3, 3], "strides": [2, 2], "ceil_mode": 1},
        [u8(1, 3, 8, 8), S, Z, S, Z], 1,
    ),
    "QLinearGlobalAveragePool": ("QLinearGlobalAveragePool", {"channels_last": 1}, [u8(1, 8, 8, 3), S, Z, S, Z], 1),
    "QuantizeLinear": ("QuantizeLinear", {}, [f(2, 3), S, Z], 1),
    "DequantizeLinear": ("DequantizeLinear", {}, [u8(2, 3), S, Z], 1),
    "Attention": ("Attention", {"num_heads": 2}, [f(2, 3, 8), f(8, 24), f(24)], 1),
    "Attention with keys of earlier calls": (
        "Attention", {"num_heads": 2}, [f(2, 3, 8), f(8, 24), f(24), None, f(2, 2, 2, 5, 4)], 2,
    ),
    "MultiHeadAttention": ("MultiHeadAttention", {"num_heads": 2}, [f(2, 3, 8), f(2, 5, 8), f(2, 5, 12)], 1),
    "GroupQueryAttention": (
        "GroupQueryAttention", {"num_heads": 4, "kv_num_heads": 2},
        [f(1, 3, 32), f(1, 3, 16), f(1, 3, 16), f(1, 2, 5, 8), f(1, 2, 5, 8), np.array([7], I32), np.array(8, I32)], 3,
    ),
    "RotaryEmbedding": (
        "RotaryEmbedding", {}, [f(1, 2, 3, 8), np.zeros(1, np.int64), f(10, 4), f(10, 4)], 1,
    ),
    "NhwcMaxPool": ("NhwcMaxPool", {"kernel_shape": [2, 2], "strides": [2, 2]}, [u8(1, 8, 8, 3)], 1),
    "DynamicQuantizeLSTM": (
        "DynamicQuantizeLSTM", {"hidden_size": 5},
        [f(4, 2, 3), u8(1, 3, 20), u8(1, 5, 20), None, None, None, None, None, f(1), u8(1), f(1), u8(1)], 3,
    ),
    "QAttention": (
        "QAttention", {"num_heads": 2}, [u8(2, 3, 8), u8(8, 24), f(24), S, S, None, Z, Z], 1,
    ),
}  # fmt: skip


def model_of(operator, attributes, inputs, outputs, domain="com.microsoft"):
    wanted = [1] * outputs if isinstance(outputs, int) else outputs
    names = [f"x{place}" if array is not None else "" for place, array in enumerate(inputs)]
    made = [f"y{place}" if is_wanted else "" for place, is_wanted in enumerate(wanted)]
    node = helper.make_node(operator, names, made, domain=domain, **attributes)
    given = [
        helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(np.asarray(array).dtype), np.shape(array))
        for name, array in zip(names, inputs, strict=True)
        if name
    ]
    results = [onnx.ValueInfoProto(name=name) for name in made if name]
    imports = [helper.make_opsetid("", 17), helper.make_opsetid(domain, 1)]
    return helper.make_model(helper.make_graph([node], "g", given, results), opset_imports=imports, ir_version=8)


@pytest.mark.parametrize("case", RUN)
def test_an_operator_has_the_shape_and_type_that_onnx_runtime_gives_it(case):
    operator, attributes, inputs, outputs = RUN[case]
    model = model_of(operator, attributes, inputs, outputs)
    session = ort.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    feed = {f"x{place}": np.asarray(array) for place, array in enumerate(inputs) if array is not None}
    answers = session.run(None, feed)
    inferred = inferred_at(model, [TensorSpec(name, "float32", array.shape) for name, array in feed.items()])
    for value, answer in zip(inferred.graph.output, answers, strict=True):
        found = value.type.tensor_type
        assert tuple(size.dim_value for size in found.shape.dim) == answer.shape
        assert helper.tensor_dtype_to_np_dtype(found.elem_type) == answer.dtype


def output_shape(text, **weights):
    inferred = inferred_at(graph(text, **weights), ())
    (output,) = inferred.graph.output
    return [size.dim_value for size in output.type.tensor_type.shape.dim]


def test_a_graph_in_blocks_of_channels_is_followed_to_its_end():
    text = (
        "(float[1,16,8,8] x) => (y) { b = com.microsoft.nchwc.ReorderInput (x)"
        " c = com.microsoft.nchwc.Conv <strides = [2, 2], pads = [1, 1, 1, 1]> (b, w)"
        " p = com.microsoft.nchwc.MaxPool <kernel_shape = [2, 2], strides = [2, 2]> (c)"
        " y = com.microsoft.nchwc.ReorderOutput <channels = 20> (p) }"
    )
    assert output_shape(text, w=ones(24, 16, 3, 3)) == [1, 20, 2, 2]


def test_queries_keys_and_values_may_be_packed_into_one_tensor():
    text = "(float[2,3,2,3,4] x) => (y) { y = com.microsoft.MultiHeadAttention <num_heads = 2> (x) }"
    assert output_shape(text) == [2, 3, 8]


def test_onnx_goes_on_behind_an_operator_that_it_does_not_know():
    text = "(float[2,3] x) => (y) { g = com.microsoft.Gelu (x)  y = MatMul (g, w) }"
    assert output_shape(text, w=ones(3, 5)) == [2, 5]


def test_sizes_that_are_not_known_stay_unknown():
    model = graph("(float[n,3] x) => (y) { y = com.microsoft.FusedMatMul (x, w) }", w=ones(3, 5))
    (output,) = inferred_at(model, ()).graph.output
    sizes = output.type.tensor_type.shape.dim
    assert (sizes[0].dim_param, sizes[1].dim_value) == ("n", 5)


def test_an_operator_with_wrong_inputs_has_no_shape():
    model = graph("(float[2,3] x) => (y) { y = com.microsoft.Attention <num_heads = 2> (x, x) }")
    (output,) = inferred_at(model, ()).graph.output
    assert not output.type.tensor_type.HasField("shape")


def test_schemas_are_withdrawn_when_they_have_served():
    model = graph("(float[2,3] x) => (y) { y = com.microsoft.Gelu (x) }")
    with contributed_schemas(model):
        assert onnx.defs.has("Gelu", "com.microsoft")
    assert not onnx.defs.has("Gelu", "com.microsoft")


def test_bodies_are_searched_for_such_operators():
    text = (
        "(float[2,3] x, bool go) => (y) { y = If <then_branch = a () => (s) { s = com.microsoft.Gelu (x) }, "
        "else_branch = b () => (float[2,3] s) { s = Identity (x) }> (go) }"
    )
    with contributed_schemas(graph(text)):
        assert onnx.defs.has("Gelu", "com.microsoft")
