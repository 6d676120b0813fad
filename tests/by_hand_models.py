"""Small graphs with the names that exports of the zoo's Transformers have, for what writes them again by hand."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import onnx_ir as ir
from onnx import TensorProto, helper, numpy_helper

WIDTH, HEADS, WORDS, LENGTH, CLASSES, PATCH, SIZE = 128, 2, 11, 5, 7, 2, 4

Tensor = tuple[str, tuple[int, ...]]


def transformer_base(depth: int) -> ir.Model:
    """Return normalisation behind each sum, nothing normalised before the first layer, heads joined."""
    layers = [f"block{number + 1}" for number in range(depth)]
    tensors = [("embedding_1/Shape/ReadVariableOp/resource:0", (WORDS, WIDTH))]
    tensors += [item for name in layers for place in (1, 2) for item in _norm(f"{name}_norm{place}")]
    denses = [item for name in layers for item in _layer(name, "projection", (WIDTH,), "BiasAdd")]
    return _model("transformer_base", tensors, denses, ["tokens"], [(1, LENGTH, WIDTH)])


def bert_mini(depth: int) -> ir.Model:
    """Return three inputs, a pooler, biases by heads."""
    layers = [f"block{number + 1}" for number in range(depth)]
    tensors = [
        ("words_1/Shape/ReadVariableOp/resource:0", (WORDS, WIDTH)),
        ("kinds_1/GatherV2/ReadVariableOp:0", (2, WIDTH)),
        ("positions_1/ReadVariableOp:0", (LENGTH + 2, WIDTH)),
        *_norm("embeddings_norm"),
        *_keras_norms(layers),
    ]
    denses = [item for name in layers for item in _keras_layer(name)]
    denses.append(("pooler_1", (WIDTH, WIDTH), "BiasAdd", (WIDTH,)))
    return _model("bert_mini", tensors, denses, ["tokens", "mask", "segments"], [(1, LENGTH, WIDTH), (1, WIDTH)])


def vit_tiny(depth: int) -> ir.Model:
    """Return images, a class token, normalisation before each part, a classifier."""
    layers = [f"block{number + 1}" for number in range(depth)]
    tensors = [
        ("class_token_1/BroadcastTo/ReadVariableOp:0", (1, 1, WIDTH)),
        ("positions_1/strided_slice_1:0", (1 + (SIZE // PATCH) ** 2, WIDTH)),
        *_norm("norm"),
        *_keras_norms(layers),
    ]
    denses = [item for name in layers for item in _keras_layer(name)]
    denses.append(("predictions_1", (WIDTH, CLASSES), "BiasAdd", (CLASSES,)))
    return _model("vit_tiny", tensors, denses, ["image"], [(1, CLASSES)])


def feed(model: ir.Model) -> dict[str, Any]:
    """Return inputs: tokens and segments that differ, a mask that leaves some out, an image."""
    values = {
        "tokens": np.arange(LENGTH, dtype=np.int32)[None] % WORDS,
        "mask": np.array([[1, 1, 0, 1, 0]], np.int32),
        "segments": np.array([[0, 0, 1, 1, 1]], np.int32),
        "image": np.linspace(-1, 1, 3 * SIZE * SIZE, dtype=np.float32).reshape(1, 3, SIZE, SIZE),
    }
    return {tensor.name: values[tensor.name] for tensor in model.graph.inputs if tensor.name is not None}


def _norm(name: str) -> list[Tensor]:
    return [(f"{name}_1/Reshape:0", (1, 1, WIDTH)), (f"{name}_1/Reshape_1:0", (1, 1, WIDTH))]


def _keras_norms(layers: Sequence[str]) -> list[Tensor]:
    return [item for name in layers for part in ("attention", "feed_forward") for item in _norm(f"{name}_{part}_norm")]


def _layer(name: str, output: str, biases: tuple[int, ...], added: str) -> Iterator[tuple[Any, ...]]:
    for part in ("query", "key", "value"):
        yield f"{name}_attention_1/{part}_1", (WIDTH, WIDTH), added, biases
    yield f"{name}_attention_1/{output}_1", (WIDTH, WIDTH), "BiasAdd", (WIDTH,)
    yield f"{name}_expand_1", (WIDTH, 4 * WIDTH), "BiasAdd", (4 * WIDTH,)
    yield f"{name}_contract_1", (4 * WIDTH, WIDTH), "BiasAdd", (WIDTH,)


def _keras_layer(name: str) -> Iterator[tuple[Any, ...]]:
    return _layer(name, "attention_output", (HEADS, WIDTH // HEADS), "Add")


def _model(
    name: str, tensors: Sequence[Tensor], denses: Sequence[tuple[Any, ...]], inputs: Sequence[str], outputs: Any
) -> ir.Model:
    """Return the weights where an export has them; what else is computed does not matter to who writes it again."""
    random = np.random.default_rng(0)
    held = [_tensor(random, f"{name}_1/{item}", shape) for item, shape in tensors]
    nodes: list[Any] = []
    for layer, kernel, added, bias in denses:
        held += [
            _tensor(random, layer.replace("/", "."), kernel),
            _tensor(random, f"{name}_1/{layer}/{added}/ReadVariableOp:0", bias),
        ]
        nodes += _product(f"{name}_1/{layer}", kernel, bias, held)
    if "image" in inputs:
        held += [_tensor(random, "patches", (WIDTH, 3, PATCH, PATCH)), _tensor(random, "patches.bias", (WIDTH,))]
        nodes.append(helper.make_node("Conv", ["image", "patches", "patches.bias"], ["grid"], strides=[PATCH, PATCH]))
    shapes = [(f"out{place}", shape) for place, shape in enumerate(outputs)]
    held += [numpy_helper.from_array(np.zeros(shape, np.float32), f"{item}.zeros") for item, shape in shapes]
    nodes += [helper.make_node("Identity", [f"{item}.zeros"], [item]) for item, _ in shapes]
    results = [helper.make_tensor_value_info(item, TensorProto.FLOAT, shape) for item, shape in shapes]
    graph = helper.make_graph(nodes, "export", [_input(tensor) for tensor in inputs], results, held)
    return ir.from_proto(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 23)], ir_version=11))


def _product(layer: str, kernel: tuple[int, int], bias: tuple[int, ...], held: list[Any]) -> list[Any]:
    """Return a layer's product, and behind it what splits heads where its bias is one of heads."""
    layer = layer.replace("/", ".")
    weights, added = held[-2].name, held[-1].name
    held.append(numpy_helper.from_array(np.ones((1, kernel[0]), np.float32), f"{layer}.in"))
    held.append(numpy_helper.from_array(np.array([1, *bias]), f"{layer}.shape"))
    return [
        helper.make_node("MatMul", [f"{layer}.in", weights], [f"{layer}.product"]),
        helper.make_node("Reshape", [f"{layer}.product", f"{layer}.shape"], [f"{layer}.split"]),
        helper.make_node("Add", [f"{layer}.split", added], [f"{layer}.sum"]),
    ]


def _tensor(random: Any, name: str, shape: tuple[int, ...]) -> Any:
    return numpy_helper.from_array((random.standard_normal(shape) * 0.2).astype(np.float32), name)


def _input(name: str) -> Any:
    if name == "image":
        return helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, 3, SIZE, SIZE])
    return helper.make_tensor_value_info(name, TensorProto.INT32, [1, LENGTH])
