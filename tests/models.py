"""Tiny ONNX models for tests: small enough to compile in milliseconds, rich enough to show a wrong answer."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from irbench.spec import Artifact, InputSpec, TensorSpec

VOCABULARY = 20
_OPSET = 17


def mlp(folder: Path, dtype: str = "float32", name: str = "mlp") -> Artifact:
    """Convolution, relu, pooling, a dense layer and softmax: "pixels" (batch, 3, 8, 8) to "scores" (batch, 5)."""
    random = np.random.default_rng(7)
    element = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
    weights = {
        "kernel": random.normal(0, 0.3, (8, 3, 3, 3)),
        "kernel_bias": random.normal(0, 0.3, (8,)),
        "dense": random.normal(0, 0.5, (8 * 4 * 4, 5)),
        "dense_bias": random.normal(0, 0.3, (5,)),
    }
    nodes = [
        helper.make_node("Conv", ["pixels", "kernel", "kernel_bias"], ["convolved"], "conv", pads=[1, 1, 1, 1]),
        helper.make_node("Relu", ["convolved"], ["positive"], "relu"),
        helper.make_node("MaxPool", ["positive"], ["pooled"], "pool", kernel_shape=[2, 2], strides=[2, 2]),
        helper.make_node("Flatten", ["pooled"], ["flat"], "flatten"),
        helper.make_node("Gemm", ["flat", "dense", "dense_bias"], ["logits"], "dense_layer"),
        helper.make_node("Softmax", ["logits"], ["scores"], "softmax"),
    ]
    graph = helper.make_graph(
        nodes,
        "mlp",
        [helper.make_tensor_value_info("pixels", element, ["batch", 3, 8, 8])],
        [helper.make_tensor_value_info("scores", element, ["batch", 5])],
        [numpy_helper.from_array(value.astype(dtype), key) for key, value in weights.items()],
    )
    return _save(
        graph,
        folder / f"{name}.onnx",
        (TensorSpec("pixels", dtype, ("batch", 3, 8, 8)),),
        (TensorSpec("scores", dtype, ("batch", 5)),),
    )


def layers(folder: Path) -> Artifact:
    """Operators that runtimes fuse or lay out differently: "image" float32 (batch, 16, 32, 32) to "scores" (16, batch).

    A residual convolution with its activation, a product with its bias, a normalisation, a softmax and a transposition.
    The second activation has no name.
    """
    random = np.random.default_rng(13)
    weights = {
        "kernel": random.normal(0, 0.1, (32, 16, 3, 3)),
        "kernel_bias": random.normal(0, 0.1, (32,)),
        "residual": random.normal(0, 0.1, (32, 32, 3, 3)),
        "residual_bias": random.normal(0, 0.1, (32,)),
        "dense": random.normal(0, 0.1, (32, 16)),
        "dense_bias": random.normal(0, 0.1, (16,)),
        "scale": random.normal(1, 0.1, (16,)),
        "shift": random.normal(0, 0.1, (16,)),
    }
    node, around = helper.make_node, [1, 1, 1, 1]
    nodes = [
        node("Conv", ["image", "kernel", "kernel_bias"], ["convolved"], "conv", pads=around),
        node("Relu", ["convolved"], ["positive"], "relu"),
        node("Conv", ["positive", "residual", "residual_bias"], ["convolved_again"], "residual_conv", pads=around),
        node("Add", ["convolved_again", "positive"], ["sum"], "residual_add"),
        node("Relu", ["sum"], ["positive_sum"]),
        node("GlobalAveragePool", ["positive_sum"], ["pooled"], "pool"),
        node("Flatten", ["pooled"], ["flat"], "flatten"),
        node("MatMul", ["flat", "dense"], ["product"], "product"),
        node("Add", ["product", "dense_bias"], ["biased"], "bias"),
        node("LayerNormalization", ["biased", "scale", "shift"], ["normal"], "normalisation", axis=-1),
        node("Softmax", ["normal"], ["shares"], "softmax", axis=-1),
        node("Transpose", ["shares"], ["scores"], "transposition", perm=[1, 0]),
    ]
    graph = helper.make_graph(
        nodes,
        "layers",
        [helper.make_tensor_value_info("image", TensorProto.FLOAT, ["batch", 16, 32, 32])],
        [helper.make_tensor_value_info("scores", TensorProto.FLOAT, [16, "batch"])],
        [numpy_helper.from_array(value.astype(np.float32), key) for key, value in weights.items()],
    )
    return _save(
        graph,
        folder / "layers.onnx",
        (TensorSpec("image", "float32", ("batch", 16, 32, 32)),),
        (TensorSpec("scores", "float32", (16, "batch")),),
    )


def two_inputs(folder: Path) -> Artifact:
    """Embedded "tokens" int64 (batch, length), scaled by "scale" float32 (batch, 4).

    Outputs "mixed" float32 (batch, length, 4) and "total" float32 (batch, 4).
    """
    table = np.random.default_rng(11).normal(0, 1, (VOCABULARY, 4)).astype(np.float32)
    nodes = [
        helper.make_node("Gather", ["table", "tokens"], ["embedded"], "embed"),
        helper.make_node("Unsqueeze", ["scale", "one"], ["scale_per_token"], "unsqueeze"),
        helper.make_node("Mul", ["embedded", "scale_per_token"], ["mixed"], "mix"),
        helper.make_node("ReduceSum", ["mixed", "one"], ["total"], "sum", keepdims=0),
    ]
    graph = helper.make_graph(
        nodes,
        "two_inputs",
        [
            helper.make_tensor_value_info("tokens", TensorProto.INT64, ["batch", "length"]),
            helper.make_tensor_value_info("scale", TensorProto.FLOAT, ["batch", 4]),
        ],
        [
            helper.make_tensor_value_info("mixed", TensorProto.FLOAT, ["batch", "length", 4]),
            helper.make_tensor_value_info("total", TensorProto.FLOAT, ["batch", 4]),
        ],
        [numpy_helper.from_array(table, "table"), numpy_helper.from_array(np.array([1], np.int64), "one")],
    )
    return _save(
        graph,
        folder / "two_inputs.onnx",
        (TensorSpec("tokens", "int64", ("batch", "length")), TensorSpec("scale", "float32", ("batch", 4))),
        (TensorSpec("mixed", "float32", ("batch", "length", 4)), TensorSpec("total", "float32", ("batch", 4))),
    )


def logical_inputs(artifact: Artifact) -> tuple[InputSpec, ...]:
    """Return what feeds are generated from: floats around zero, integers within the vocabulary."""
    return tuple(
        InputSpec(spec, 0, VOCABULARY) if spec.dtype == "int64" else InputSpec(spec, -1.0, 1.0)
        for spec in artifact.inputs
    )


def _save(
    graph: onnx.GraphProto, path: Path, inputs: tuple[TensorSpec, ...], outputs: tuple[TensorSpec, ...]
) -> Artifact:
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", _OPSET)], ir_version=9)
    onnx.checker.check_model(model, full_check=True)
    path.parent.mkdir(parents=True, exist_ok=True)
    onnx.save(model, path)
    return Artifact("onnx", path, inputs, outputs, opset=_OPSET)
