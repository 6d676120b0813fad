"""Attention as exporters write it: products and a Softmax, masks, heads that are split and joined, projections."""

from __future__ import annotations

from typing import Any

import numpy as np
from onnx import TensorProto

from .building import BOOL, FLOAT, Builder, Unbuildable, Value
from .patterns import pattern
from .sources import chosen, reshape, source, squeeze, swapped, unsqueeze

_WIDTH = 4
_DTYPES = (FLOAT, TensorProto.DOUBLE)


@pattern("fuse_attention", opset=13)
def scaled_dot_product(b: Builder) -> list[Value]:
    """MatMul(Softmax(MatMul(q, k) * scale + mask), v)."""
    c = b.choices
    dtype = c.exact("dtype", FLOAT, *_DTYPES[1:])
    rank = c.any_of(4, 4, 4, 3)
    lead: list[Any] = [c.any_of("batch", 2), c.any_of(2, 3)][: rank - 2]
    queries, keys = c.any_of(("tokens", "keys"), (3, 5), ("tokens", "tokens"), (3, 3))
    q = source(b, [*lead, queries, _WIDTH], dtype)
    k = source(b, [*c.exact("leading axes of k", lead, [1] * len(lead), lead[1:]), keys, _WIDTH], dtype)
    v = source(b, [*c.exact("leading axes of v", lead, [1] * len(lead), lead[1:]), keys, _WIDTH], dtype)
    order = [*range(k.rank - 2), k.rank - 1, k.rank - 2]
    turned = b.op("Transpose", chosen(b, "k", k), perm=order)
    scores = _scaled(b, chosen(b, "q", q), turned)
    masked = _masked(b, scores, lead, (queries, keys))
    weights = b.op("Softmax", masked, axis=c.exact("axis", c.any_of(-1, masked.rank - 1), -2, 0))
    return [b.op("MatMul", weights, chosen(b, "v", v))]


def _scaled(b: Builder, q: Value, k: Value) -> Value:
    c = b.choices
    axes = c.exact("axes of scale", c.any_of(0, 0, 1), q.rank + 1)
    number = c.exact("scale", 0.5, -0.5, 0.0, float("inf"), float("nan"))
    given = b.number(number, q, axes)
    given = c.exact(
        "kind of scale", lambda: given, lambda: b.input([], q.dtype), lambda: b.weights(_WIDTH, dtype=q.dtype)
    )()
    form = c.any_of("queries times", "queries over", "scores times", "scores over", "both", "none")
    if form == "none":
        return b.op("MatMul", q, k)
    if form.startswith("queries"):
        return b.op("MatMul", swapped(b, "Mul", q, given) if "times" in form else b.op("Div", q, given), k)
    if form == "both":
        return b.op("Div", b.op("MatMul", b.op("Mul", q, given), k), b.number(2.0, q))
    if given.rank == 1 and given.shape[0] > 1:
        raise Unbuildable("a row of scales does not fit the scores")
    scores = b.op("MatMul", q, k)
    return swapped(b, "Mul", scores, given) if "times" in form else b.op("Div", scores, given)


def _masked(b: Builder, scores: Value, lead: list[Any], last: tuple[Any, Any]) -> Value:
    c = b.choices
    form = c.any_of("added", "added", "chosen", "chosen", "added constant", "chosen constant", "none")
    if form == "none":
        return scores
    batch = lead[0] if lead else 1
    shapes: list[list[Any]] = [[*last], [batch, 1, *last], [1, 1, *last]]
    odd: list[list[Any]] = [
        [1, last[1]],
        [last[1]],
        [batch, 1, 1, last[1]],
        [batch, 1, last[0], 1],
        [1],
        [1, 1, 1, *last],
    ]
    odd += [[3, *last], [4, 1, *last]]
    shape = c.exact("shape of mask", c.any_of(*(size for size in shapes if len(size) <= scores.rank)), *odd)
    if form == "added":
        return swapped(b, "Add", scores, chosen(b, "mask", b.input(shape, scores.dtype, "mask")))
    if form == "added constant":
        return swapped(b, "Add", scores, b.constant(_causal(b, shape, -1e9, scores.dtype)))
    low = b.number(c.exact("low", c.any_of(-1e9, -1e30), -10.0, 1e9, 0.0), scores, c.any_of(0, 0, 1))
    keep = b.input(shape, BOOL, "keep") if form == "chosen" else b.constant(_causal(b, shape, 0, BOOL))
    values = c.exact("order of Where", [scores, low], [low, scores])
    return b.op("Where", chosen(b, "keep", keep), *values)


def _causal(b: Builder, shape: list[Any], low: float, dtype: int) -> Any:
    if any(isinstance(size, str) for size in shape):
        raise Unbuildable("a constant mask has known sizes")
    keep = np.tri(*((1, 1, *shape)[-2:]), dtype=bool)
    keep = np.broadcast_to(keep[0] if len(shape) == 1 else keep, shape)
    if dtype == BOOL:
        return np.array(keep)
    lowest = b.choices.any_of(low, low, -np.inf, np.finfo(np.float32).min)
    return np.where(keep, 0, lowest).astype(np.float32 if dtype == FLOAT else np.float64)


@pattern("fuse_attention", "pack_attention", "lift_transposes", opset=13)
def multi_head(b: Builder) -> list[Value]:
    """Projections, heads split, attention, heads joined."""
    c = b.choices
    heads, model = c.any_of(2, 3), 6
    batch, tokens = c.any_of(("batch", "tokens"), (2, 3), ("batch", 3))
    x = source(b, [batch, tokens, model])
    other = c.exact("source of values", lambda: x, lambda: source(b, [batch, tokens, model]))()
    width = heads * c.any_of(2, 4)
    q, k, v = (
        _projected(b, name, value, width if name != "v" else c.exact("width of values", width, 2 * width))
        for name, value in (("q", x), ("k", x), ("v", other))
    )
    parts = [_split(b, name, value, heads) for name, value in (("q", q), ("k", k), ("v", v))]
    scores = b.op("MatMul", parts[0], b.op("Transpose", parts[1], perm=[0, 1, 3, 2]))
    scores = b.op("Mul", scores, b.number(c.any_of(0.5, (width // heads) ** -0.5), scores))
    if c.likely(0.6):
        shape = c.exact("shape of mask", c.any_of([batch, 1, tokens, tokens], [tokens, tokens]), [batch, 1, 1, tokens])
        scores = b.op("Add", scores, b.input(shape, FLOAT, "mask"))
    attended = b.op("MatMul", b.op("Softmax", scores, axis=-1), parts[2])
    joined = b.op(
        "Transpose", attended, perm=c.exact("order of joined heads", [0, 2, 1, 3], [0, 2, 3, 1], [2, 0, 1, 3])
    )
    return [reshape(b, joined, 2, [-1])]


def _projected(b: Builder, name: str, x: Value, width: int) -> Value:
    c = b.choices
    product = b.op("MatMul", x, b.weights(x.shape[-1], width))
    bias = c.exact(f"shape of bias {name}", (width,), (1,), (1, 1, width), (3, width))
    return swapped(b, "Add", product, b.weights(*bias)) if c.exact(f"bias {name}", True, False) else product


def _split(b: Builder, name: str, x: Value, heads: int) -> Value:
    c = b.choices
    parts = reshape(b, x, 2, c.exact(f"heads of {name}", [heads, -1], [-1, heads]))
    return b.op("Transpose", parts, perm=c.exact(f"order of {name}", [0, 2, 1, 3], [0, 1, 2, 3], [0, 2, 3, 1]))


@pattern("pack_attention", opset=23)
def attention_of_onnx(b: Builder) -> list[Value]:
    """ONNX's own Attention of three projections."""
    c = b.choices
    heads, model = 2, 6
    batch, tokens = c.any_of(("batch", "tokens"), (2, 3), ("batch", 3))
    x = source(b, [batch, tokens, model])
    dtype = c.exact("dtype", FLOAT, TensorProto.DOUBLE)
    x = x if dtype == FLOAT else b.op("Cast", x, to=dtype)
    form = c.any_of("whole", "biases")
    width = heads * 4
    operands = []
    for name in "qkv":
        start = x if form == "whole" else source(b, [batch, tokens, width])
        if start.dtype != dtype:
            start = b.op("Cast", start, to=dtype)
        value = b.op("MatMul", start, b.weights(model, width, dtype=dtype)) if form == "whole" else start
        shape = c.exact(f"shape of bias {name}", (width,), (1,), (3, width))
        if c.exact(f"bias {name}", True, False):
            value = swapped(b, "Add", value, b.weights(*shape, dtype=dtype))
        operands.append(chosen(b, name, value))
    mask = []
    if c.likely(0.6):
        shape = [c.any_of(batch, 1), c.any_of(heads, 1), tokens, tokens]
        shape = c.exact("shape of mask", shape, [tokens, tokens], [batch, 1, 1, tokens], [heads, tokens, tokens])
        mask = [b.input(shape, c.exact("type of mask", dtype, BOOL), "mask")]
    attributes: dict[str, Any] = {"q_num_heads": heads, "kv_num_heads": c.exact("heads of keys", heads, 1)}
    if c.likely(0.5):
        attributes["scale"] = c.exact("scale", c.any_of(0.25, 0.5), -0.5, 0.0)
    attributes |= c.exact("further attributes", {}, {"is_causal": 1}, {"softcap": 2.0}, {"qk_matmul_output_mode": 1})
    outputs = c.exact("outputs", "y", "y--s")
    made = b.op("Attention", *operands, *mask, outputs=outputs, **attributes)
    return made if isinstance(made, list) else [made]


@pattern("fuse_attention", "fuse_grouped_queries", "split_grouped_heads", opset=23)
def repeated_keys(b: Builder) -> list[Value]:
    """Grouped queries: keys and values are repeated for several heads of queries."""
    c = b.choices
    batch, tokens, groups, repeats = c.any_of("batch", 2), c.any_of("tokens", 3), 2, 2
    q = source(b, [batch, groups * repeats, tokens, _WIDTH])
    k, v = (_repeated(b, name, source(b, [batch, groups, tokens, _WIDTH]), repeats) for name in "kv")
    scores = b.op("MatMul", q, b.op("Transpose", k, perm=[0, 1, 3, 2]))
    scores = b.op("Mul", scores, b.number(0.5, scores))
    if c.likely(0.5):
        scores = b.op("Add", scores, b.input([batch, 1, tokens, tokens], FLOAT, "mask"))
    return [b.op("MatMul", b.op("Softmax", scores, axis=-1), v)]


def _repeated(b: Builder, name: str, x: Value, repeats: int) -> Value:
    c = b.choices
    _, groups, _, width = x.shape
    if c.likely(0.4):
        places = np.arange(groups).repeat(repeats).tolist()
        places = c.exact(f"heads of {name}", places, [*range(groups)] * repeats, [0] * (groups * repeats))
        return b.op("Gather", x, b.constant(np.array(places, np.int64)), axis=1)
    axis = c.exact(f"axis repeated of {name}", 2, 1)
    apart = unsqueeze(b, x, [axis])
    counts = [1, 1, 1, 1, 1]
    counts[axis] = repeats
    if c.likely(0.5):
        made = b.op("Tile", apart, b.constant(np.array(counts, np.int64)))
    else:
        made = b.op("Expand", apart, b.constant(np.array(counts, np.int64)))
    target = b.constant(np.array([0, groups * repeats, -1, width], np.int64))
    return b.op("Reshape", made, target)


@pattern("fuse_attention", opset=13)
def masked_as_keras(b: Builder) -> list[Value]:
    """A select before the Softmax and one after it, with one mask."""
    c = b.choices
    batch, tokens, heads = c.any_of("batch", 2), c.any_of("tokens", 3), 2
    q, k, v = (source(b, [batch, heads, tokens, _WIDTH]) for _ in range(3))
    keep = b.input([batch, 1, tokens, tokens], BOOL, "keep")
    other = c.exact("mask after", lambda: keep, lambda: b.input([batch, 1, tokens, tokens], BOOL, "keep"))()
    scores = b.op("MatMul", q, b.op("Transpose", k, perm=[0, 1, 3, 2]))
    low = b.number(c.exact("low", -3e38, -5.0, float("-inf")), q)
    weights = b.op("Softmax", b.op("Where", keep, scores, low), axis=-1)
    nothing = b.number(c.exact("value after", 0.0, 0.1), q)
    kept = b.op("Where", other, weights, nothing)
    return [b.op("MatMul", kept, v)]


@pattern("fuse_attention", opset=13)
def guarded_as_pytorch(b: Builder) -> list[Value]:
    """Zeros where minus infinity hides every key of a row, and half of the scale in each operand."""
    c = b.choices
    batch, tokens, heads = c.any_of("batch", 2), c.any_of("tokens", 3), 2
    q, k, v = (source(b, [batch, heads, tokens, _WIDTH]) for _ in range(3))
    root, zero = b.number(0.7, q), b.number(c.exact("number put", 0.0, 0.1), q)
    keys = b.op("Transpose", k, perm=[0, 1, 3, 2])
    scores = b.op("MatMul", swapped(b, "Mul", q, root), swapped(b, "Mul", keys, root))
    scores = _hidden(b, scores, [batch, 1, c.any_of(tokens, 1), tokens])
    weights = b.op("Softmax", scores, axis=-1)
    tested = c.exact("what is tested", weights, scores)
    operands = c.exact("order of Where", [zero, weights], [weights, zero])
    return [b.op("MatMul", b.op("Where", b.op("IsNaN", tested), *operands), v)]


def _hidden(b: Builder, scores: Value, shape: list[Any]) -> Value:
    c = b.choices
    low = b.number(c.any_of(float("-inf"), float("-inf"), float(np.finfo(np.float32).min)), scores)
    form = c.any_of("added", "added", "chosen", "none")
    if form == "none":
        return scores
    keep = b.input(shape, BOOL, "keep")
    if form == "chosen":
        return b.op("Where", keep, scores, low)
    return swapped(b, "Add", scores, b.op("Where", keep, b.number(0.0, scores), low))


@pattern("fuse_attention", opset=23)
def biased_keys(b: Builder) -> list[Value]:
    """Attention of keys that a constant is added to, beside masks of all kinds."""
    c = b.choices
    batch, tokens, heads, width = c.any_of("batch", 2), 3, 2, 8
    q, k, v = (source(b, [batch, tokens, width]) for _ in range(3))
    shape = c.exact("shape of bias", c.any_of((width,), (1, width), (1, 1, width)), (tokens, width), (1, tokens, 1))
    keys = swapped(b, "Add", chosen(b, "k", k), b.weights(*shape))
    form = c.any_of("none", "truth values", "chosen", "chosen", "low", "moderate")
    mask = [] if form == "none" else [_mask_of_onnx(b, form, [c.any_of(batch, 1), 1, tokens, tokens])]
    attributes: dict[str, Any] = {"q_num_heads": heads, "kv_num_heads": heads}
    attributes |= c.exact("cap", {}, {"softcap": 2.0})
    outputs = c.exact("outputs", "y", "y--s")
    made = b.op("Attention", q, keys, v, *mask, outputs=outputs, **attributes)
    return [*(made if isinstance(made, list) else [made]), *c.exact("other readers", [], [keys])]


def _mask_of_onnx(b: Builder, form: str, shape: list[Any]) -> Value:
    c = b.choices
    if form in ("low", "moderate"):
        numbers = np.where(np.tri(shape[-1], dtype=bool), 0, -1e30 if form == "low" else 5.0)
        numbers = c.exact("numbers of mask", numbers, np.where(np.arange(shape[-1])[:, None] == 1, -1e9, 0))
        numbers = np.broadcast_to(numbers, shape[-2:])
        return b.constant(numbers.astype(np.float32)[None, None])
    keep = b.input(shape, BOOL, "keep")
    if form == "truth values":
        return keep
    low = c.exact("low", -1e38, -1e9)
    return b.op("Where", keep, b.constant(np.zeros((), np.float32)), b.constant(np.array(low, np.float32)))


@pattern("fuse_attention", opset=23)
def one_head(b: Builder) -> list[Value]:
    """Attention of one head, whose axis is put in before and taken out behind it."""
    c = b.choices
    batch, tokens = c.any_of(("batch", 3), (2, "tokens"), (2, 3))
    place = c.exact("axis of heads", 1, 0)
    q, k, v = (unsqueeze(b, chosen(b, name, source(b, [batch, tokens, 4])), [place]) for name in "qkv")
    made = b.op("Attention", q, k, v, scale=0.5)
    after = squeeze(b, made, [place]) if c.exact("axis taken out", True, False) else made
    return [after, *c.exact("other readers", [], [made])]


@pattern("fuse_attention", opset=13)
def relative_positions(b: Builder) -> list[Value]:
    """Scores with batch and heads in one axis, and two terms that are gathered from products, as DeBERTa has them."""
    c = b.choices
    batch, tokens, heads, positions = c.any_of("batch", 2), c.any_of(3, 4), c.any_of(1, 2), 5
    q, k, v = (source(b, [batch, heads, tokens, _WIDTH]) for _ in range(3))
    queries, keys = (reshape(b, x, 0, [-1, tokens, _WIDTH]) for x in (q, k))
    root = b.number(c.any_of(2.0, 0.5), q)
    scores = b.op("MatMul", queries, b.op("Div", b.op("Transpose", keys, perm=[0, 2, 1]), root))
    table = b.weights(1, _WIDTH, positions)
    terms = [_gathered(b, b.op("MatMul", x, table), tokens, positions) for x in (queries, keys)]
    terms[1] = b.op("Transpose", terms[1], perm=c.exact("order of the second term", [0, 2, 1], [0, 1, 2]))
    biased = swapped(b, "Add", scores, swapped(b, "Add", terms[0], b.op("Div", terms[1], root)))
    apart = b.op("Reshape", biased, b.constant(np.array([-1, heads, tokens, tokens], np.int64)))
    if c.likely(0.7):
        keep = b.input(c.any_of([batch, 1, tokens, tokens], [batch, 1, 1, tokens]), BOOL, "keep")
        apart = b.op("Where", keep, apart, b.number(-3e38, q))
    return [b.op("MatMul", b.op("Softmax", apart, axis=-1), v)]


def _gathered(b: Builder, product: Value, tokens: int, positions: int) -> Value:
    places = b.constant(np.abs(np.subtract.outer(np.arange(tokens), np.arange(tokens)))[None] % positions)
    rows = b.op("Slice", b.op("Shape", product), *(b.constant(np.array([place], np.int64)) for place in (0, 2)))
    shape = b.op("Concat", rows, b.constant(np.array([tokens], np.int64)), axis=0)
    return b.op("GatherElements", product, b.op("Expand", places, shape), axis=2)
