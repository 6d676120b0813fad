"""Compute every node whose inputs are constants, fold scales and shifts into weights, and drop what nothing needs.

Fold what only scales and shifts the channels of a convolution into its weights.

With y = conv(x; W) + b, per output channel:

1. y * s          = conv(x; W * s) + b * s
2. y + t          = conv(x; W) + (b + t)
3. batchnorm(y)   = y * s + (beta - mean * s)   with  s = gamma / sqrt(variance + epsilon)
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import numpy as np

from irbench.onnx.operator_classes import may_be_random
from irbench.onnx.rewriting.detached_weights import DetachedModel, names_in, opset_of, take_name, used_names
from irbench.spi import Array

if TYPE_CHECKING:
    import onnx


def drop_unused(detached: DetachedModel) -> bool:
    """Remove what is not used until nothing is left to remove; the model's inputs stay."""
    graph = detached.model.graph
    before = len(graph.node) + len(detached.weights)
    while True:
        used = set(used_names(graph))
        kept = [node for node in graph.node if not used.isdisjoint(node.output)]
        if len(kept) == len(graph.node):
            break
        del graph.node[:]
        graph.node.extend(kept)
    detached.weights = {name: value for name, value in detached.weights.items() if name in used}
    return len(graph.node) + len(detached.weights) < before


_MAX_GROWTH_BYTES = 1 << 20
"""A folded node may need this much more room than its inputs: a broadcast is cheaper than its result."""

_KEPT = frozenset({"QuantizeLinear", "DequantizeLinear", "DynamicQuantizeLinear", "QLinearConv", "QLinearMatMul"})
"""Runtimes look for these nodes to compute in integers."""


def fold_constants(detached: DetachedModel) -> bool:
    """Replace nodes of constant inputs by their values.

    The reference evaluator that defines ONNX's semantics computes them. Nodes with inner graphs, random
    ones, quantisation, and results much larger than their inputs stay.
    """
    kept: list[onnx.NodeProto] = []
    outputs = {tensor.name for tensor in detached.model.graph.output}
    opset = opset_of(detached.model)
    for node in detached.model.graph.node:
        values = _values(node, detached, opset) if _foldable(node, detached, outputs) else None
        if values is None:
            kept.append(node)
        else:
            detached.weights.update(values)
    changed = len(kept) < len(detached.model.graph.node)
    if changed:
        del detached.model.graph.node[:]
        detached.model.graph.node.extend(kept)
    return changed


def _foldable(node: onnx.NodeProto, detached: DetachedModel, outputs: set[str]) -> bool:
    return (
        node.op_type not in _KEPT
        and (bool(node.input) or node.op_type == "Constant")
        and all(not name or name in detached.weights for name in node.input)
        and not may_be_random(node.domain, node.op_type, _third_input(node, detached))
        and not any(attribute.HasField("g") or attribute.graphs for attribute in node.attribute)
        and outputs.isdisjoint(node.output)
    )


def _third_input(node: onnx.NodeProto, detached: DetachedModel) -> Array | bool:
    """Return what the third input of a node of constant inputs holds, ``False`` where it has none."""
    return detached.weights[node.input[2]] if len(node.input) > 2 and node.input[2] else False


def _values(node: onnx.NodeProto, detached: DetachedModel, opset: int) -> dict[str, Array] | None:
    from onnx.reference import ReferenceEvaluator

    inputs = {name: detached.weights[name] for name in node.input if name}
    try:
        results = ReferenceEvaluator(node, opsets={"": opset}).run(None, inputs)
    except Exception:  # noqa: BLE001 - the evaluator does not know every operation; the runtime will
        return None
    if not all(isinstance(result, np.ndarray | np.generic) for result in results):  # a sequence is not a weight
        return None
    arrays = {name: np.asarray(result) for name, result in zip(node.output, results, strict=True) if name}
    grown = sum(array.nbytes for array in arrays.values()) - sum(array.nbytes for array in inputs.values())
    if grown > _MAX_GROWTH_BYTES or any(array.dtype == object for array in arrays.values()):
        return None
    return arrays


def fold_affine(detached: DetachedModel) -> bool:
    """Apply the rules until none fits; the arithmetic is done in double precision."""
    uses = Counter(used_names(detached.model.graph))
    consumer = {name: node for node in detached.model.graph.node for name in node.input}
    taken, removed = names_in(detached), set[int]()
    for conv in detached.model.graph.node:
        if conv.op_type != "Conv" or not all(name in detached.weights for name in conv.input[1:] if name):
            continue
        while uses[conv.output[0]] == 1 and conv.output[0] in consumer:
            follower = consumer[conv.output[0]]
            affine = _affine(follower, conv, detached)
            if affine is None:
                break
            _absorb(conv, *affine, detached, taken)
            conv.output[0] = follower.output[0]
            removed.add(id(follower))
    if removed:
        kept = [node for node in detached.model.graph.node if id(node) not in removed]
        del detached.model.graph.node[:]
        detached.model.graph.node.extend(kept)
    return bool(removed)


def _affine(node: onnx.NodeProto, conv: onnx.NodeProto, detached: DetachedModel) -> tuple[Array, Array] | None:
    """Return scale and shift per output channel (float64, shape [C]) that ``node`` applies, or ``None``."""
    weight = detached.weights[conv.input[1]]
    channels, rank = weight.shape[0], weight.ndim
    if node.op_type == "BatchNormalization":
        return _batch_normalization(node, conv, detached)
    if node.op_type not in ("Mul", "Add", "Sub"):
        return None
    if node.op_type == "Sub" and node.input[0] != conv.output[0]:
        return None
    others = [name for name in node.input if name != conv.output[0]]
    if len(others) != 1 or others[0] not in detached.weights:
        return None
    vector = _per_channel(detached.weights[others[0]], channels, rank)
    if vector is None:
        return None
    if node.op_type == "Mul":
        return vector, np.zeros(channels)
    return np.ones(channels), vector if node.op_type == "Add" else -vector


def _batch_normalization(
    node: onnx.NodeProto, conv: onnx.NodeProto, detached: DetachedModel
) -> tuple[Array, Array] | None:
    parameters = list(node.input[1:5])
    if node.input[0] != conv.output[0] or not all(name in detached.weights for name in parameters):
        return None
    if any(attribute.name == "training_mode" and attribute.i for attribute in node.attribute):
        return None
    epsilon = next((attribute.f for attribute in node.attribute if attribute.name == "epsilon"), 1e-5)
    gamma, beta, mean, variance = (detached.weights[name].astype(np.float64) for name in parameters)
    scale = gamma / np.sqrt(variance + epsilon)
    return scale, beta - mean * scale


def _per_channel(value: Array, channels: int, rank: int) -> Array | None:
    if value.size == 1 and value.ndim <= rank:
        return np.full(channels, value.reshape(()), np.float64)
    shape = (1,) * (rank - value.ndim) + value.shape
    if len(shape) == rank and shape[1] == channels and value.size == channels:
        return value.reshape(channels).astype(np.float64)
    return None


def _absorb(conv: onnx.NodeProto, scale: Array, shift: Array, detached: DetachedModel, taken: set[str]) -> None:
    weight = detached.weights[conv.input[1]]
    has_bias = len(conv.input) > 2 and bool(conv.input[2])
    bias = detached.weights[conv.input[2]].astype(np.float64) if has_bias else np.zeros(weight.shape[0])
    if not np.all(scale == 1):
        column = scale.reshape(-1, *(1,) * (weight.ndim - 1))
        conv.input[1] = take_name(f"{conv.output[0]}_weight", taken)
        detached.weights[conv.input[1]] = (weight.astype(np.float64) * column).astype(weight.dtype)
    del conv.input[2:]
    conv.input.append(take_name(f"{conv.output[0]}_bias", taken))
    detached.weights[conv.input[2]] = (bias * scale + shift).astype(weight.dtype)
