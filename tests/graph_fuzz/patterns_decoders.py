"""What decoders of language models compute: packed projections, grouped queries, rotations by parts, shared sizes."""

from __future__ import annotations

from typing import Any

import numpy as np

from .building import FLOAT, INT64, Builder, Unbuildable, Value
from .patterns import pattern
from .sources import chosen, reshape, source, squeeze, swapped, unknown, unsqueeze

_WIDTH = 4


@pattern("split_packed", opset=13)
def packed_projection(b: Builder) -> list[Value]:
    """One projection, cut into queries, keys and values, each cut into heads."""
    c = b.choices
    batch, tokens = c.any_of(("batch", "tokens"), (2, 3), ("batch", 3))
    parts, heads = c.any_of(3, 2), c.any_of(2, 3)
    x = source(b, [batch, tokens, 6])
    packed = swapped(
        b, "Add", b.op("MatMul", x, b.weights(6, parts * heads * _WIDTH)), b.weights(_WIDTH * parts * heads)
    )
    axes = c.exact("axes", [parts, heads, -1], [heads, parts, -1], [heads, -1, parts])
    cut = reshape(b, chosen(b, "what is packed", packed), 2, axes)
    order = c.exact("order", c.any_of([2, 0, 3, 1, 4], [0, 3, 2, 1, 4], [2, 0, 1, 3, 4]), [3, 0, 2, 1, 4])
    turned = b.op("Transpose", cut, perm=order)
    axis = order.index(2) if turned.shape[order.index(2)] == parts else order.index(3)
    taken = _taken(b, turned, axis, parts)
    others = [b.op("Relu", turned)] if c.exact("read as a whole", False, True) else []
    return [*(b.op(c.any_of("Neg", "Tanh"), part) for part in taken), *others]


def _taken(b: Builder, packed: Value, axis: int, parts: int) -> list[Value]:
    """Return the parts along an axis."""
    c = b.choices
    if c.likely(0.5):
        places: list[Any] = [*range(parts)]
        places = c.exact("what is gathered", places, [[0, 1], 1], [-1, 0])
        return [b.op("Gather", packed, b.constant(np.array(place, np.int64)), axis=axis) for place in places]
    lengths = c.exact("lengths of parts", [1] * parts, [parts - 1, 1])
    made = b.op("Split", packed, b.constant(np.array(lengths, np.int64)), outputs="abc"[: len(lengths)], axis=axis)
    return [squeeze(b, part, [axis]) if part.shape[axis] == 1 and c.likely(0.7) else part for part in made]


@pattern("split_grouped_heads", opset=13)
def products_of_grouped_heads(b: Builder) -> list[Value]:
    """Several heads of queries as the rows of one product, as Gemma computes grouped queries."""
    c = b.choices
    batch, tokens, heads, groups = c.any_of("batch", 2), c.any_of("tokens", 3), c.exact("heads", 2, 1), 2
    q = source(b, [batch, heads, groups, tokens, _WIDTH])
    keys = tokens
    k, v = (source(b, [batch, heads, keys, _WIDTH]) for _ in range(2))
    rows = b.op("Reshape", q, b.constant(np.array([0, heads, -1, _WIDTH], np.int64)))
    scores = b.op("MatMul", rows, b.op("Transpose", k, perm=[0, 1, 3, 2]))
    split = _rows_apart(b, q, scores, c.exact("axes of rows", (groups, 0), (0, groups)))
    split = swapped(b, "Mul", split, b.number(0.5, split))
    if c.likely(0.5):
        split = swapped(b, "Add", split, b.input([batch, 1, 1, tokens, keys], FLOAT, "mask"))
    weights = b.op("Softmax", split, axis=c.exact("axis", -1, -2, 2))
    others = [b.op("Relu", weights)] if c.exact("weights are read", False, True) else []
    joined = b.op("Reshape", weights, b.constant(np.array([0, heads, -1, *scores.shape[-1:]], np.int64)))
    mixed = b.op("MatMul", joined, v)
    return [b.op("Reshape", mixed, b.constant(np.array([0, heads * groups, -1, _WIDTH], np.int64))), *others]


def _rows_apart(b: Builder, q: Value, scores: Value, rows: tuple[int, int]) -> Value:
    """Cut the rows of scores into groups and queries, 0 for the number of queries, in the order that is given."""
    shape, place = b.op("Shape", q), b.constant(np.array([3], np.int64))
    length = b.op("Gather", shape, place)
    sizes = [b.constant(np.array([size], np.int64)) if size else length for size in (*rows, 0)]
    leading = b.constant(np.array([-1, scores.shape[1]], np.int64))
    split: Value = b.op("Reshape", scores, b.op("Concat", leading, *sizes, axis=0))
    return split


@pattern("fuse_key_value_cache", "fuse_attention", "fuse_grouped_queries", opset=23)
def cached_keys(b: Builder) -> list[Value]:
    """Attention over a cache of keys and values, to which those of new tokens are appended."""
    c = b.choices
    batch, (tokens, past) = c.any_of("batch", 2), c.any_of(("tokens", "keys"), (3, 5), (1, "keys"))
    heads, groups = 2, c.any_of(1, 2)
    q = source(b, [batch, heads * groups, tokens, _WIDTH])
    new, cache = ([source(b, [batch, heads, length, _WIDTH]) for _ in "kv"] for length in (tokens, past))
    cache[1] = c.exact("length of cached values", lambda: cache[1], lambda: source(b, [batch, heads, 4, _WIDTH]))()
    k, v = (_appended(b, *pair) for pair in zip("kv", cache, new, strict=True))
    keys, values = (_for_groups(b, value, groups) for value in (k, v))
    scores = b.op("MatMul", q, b.op("Transpose", keys, perm=[0, 1, 3, 2]))
    scores = swapped(b, "Mul", scores, b.number(0.5, scores))
    form = c.any_of("causal", "causal", "mask", "none")
    if form == "mask":
        whole = past + tokens if isinstance(past, int) and isinstance(tokens, int) else "keys + tokens"
        shape = [batch, 1, tokens, whole]
        if tokens == 1 and past == "keys":
            raise Unbuildable("no input is one longer than another")
        scores = swapped(b, "Add", scores, b.input(shape, FLOAT, "mask"))
    if form == "causal":
        scores = swapped(b, "Add", scores, _causal_over(b, cache[0], new[0]))
    made = b.op("MatMul", b.op("Softmax", scores, axis=-1), values)
    return [made, *c.exact("caches that are read", [k, v], [k], [])]


def _appended(b: Builder, name: str, past: Value, new: Value) -> Value:
    c = b.choices
    parts = c.exact(f"parts of {name}", [past, new], [past, new, new])
    made: Value = b.op("Concat", *parts, axis=c.any_of(2, -2))
    return made


def _for_groups(b: Builder, value: Value, groups: int) -> Value:
    """Return keys or values with every head once for each head of queries that shares it."""
    if groups == 1:
        return value
    apart = b.op("Expand", unsqueeze(b, value, [2]), b.constant(np.array([1, 1, groups, 1, 1], np.int64)))
    heads = value.shape[1] * groups
    made: Value = b.op("Reshape", apart, b.constant(np.array([0, heads, -1, _WIDTH], np.int64)))
    return made


def _causal_over(b: Builder, past: Value, new: Value) -> Value:
    """Return what is added to scores so that new tokens see the cache, themselves and those before them."""
    one, zero = (b.constant(np.array(number, np.int64)) for number in (1, 0))
    cached, added = (b.op("Gather", b.op("Shape", value), b.constant(np.array(2, np.int64))) for value in (past, new))
    end = swapped(b, "Add", cached, added)
    rows = unsqueeze(b, b.op("Range", cached, end, one), [1])
    keep = b.op("LessOrEqual", b.op("Range", zero, end, one), rows)
    low = b.choices.any_of(-1e9, float("-inf"), float(np.finfo(np.float32).min))
    made: Value = b.op("Where", keep, b.number(0.0, past), b.number(low, past))
    return made


@pattern("fuse_rotary_embedding", opset=13)
def rotary_of_parts(b: Builder) -> list[Value]:
    """(a cos - b sin, b cos + a sin), a and b halves or neighbours, of all elements or of the first ones."""
    c = b.choices
    whole, neighbours = c.any_of(_WIDTH, _WIDTH + 2), c.likely(0.5)
    x = source(b, [c.any_of("batch", 2), 2, 3, whole])
    part = chosen(b, "what is rotated", _sliced(b, x, 0, _WIDTH) if whole > _WIDTH else x)
    first, second = _neighbours(b, part) if neighbours else (_sliced(b, part, 0, 2), _sliced(b, part, 2, _WIDTH))
    shape = c.exact("shape of angles", c.any_of((3, 2), (1, 1, 3, 2)), (2,), (1, 2, 3, 2), (2, 1, 3, 2))
    cos, sin = (b.weights(*shape) if c.likely(0.5) else b.input(shape) for _ in range(2))
    real = _combined(b, c.exact("sign of a", "Sub", "Add"), (first, cos), (second, sin))
    factors = c.exact("factors of b", (second, first), (first, second))
    other = _combined(b, c.exact("sign of b", "Add", "Sub"), (factors[0], cos), (factors[1], sin))
    pair = c.exact("order of the pair", [real, other], [other, real])
    rotated = _together(b, pair, neighbours)
    if whole == _WIDTH:
        return [rotated]
    start = c.exact("start of the rest", _WIDTH, 0)
    return [b.op("Concat", rotated, _sliced(b, x, start, start + 2), axis=-1)]


def _sliced(b: Builder, x: Value, start: int, end: int, step: int = 1) -> Value:
    limits = [b.constant(np.array([number], np.int64)) for number in (start, end, x.rank - 1, step)]
    return b.op("Slice", x, *limits)


def _neighbours(b: Builder, x: Value) -> tuple[Value, Value]:
    """Return every other element of the last axis, from the first and from the second."""
    if b.choices.likely(0.5):
        return _sliced(b, x, 0, _WIDTH, 2), _sliced(b, x, 1, _WIDTH, 2)
    apart = b.op("Reshape", x, b.constant(np.array([0, 0, 0, 2, 2], np.int64)))
    places = b.choices.exact("places of neighbours", (0, 1), (1, 0))
    first, second = (b.op("Gather", apart, b.constant(np.array(place, np.int64)), axis=4) for place in places)
    return first, second


def _combined(b: Builder, operation: str, left: tuple[Value, Value], right: tuple[Value, Value]) -> Value:
    made: Value = b.op(operation, swapped(b, "Mul", *left), swapped(b, "Mul", *right))
    return made


def _together(b: Builder, pair: list[Value], neighbours: bool) -> Value:
    if not neighbours:
        made: Value = b.op("Concat", *pair, axis=-1)
        return made
    stacked = b.op("Concat", *(unsqueeze(b, value, [value.rank]) for value in pair), axis=-1)
    joined: Value = b.op("Reshape", stacked, b.constant(np.array([0, 0, 0, _WIDTH], np.int64)))
    return joined


@pattern("join_equal_sizes", opset=13)
def sizes_of_two_tensors(b: Builder) -> list[Value]:
    """A table for each of two tensors, made for a size that both have."""
    c = b.choices
    x = source(b, ["batch", "tokens", _WIDTH])
    hidden, sizes = c.exact("sizes of the other", (False, "tokens"), (False, "keys"), (True, "keys"))
    y = source(b, ["batch", sizes, _WIDTH])
    axes = c.exact("axis of the other", (1, 1), (1, 0))
    values = [unknown(b, value) if hidden else value for value in (x, y)]
    return [_with_table(b, value, axis) for value, axis in zip(values, axes, strict=True)]


@pattern("join_equal_sizes", opset=13)
def size_of_scores(b: Builder) -> list[Value]:
    """A table made for a size of what is computed, which is a size of an input, or of none."""
    c = b.choices
    x, y = source(b, ["batch", "tokens", _WIDTH]), source(b, ["batch", "keys", _WIDTH])
    scores = b.op("MatMul", x, b.op("Transpose", y, perm=[0, 2, 1]))
    wide = b.op("Concat", scores, scores, axis=2) if c.likely(0.2) else scores
    axis = c.exact("axis of the scores", 1, 2, 0)
    return [_with_table(b, wide, axis, x), b.op("Softmax", scores, axis=2)]


def _with_table(b: Builder, sized: Value, axis: int, x: Value | None = None) -> Value:
    """Return a tensor times a table that is made for the size of one, of itself where no other is given."""
    c = b.choices
    shape = b.op("Shape", sized)
    if c.likely(0.5):
        length = b.op("Gather", shape, b.constant(np.array(axis, np.int64)))
        bounds = [b.constant(np.array(0, np.int64)), length, b.constant(np.array(1, np.int64))]
        filled = b.op("Cast", b.op("Range", *bounds), to=FLOAT)
    else:
        length = b.op("Gather", shape, b.constant(np.array([axis], np.int64)))
        target = b.op("Concat", length, b.constant(np.array([2], np.int64)), axis=0)
        filled = b.op("Expand", b.constant(np.ones((1, 1), np.float32)), target)
    table = b.op("ReduceSum", filled, keepdims=0)
    made: Value = swapped(b, "Mul", sized if x is None else x, table)
    return made


@pattern("remove_full_slices", "fold_shapes", opset=9, last=9)
def slice_by_attributes(b: Builder) -> list[Value]:
    """Slices as they were written up to operator set 9: with bounds that are attributes."""
    c = b.choices
    x = source(b, [c.any_of("batch", 2), c.any_of("tokens", 3), _WIDTH])
    start, end = c.exact("start", 0, 1), c.exact("end", c.any_of(2**31 - 1, _WIDTH), 3, -1)
    axes: dict[str, Any] = {"axes": [2]} if c.likely(0.7) else {}
    starts, ends = ([start], [end]) if axes else ([0, 0, start], [2**31 - 1, 2**31 - 1, end])
    whole = b.op("Slice", x, starts=starts, ends=ends, **axes)
    shape = b.op("Shape", x)
    first = b.op("Slice", shape, starts=[0], ends=[c.any_of(1, 2)])
    return [b.op("Relu", whole), b.op("Cast", b.op("Cast", first, to=FLOAT), to=INT64)]
