"""Fuse scaled dot-product attention (Vaswani et al., 2017, section 3.2) into ONNX's Attention.

1. MatMul(Softmax(MatMul(q, transposed k) * scale + mask), v)                  -> Attention(q, k, v, mask)
2. Attention of q, k and v that are split into heads, heads joined after it    -> Attention(q, k, v) that does so itself

In rule 1 scale and mask are optional; q may be scaled too, by product or quotient. The scale is positive, as ONNX
asks. The mask is what is added, or a Where that puts so low a number that nothing of it is left after the Softmax, if
anything is kept. Queries, keys and values have axes (batch, heads, length, width), or (batch, length, width) for one
head without a mask. The mask is made as large as the scores in its last two axes, because ONNX Runtime does not
stretch it.

A row of which nothing is kept weighs all keys alike, as it did in the model. Where the model put minus infinity, its
answer for such a row was not a number. ONNX Runtime answers zeros for a row whose masks are all minus infinity or the
lowest number there is; the mask that is added is therefore at least half that number.

For rule 2 the axes are (batch, length, heads * width) before they are split and after they are joined.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from irbench.onnx.shapes import infer
from irbench.onnx.sizes import Size, product, sizes_of
from irbench.optimizer.passes import Rewrite
from irbench.optimizer.passes.remove_redundant import merge_layouts
from irbench.optimizer.rewrite.edit import add_constant, clean, weight
from irbench.optimizer.rewrite.rules import ANY, Rule, any_order, apply_rules, either, number_beside
from irbench.spi import Array, Pass

if TYPE_CHECKING:
    import onnx_ir as ir

__all__ = ["fuse_attention"]

Build = Callable[..., Any]

_LOW = -1e9
"""A masked score that leaves nothing after the Softmax beside any score that is kept: those of models are far above."""
_NUMBERS = ("by", "over", "factor", "divisor")
_HEADS_FIRST = [0, 2, 1, 3]


def _fuse_attention(model: ir.Model) -> bool:
    infer(model)
    rules = [Rule(partial(_products, form), _attention, _attends) for form in (_multiplied, _divided, _plain)]
    fused = apply_rules(model, rules)
    infer(model)
    merge_layouts(model)
    clean(model)
    return apply_rules(model, [Rule(_heads, _join_heads, _joins)]) or fused


def _multiplied(op: Any, q: Any, by: Any, _: Any) -> Any:
    return op.Mul(q, by)


def _divided(op: Any, q: Any, _: Any, over: Any) -> Any:
    return op.Div(q, over)


def _plain(_: Any, q: Any, *__: Any) -> Any:
    return q


def _products(
    form: Build,
    op: Any,
    q: Any,
    k: Any,
    v: Any,
    by: Any,
    over: Any,
    factor: Any,
    divisor: Any,
    mask: Any,
    keep: Any,
    low: Any,
) -> Any:
    scores = op.MatMul(form(op, q, by, over), k)
    scores = either(op.Mul(scores, factor), op.Div(scores, divisor), scores)
    masked = either(any_order(op.Add, scores, mask), op.Where(keep, scores, low), scores)
    return op.MatMul(op.Softmax(masked, _outputs=["weights"], **ANY), v)


def _attends(_: Any, q: ir.Value, k: ir.Value, v: ir.Value, weights: ir.Value, **optional: ir.Value | None) -> bool:
    sizes, keys, values = sizes_of(q), sizes_of(k), sizes_of(v)
    node, low = weights.producer(), optional.get("low")
    if sizes is None or keys is None or values is None or node is None or len(sizes) not in (3, 4):
        return False
    rank = len(sizes)
    return (
        len(keys) == len(values) == rank
        and sizes[:-2] == keys[:-2] == values[:-2]
        and node.attributes.get_int("axis", -1) % rank == rank - 1
        and 0 < _scale(q, **optional) < np.inf
        and (low is None or (number_beside(low, q) or 0) <= _LOW)
        and _maskable(sizes, keys, **optional)
    )


def _scale(q: ir.Value, **optional: ir.Value | None) -> float:
    """Return what the scores are multiplied with, not a number if it is no constant."""
    given = [optional.get(name) for name in _NUMBERS]
    numbers = [1.0 if item is None else number_beside(item, q) for item in given]
    by, over, factor, divisor = (np.float64(np.nan if number is None else number) for number in numbers)
    with np.errstate(all="ignore"):
        return float(by / over * factor / divisor)


def _maskable(queries: Sequence[Size], keys: Sequence[Size], **optional: ir.Value | None) -> bool:
    """Whether there is no mask, or one that can be made as large as the scores."""
    given, wanted = optional.get("mask") or optional.get("keep"), _scores(queries, keys)
    if given is None:
        return True
    sizes = sizes_of(given)
    if len(wanted) != 4 or sizes is None or len(sizes) not in (2, 4):
        return False
    if any(size not in (Size(1), whole) for size, whole in zip(sizes[::-1], wanted[::-1], strict=False)):
        return False
    return sizes[-2:] == wanted[-2:] or None not in [size.number for size in wanted[-2:]]


def _scores(queries: Sequence[Size], keys: Sequence[Size]) -> list[Size]:
    """Return the sizes of the scores; their own shape is not known in a branch, where nothing is inferred."""
    return [*queries[:-1], keys[-1]]


def _attention(op: Any, q: ir.Value, k: ir.Value, v: ir.Value, weights: ir.Value, **optional: Any) -> Any:
    rank = len(q.shape or ())
    keys = op.Transpose(k, perm=[*range(rank - 2), rank - 1, rank - 2])
    heads = {"q_num_heads": 1, "kv_num_heads": 1} if rank == 3 else {}
    given = optional.get("mask") or optional.get("keep")
    mask = [] if given is None else [_mask(op, given, q, k, weights, optional.get("low"))]
    return op.Attention(q, keys, v, *mask, scale=_scale(q, **optional), **heads)


def _mask(op: Any, given: ir.Value, q: ir.Value, k: ir.Value, weights: ir.Value, low: ir.Value | None) -> Any:
    """Return what is to be added to the scores, with their last two axes."""
    graph, sizes, queries, keys = weights.graph, sizes_of(given), sizes_of(q), sizes_of(k)
    assert graph is not None
    assert sizes is not None
    assert queries is not None
    assert keys is not None
    added = _bounded(op, given, graph) if low is None else _addend(op, given, low, graph)
    wanted = _scores(queries, keys)[-2:]
    if sizes[-2:] == wanted:
        return added
    numbers = [size.number for size in wanted]
    assert None not in numbers
    whole = np.array([1] * (len(sizes) - 2) + numbers, np.int64)
    return op.Expand(added, add_constant(graph, whole, weights))


def _bounded(op: Any, mask: ir.Value, graph: ir.Graph) -> Any:
    """Return a mask that is added, nothing in it below :func:`_lowest`."""
    constant, lowest = weight(mask), _lowest(mask)
    if constant is None:
        return op.Max(mask, add_constant(graph, lowest, mask))
    return mask if (constant >= lowest).all() else add_constant(graph, np.maximum(constant, lowest), mask)


def _addend(op: Any, keep: ir.Value, low: ir.Value, graph: ir.Graph) -> Any:
    """Return zero where a score is kept, else the lowest number.

    The low number is put in the place of a score but this is added to it. With -1e9 the sums would differ as soon as
    scores reach 32.
    """
    constant, lowest = weight(keep), _lowest(low)
    zero = np.zeros_like(lowest)
    if constant is not None:
        return add_constant(graph, np.where(constant, zero, lowest), keep)
    return op.Where(keep, add_constant(graph, zero, low), add_constant(graph, lowest, low))


def _lowest(like: ir.Value) -> Array:
    """Return the lowest number to add to a score, half the lowest of its type.

    A sum with it is that number, because half its rounding is above any score, 5e30 in float32: all masked scores are
    equal.
    """
    assert like.dtype is not None
    return np.asarray(like.dtype.min / 2, like.dtype.numpy())


def _heads(op: Any, q: Any, k: Any, v: Any, to_q: Any, to_k: Any, to_v: Any, joined: Any) -> Any:
    queries = op.Transpose(op.Reshape(q, to_q, _outputs=["split_q"]), perm=_HEADS_FIRST)
    keys = op.Transpose(op.Reshape(k, to_k, _outputs=["split_k"]), perm=_HEADS_FIRST)
    values = op.Transpose(op.Reshape(v, to_v, _outputs=["split_v"]), perm=_HEADS_FIRST)
    attended = op.Attention(queries, keys, values, _outputs=["attended"], **ANY)
    return op.Reshape(op.Transpose(attended, perm=_HEADS_FIRST), joined, _outputs=["result"])


def _joins(_: Any, result: ir.Value, attended: ir.Value, **values: ir.Value) -> bool:
    split = [(sizes_of(values[name]), sizes_of(values[f"split_{name}"])) for name in "qkv"]
    after, before = sizes_of(result), sizes_of(attended)
    if after is None or before is None or any(whole is None or parts is None for whole, parts in split):
        return False
    pairs = [*split, (after, [before[place] for place in _HEADS_FIRST])]
    return all(
        whole is not None
        and parts is not None
        and [*whole] == [*parts[:2], product(parts[2:])]
        and parts[2].number is not None
        for whole, parts in pairs
    )


def _join_heads(op: Any, q: ir.Value, k: ir.Value, v: ir.Value, attended: ir.Value, **values: ir.Value) -> Any:
    node = attended.producer()
    assert node is not None
    heads = [(sizes_of(values[name]) or [Size(0)] * 3)[2].number for name in ("split_q", "split_k")]
    stated = {**node.attributes, "q_num_heads": heads[0], "kv_num_heads": heads[1]}
    return op.Attention(q, k, v, *node.inputs[3:], **stated)


fuse_attention: Pass = Rewrite(
    "fuse_attention", "scaled dot-product and multi-head attention in one node", _fuse_attention, opset=23
)
