"""Small decoders with a cache, as exporters write them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

VOCABULARY = 97
WIDTH = 16


def write_decoder(path: Path, *, layers: int = 2, mask: bool = True, named: bool = True, width: int = WIDTH) -> Path:
    """Write a decoder of one attention head a layer, whose caches grow along their third axis.

    Args:
        path: The file.
        layers: How many layers.
        mask: Whether it takes an attention mask.
        named: Whether outputs are called after the inputs that they become.
        width: Of each token.
    """
    draw = np.random.default_rng(0)
    weights = {"table": draw.normal(size=(VOCABULARY, width)).astype(np.float32)}
    nodes = [helper.make_node("Gather", ["table", "input_ids"], ["x0"])]
    inputs = [helper.make_tensor_value_info("input_ids", TensorProto.INT64, ["batch", "tokens"])]
    outputs = [helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["batch", "tokens", VOCABULARY])]
    if mask:
        inputs.append(helper.make_tensor_value_info("attention_mask", TensorProto.INT64, ["batch", "past + tokens"]))
    for layer in range(layers):
        names = {}
        for kind in ("key", "value"):
            past = f"past_key_values.{layer}.{kind}"
            names[kind] = f"present.{layer}.{kind}" if named else f"out{layer}_{'kv'.index(kind[0])}"
            inputs.append(helper.make_tensor_value_info(past, TensorProto.FLOAT, ["batch", 1, "past", width]))
            shape = ["batch", 1, "past + tokens", width]
            outputs.append(helper.make_tensor_value_info(names[kind], TensorProto.FLOAT, shape))
        nodes += _layer(layer, names, weights, draw, width, mask=mask)
    weights["scores"] = weights["table"].T.copy()
    nodes.append(helper.make_node("MatMul", [f"x{layers}", "scores"], ["logits"]))
    initializers = [numpy_helper.from_array(array, name) for name, array in weights.items()]
    graph = helper.make_graph(nodes, "decoder", inputs, outputs, initializers)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.checker.check_model(model)
    onnx.save(model, path)
    return path


def _layer(
    layer: int,
    names: dict[str, str],
    weights: dict[str, np.ndarray],
    draw: np.random.Generator,
    width: int,
    *,
    mask: bool,
) -> list[onnx.NodeProto]:
    def name(suffix: str) -> str:
        return f"l{layer}_{suffix}"

    node = helper.make_node
    for kind in ("query", "key", "value"):
        weights[name(kind)] = (draw.normal(size=(width, width)) / np.sqrt(width)).astype(np.float32)
    weights |= {
        name("axis"): np.array([1]), name("scale"): np.array(1 / np.sqrt(width), np.float32),
        name("low"): np.array(-1e9, np.float32), name("one"): np.array([1], np.int64), name("two"): np.array([2]),
    }  # fmt: skip
    x = f"x{layer}"
    nodes = []
    for kind in ("query", "key", "value"):
        nodes += [
            node("MatMul", [x, name(kind)], [name(f"flat_{kind}")]),
            node("Unsqueeze", [name(f"flat_{kind}"), name("axis")], [name(f"new_{kind}")]),
        ]
    nodes += [
        node("Concat", [f"past_key_values.{layer}.{kind}", name(f"new_{kind}")], [names[kind]], axis=2)
        for kind in ("key", "value")
    ]
    nodes += [
        node("Transpose", [names["key"]], [name("turned")], perm=[0, 1, 3, 2]),
        node("MatMul", [name("new_query"), name("turned")], [name("dots")]),
        node("Mul", [name("dots"), name("scale")], [name("scaled")]),
        node("Shape", [name("scaled")], [name("queries")], start=2, end=3),
        node("Shape", [name("scaled")], [name("shape")], start=2, end=4),
        node("Shape", [name("scaled")], [name("keys")], start=3, end=4),
        node("ConstantOfShape", [name("shape")], [name("ones")],
            value=helper.make_tensor("one", TensorProto.FLOAT, [1], [1.0])),
        node("Sub", [name("keys"), name("queries")], [name("offsets")]),
        node("Squeeze", [name("offsets")], [name("offset")]),
        node("Trilu", [name("ones"), name("offset")], [name("lower")], upper=0),
        node("Cast", [name("lower")], [name("allowed")], to=TensorProto.BOOL),
        node("Where", [name("allowed"), name("scaled"), name("low")], [name("causal")]),
    ]  # fmt: skip
    scores = name("causal")
    if mask:
        weights[name("axes")] = np.array([1, 2])
        nodes += [
            node("Unsqueeze", ["attention_mask", name("axes")], [name("wide_mask")]),
            node("Cast", [name("wide_mask")], [name("kept")], to=TensorProto.BOOL),
            node("Where", [name("kept"), scores, name("low")], [name("masked")]),
        ]
        scores = name("masked")
    return [
        *nodes,
        node("Softmax", [scores], [name("shares")], axis=-1),
        node("MatMul", [name("shares"), names["value"]], [name("mixed")]),
        node("Squeeze", [name("mixed"), name("axis")], [name("joined")]),
        node("Add", [x, name("joined")], [f"x{layer + 1}"]),
    ]
