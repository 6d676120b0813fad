"""What exporters write for positions: rotary embeddings, masks that are computed of them, biases by distance."""

from __future__ import annotations

from typing import Any

import numpy as np

from .building import BOOL, FLOAT, Builder, Value
from .patterns import pattern
from .sources import chosen, source, swapped, unsqueeze

_WIDTH = 4


@pattern("fuse_rotary_embedding", "fuse_rotary", opset=13)
def rotary_embedding(b: Builder) -> list[Value]:
    """x * cos + concat(-second half of x, first half of x) * sin."""
    c = b.choices
    x = chosen(b, "x", source(b, [c.any_of("batch", 2), 2, 3, _WIDTH]))
    shape = c.exact("shape of angles", c.any_of((3, _WIDTH), (1, 1, 3, _WIDTH)), (_WIDTH,), (1, 2, 3, _WIDTH))
    cos, sin = (_table(b, shape) for _ in range(2))
    cut = c.exact("where it is cut", _WIDTH // 2, 1)
    first, second = (_slice(b, x, *bounds) for bounds in ((0, cut), (cut, 2**31 - 1)))
    turned = [b.op("Neg", second), first]
    turned = c.exact("halves", turned, turned[::-1], [second, b.op("Neg", first)])
    rotated = b.op("Concat", *turned, axis=-1)
    return [swapped(b, "Add", swapped(b, "Mul", x, cos), swapped(b, "Mul", rotated, sin))]


def _table(b: Builder, shape: tuple[int, ...]) -> Value:
    """Return cosines or sines, every number twice."""
    half = (*shape[:-1], max(shape[-1] // 2, 1))
    known = b.weights(*half) if b.choices.likely(0.5) else b.input(half)
    return b.op("Concat", known, b.choices.exact("second half", known, b.weights(*half)), axis=-1)


def _slice(b: Builder, x: Value, start: int, end: int) -> Value:
    limits = [b.constant(np.array([number], np.int64)) for number in (start, end, x.rank - 1)]
    return b.op("Slice", x, *limits)


@pattern("fuse_attention", opset=13)
def mask_of_positions(b: Builder) -> list[Value]:
    """Attention under a causal or sliding mask that is computed of the length."""
    c = b.choices
    batch, tokens = c.any_of("batch", 2), c.any_of("tokens", 3)
    q, k, v = (source(b, [batch, 2, tokens, _WIDTH]) for _ in range(3))
    scores = b.op("MatMul", q, b.op("Transpose", k, perm=[0, 1, 3, 2]))
    keep = _kept(b, q)
    if c.likely(0.3):
        keep = b.op("And", keep, b.input([batch, 1, 1, tokens], BOOL, "keep"))
    low = b.number(c.exact("low", -1e9, -4.0), q)
    if c.likely(0.5):
        masked = b.op("Where", keep, scores, low)
    else:
        nothing = b.number(0.0, q)
        masked = swapped(b, "Add", scores, b.op("Where", keep, nothing, low))
    weights = b.op("Softmax", masked, axis=-1)
    return [b.op("MatMul", weights, v)]


def _kept(b: Builder, q: Value) -> Value:
    """Return where a key is not behind its query, with axes (queries, keys)."""
    c = b.choices
    shape = b.op("Shape", q)
    limit = b.op("Gather", shape, b.constant(np.array(2, np.int64)))
    places = b.op("Range", *[b.constant(np.array(0, np.int64)), limit, b.constant(np.array(1, np.int64))])
    queries, keys = unsqueeze(b, places, [1]), unsqueeze(b, places, [0])
    operation = c.exact("comparison", "LessOrEqual", "Less", "GreaterOrEqual")
    keep = b.op(operation, keys, queries)
    if c.likely(0.3):
        near = b.op("Less", b.op("Sub", queries, keys), b.constant(np.array(2, np.int64)))
        keep = b.op("And", keep, near)
    return keep


@pattern("fuse_attention", opset=13)
def bias_of_distances(b: Builder) -> list[Value]:
    """Attention with a bias for each head, as ALiBi and relative positions have it."""
    c = b.choices
    batch, tokens = c.any_of("batch", 2), 3
    q, k, v = (source(b, [batch, 2, tokens, _WIDTH]) for _ in range(3))
    scores = b.op("MatMul", q, b.op("Transpose", k, perm=[0, 1, 3, 2]))
    shapes: tuple[Any, ...] = ((2, 1, tokens), (2, tokens, tokens), (1, 2, tokens, tokens))
    shape = c.exact("shape of bias", c.any_of(*shapes), (2, tokens, 1), (2, 1, 1), (3, 1, 1, tokens, tokens))
    scores = swapped(b, "Add", scores, b.weights(*shape) if c.likely(0.6) else b.input(shape))
    if c.likely(0.5):
        scores = b.op("Add", scores, b.input([batch, 1, 1, tokens], FLOAT, "mask"))
    return [b.op("MatMul", b.op("Softmax", scores, axis=-1), v)]


@pattern("remove_full_slices", "fold_shapes", opset=13)
def slice_of_everything(b: Builder) -> list[Value]:
    """Slices that take all, nearly all or the last of an axis, of a position table too."""
    c = b.choices
    x = source(b, [c.any_of("batch", 2), c.any_of("tokens", 3), _WIDTH])
    table = b.weights(8, _WIDTH)
    length = b.op("Gather", b.op("Shape", x), b.constant(np.array([1], np.int64)))
    start = b.constant(np.array([c.exact("start", 0, 1)], np.int64))
    axis = b.constant(np.array([0], np.int64))
    positions = b.op("Slice", table, start, length, axis)
    whole = _slice(b, x, c.exact("first", 0, 1), c.exact("end", 2**31 - 1, -1))
    if c.exact("what is added", False, True) or whole.shape[-1] != _WIDTH or positions.shape[0] != x.shape[1]:
        return [b.op("Relu", whole), positions, *([whole] if c.likely(0.5) else [])]
    return [swapped(b, "Add", whole, positions)]
