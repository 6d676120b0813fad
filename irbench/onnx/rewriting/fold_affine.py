"""Fold what only scales and shifts the channels of a convolution into its weights.

With y = conv(x; W) + b, per output channel:

1. y * s          = conv(x; W * s) + b * s
2. y + t          = conv(x; W) + (b + t)
3. batchnorm(y)   = y * s + (beta - mean * s)   with  s = gamma / sqrt(variance + epsilon)
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import numpy as np

from irbench.onnx.rewriting.detached_weights import DetachedModel, names_in, used_names
from irbench.onnx.rewriting.unique_names import take_name
from irbench.spi import Array

if TYPE_CHECKING:
    import onnx


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
