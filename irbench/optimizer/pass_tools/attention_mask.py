"""What is added to the scores of an attention: biases, which are moderate, and masks.

:func:`build_mask` makes one mask of all that the scores of an attention meet. What is not kept becomes the lowest
number, half the lowest of its type: a sum with it is that number again, because half its rounding is above any score,
5e30 in float32. So all scores of a row of which nothing is kept are equal, and its keys weigh alike, as in the model.
(With the model's own number, -1e9 for example, the sums would differ as soon as scores reach 32.) ONNX Runtime answers
zeros for a row whose masks are all minus infinity or the lowest number there is; what is added is therefore at least
half that number. The last two axes of the mask are as large as those of the scores: ONNX Runtime does not stretch them.

:func:`drop_key_bias` leaves out the bias of keys, which no weight of attention depends on: a query meets the same
number in the bias of every key, and a Softmax is the same for scores that all are that much larger. A mask must not
hide the number: beside one that is high it would be rounded off, and the scores of a row of which nothing is kept would
be rounded to others. So what is added is moderate, or so low that nothing of any score is left beside it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import reduce
from typing import TYPE_CHECKING

import numpy as np

from irbench.onnx.shapes import set_sizes
from irbench.onnx.sizes import ONE, Size, product, sizes_of
from irbench.onnx.slices import is_part
from irbench.optimizer.pass_tools.attention_chain import AttentionChain, Choice, Met
from irbench.optimizer.pass_tools.edit import MOVING, Inserter, is_node, only_reader, weight
from irbench.spi import Array

if TYPE_CHECKING:
    import onnx_ir as ir

_MODERATE = 1e6
"""The largest bias: far below the low numbers of masks, as scores are."""

_USUAL = 1.0
"""How large results of matrix products and counts are taken to be: as large as scores."""

Sources = Sequence["ir.Value | None"] | None
"""What a value is computed from; ``None`` where nothing is known of it."""


def _is_bias(value: ir.Value | None) -> bool:
    """Whether a tensor holds no low number of a mask.

    It comes from matrix products, constants, and what was an integer: conditions and positions. What constants make of
    these by sums and products is moderate.
    """
    magnitudes: dict[ir.Value | None, float] = {}
    unknown = [value]
    while unknown:
        part = unknown[-1]
        sources = _sources_of_bias(part)
        missing = [source for source in sources or () if source not in magnitudes]
        if not missing:
            magnitudes[part] = _magnitude(
                part, None if sources is None else [magnitudes[input_part] for input_part in sources]
            )
            unknown.pop()
        unknown += missing
    return magnitudes[value] <= _MODERATE


def _magnitude(value: ir.Value | None, sources: Sequence[float] | None) -> float:
    constant, node = weight(value), value.producer() if value is not None else None
    if constant is not None:
        magnitudes = np.abs(constant.astype(np.float64))
        return float(magnitudes.max(initial=0.0)) if np.isfinite(magnitudes).all() else math.inf
    if not sources:
        return math.inf if sources is None else _USUAL
    operation = node.op_type if node is not None else ""
    if node is not None and operation == "Div":
        return sources[0] / _least(node.inputs[1])
    return math.prod(sources) if operation == "Mul" else sum(sources) if operation in ("Add", "Sub") else max(sources)


def _least(divisor: ir.Value | None) -> float:
    """Return the smallest magnitude of a constant, 0 of anything else."""
    constant = weight(divisor)
    return 0.0 if constant is None else float(np.abs(constant.astype(np.float64)).min(initial=math.inf))


def _sources_of_bias(value: ir.Value | None) -> Sources:
    """Return what must be moderate for a value to be; nothing for what is as large as scores are."""
    node = value.producer() if value is not None else None
    if weight(value) is not None or (value is not None and value.dtype is not None and value.dtype.name == "BOOL"):
        return []
    if node is None:
        return [] if _is_counted(value) else None
    if node.domain or node.op_type in ("Pow", "BitShift"):
        return None
    if node.op_type == "Cast":
        return node.inputs if _is_counted(node.inputs[0]) else None
    if node.op_type in MOVING or (node.op_type == "Div" and _least(node.inputs[1]) > 0):
        return node.inputs[:1]
    if node.op_type == "Where":
        return node.inputs[1:]
    if _is_counted(value):
        return [source for source in node.inputs if _is_counted(source)]
    if node.op_type in ("MatMul", "Gemm"):
        return []
    return node.inputs if node.op_type in ("Add", "Sub", "Mul", "Concat") else None


def _is_counted(value: ir.Value | None) -> bool:
    return value is not None and value.dtype is not None and (value.dtype.is_integer() or value.dtype.name == "BOOL")


def _is_finite_mask(value: ir.Value | None) -> bool:
    return _is_taken_from(value, lambda constant: bool(np.isfinite(constant).all()), "Concat")


def _is_taken_from(value: ir.Value | None, accepts: Callable[[Array], bool], joining: str) -> bool:
    unseen = {value}
    seen: set[ir.Value | None] = set()
    while unseen:
        part = unseen.pop()
        constant = weight(part)
        sources = _choices(part, joining) if constant is None else () if accepts(constant) else None
        if sources is None:
            return False
        seen.add(part)
        unseen |= set(sources) - seen
    return True


def _choices(value: ir.Value | None, joining: str) -> Sources:
    """Return the tensors whose elements a tensor is made of; ``None`` where it is computed from them."""
    node = value.producer() if value is not None else None
    if node is None or node.domain:
        return None
    if node.op_type in ("Where", joining):
        return node.inputs[node.op_type == "Where" :]
    return node.inputs[:1] if node.op_type in MOVING else None


def is_maskable(chain: AttentionChain, scores: Sequence[Size]) -> bool:
    """Whether what the scores meet can become one mask that means the same."""
    met = [*chain.added, *(choice.met for choice in chain.choices)]
    if not met:
        return chain.zeroed is None
    if any(_placed(tensor, scores) is None for tensor in met):
        return False
    if chain.choices and not all(_is_bias(addend.value) for addend in chain.added):
        return False  # a choice puts its number in the place of a mask too, which a sum does not
    if len({choice.low for choice in chain.choices}) > 1:
        return False
    return chain.zeroed is None or (len(chain.choices) == 1 and chain.zeroed.is_like(chain.choices[0]))


def build_mask(
    inserter: Inserter, chain: AttentionChain, scores: Sequence[Size], dtype: ir.DataType
) -> ir.Value | None:
    """Return what is added to the scores, or ``None`` where nothing can be put in its place."""
    is_alone = not chain.choices
    addends = [_addend(inserter, met, scores, dtype, is_alone=is_alone) for met in chain.added]
    total, kept = _together(inserter, "Add", addends), _kept(inserter, chain, scores)
    if None in addends or (chain.choices and kept is None):
        return None
    if kept is not None:
        zero, lowest = (inserter.constant(number) for number in (np.zeros((), dtype.numpy()), _lowest(dtype)))
        if (queries := scores[-2].number) is not None:  # the choice then is as large as the scores
            lowest = inserter.constant(np.broadcast_to(_lowest(dtype), (queries, 1)))
        total = inserter.elementwise("Where", kept, total if total is not None else zero, lowest)
    if total is not None and len(sizes_of(total) or ()) not in (2, 4):
        total = _with_four_axes(inserter, total)
    sizes = sizes_of(total)
    return inserter.expand(total, [*sizes[:-2], *scores[-2:]]) if total is not None and sizes is not None else None


def has_zero_rows(chain: AttentionChain) -> bool:
    """Whether the model answers zeros for a row of which no key is kept.

    It does so where it puts zeros for what is not kept, and where it puts them for what is not a number and minus
    infinity may hide every key.
    """
    if chain.zeroed is not None or not chain.guarded:
        return chain.zeroed is not None
    if chain.choices:
        return chain.choices[0].low == -np.inf
    masks = [met for met in chain.added if not _is_bias(met.value)]
    is_finite = len(masks) == 1 and abs(masks[0].factor) <= 1 and _is_finite_mask(masks[0].value)
    return bool(masks) and not is_finite  # two finite masks may add up to minus infinity


def build_row_condition(
    inserter: Inserter, chain: AttentionChain, scores: Sequence[Size], dtype: ir.DataType
) -> ir.Value | None:
    """Return which rows keep any key, with four axes, the last one long, or ``None`` where nothing can say it."""
    kept = _kept(inserter, chain, scores)
    if kept is None:
        addends = [_addend(inserter, met, scores, dtype, is_alone=False) for met in chain.added]
        total = _together(inserter, "Add", addends)
        if total is None or None in addends:
            return None
        kept = inserter.elementwise("Greater", total, inserter.constant(np.asarray(-np.inf, dtype.numpy())))
    whole = _with_four_axes(inserter, kept)
    return None if whole is None else inserter.any_of_last(whole)


def _kept(inserter: Inserter, chain: AttentionChain, scores: Sequence[Size]) -> ir.Value | None:
    """Return what every choice keeps, or ``None`` where there is none or nothing can say it."""
    conditions = [_condition(inserter, choice, scores) for choice in chain.choices]
    return None if None in conditions else _together(inserter, "And", conditions)


def _together(inserter: Inserter, operation: str, values: Sequence[ir.Value | None]) -> ir.Value | None:
    """Return what an operation makes of all values, two by two, or ``None`` where there are none."""
    known = [value for value in values if value is not None]
    return reduce(lambda first, second: inserter.elementwise(operation, first, second), known) if known else None


def _with_four_axes(inserter: Inserter, value: ir.Value) -> ir.Value | None:
    sizes = list(sizes_of(value) or ())
    return inserter.reshape(value, [ONE] * (4 - len(sizes)) + sizes)


def _placed(met: Met, scores: Sequence[Size]) -> tuple[list[Size], list[Size]] | None:
    """Return the sizes a tensor is stretched to, and those that it then gets, to stand beside scores with four axes.

    ``None`` where it does not fit.
    """
    own_sizes, view = sizes_of(met.value), list(met.scores)
    if own_sizes is None or len(view) < 3 or len(own_sizes) > len(view):
        return None
    sizes = [ONE] * (len(view) - len(own_sizes)) + _settled(own_sizes, view)
    if any(size not in (ONE, whole) for size, whole in zip(sizes, view, strict=True)):
        return None
    last, whole = (sizes[-2:], view[-2:]) if not met.turned else (sizes[:-3:-1], view[:-3:-1])
    if whole != list(scores[-2:]):
        return None
    batch, heads = scores[:2]
    for count in range(len(view) - 1):
        if product(view[:count]) == batch and product(view[count:-2]) == heads:
            parts = [_joined(sizes[:count], view[:count]), _joined(sizes[count:-2], view[count:-2])]
            return [*parts[0], *parts[1], *last], [*(product(part) for part in parts), *last]
    leading = _joined(sizes[:-2], view[:-2])  # batch and heads in one axis
    return [*leading, *last], [*([ONE, ONE] if product(leading) == ONE else [batch, heads]), *last]


def _settled(sizes: Sequence[Size], view: Sequence[Size]) -> list[Size]:
    """Return the sizes of a tensor, those of a table that is cut to a dynamic length as long as what they meet."""
    pairs = zip(sizes, view[len(view) - len(sizes) :], strict=True)
    return [whole if is_part(size, whole) else size for size, whole in pairs]


def _joined(sizes: list[Size], view: list[Size]) -> list[Size]:
    """Return the sizes with which axes can be joined: all of them one long, or none that is longer in the scores."""
    return sizes if all(size == ONE for size in sizes) else view


def _beside(inserter: Inserter, met: Met, scores: Sequence[Size]) -> ir.Value | None:
    """Return a tensor whose last two axes are queries and keys, and those before batch and heads, where it has them."""
    placed, sizes = _placed(met, scores), sizes_of(met.value)
    if placed is None or sizes is None:
        return None
    sizes = _settled(sizes, met.scores)
    set_sizes(met.value, sizes)
    if not met.turned and (len(sizes) == 2 or (len(sizes) > 2 and len(met.scores) == len(scores))):
        return met.value
    missing = len(met.scores) - len(sizes)
    value = inserter.reshape(met.value, [ONE] * missing + list(sizes))
    if value is not None and met.turned:
        value = inserter.transpose(value)
    if value is not None:
        value = inserter.expand(value, placed[0])
    return inserter.reshape(value, placed[1]) if value is not None else None


def _condition(inserter: Inserter, choice: Choice, scores: Sequence[Size]) -> ir.Value | None:
    value = _beside(inserter, choice.met, scores)
    return value if value is None or choice.keeps else inserter.elementwise("Not", value)


def _addend(
    inserter: Inserter, met: Met, scores: Sequence[Size], dtype: ir.DataType, *, is_alone: bool
) -> ir.Value | None:
    """Return what is added, as large as it is; where nothing else masks, nothing of it below :func:`_lowest`."""
    value = _beside(inserter, met, scores)
    if value is not None and met.factor != 1:
        value = inserter.elementwise("Mul", value, inserter.constant(np.asarray(met.factor, dtype.numpy())))
    constant = weight(value)
    if value is None or not is_alone or (constant is not None and (constant >= _lowest(dtype)).all()):
        return value
    return value if _is_bias(met.value) else inserter.elementwise("Max", value, inserter.constant(_lowest(dtype)))


def _lowest(dtype: ir.DataType) -> Array:
    return np.asarray(dtype.min / 2, dtype.numpy())


_KEYS, _MASK = 1, 3
_LENGTH = -2
"""The axis of the keys, with three axes as with four."""

_MODERATE_MASK, _LOW_MASK = 1e3, -1e30
_ATTRIBUTES = {"is_causal", "kv_num_heads", "q_num_heads", "scale"}
"""Those that only say what the scores are; a cap on them (``softcap``) is not linear."""


def drop_key_bias(node: ir.Node) -> bool:
    """Let attention read its keys before a constant is added to all of them, if nothing else reads the sum."""
    biased = node.inputs[_KEYS]
    is_plain = set(node.attributes) <= _ATTRIBUTES and len(node.inputs) <= _MASK + 1 and len(node.outputs) == 1
    if biased is None or not is_plain or not is_node(biased, "Add") or only_reader(biased) is not node:
        return False
    keys = _without_bias(biased)
    mask = node.inputs[_MASK] if len(node.inputs) > _MASK else None
    if keys is None or not (mask is None or _is_exact(mask)):
        return False
    node.replace_input_with(_KEYS, keys)
    return True


def _without_bias(biased: ir.Value) -> ir.Value | None:
    total = biased.producer()
    assert total is not None
    for keys, other in (total.inputs, total.inputs[::-1]):
        bias, sizes = weight(other), sizes_of(keys)
        if keys is None or bias is None or not np.isfinite(bias).all() or sizes is None:
            continue
        if sizes == sizes_of(biased) and (bias.ndim < -_LENGTH or bias.shape[_LENGTH] == 1):
            return keys
    return None


def _is_exact(mask: ir.Value) -> bool:
    """Whether scores are the same beside a mask, up to their own rounding, or nothing of them is left."""
    if mask.dtype is not None and mask.dtype.name == "BOOL":
        return True
    return _is_taken_from(mask, _leaves_scores, "Max")


def _leaves_scores(constant: Array) -> bool:
    return bool(((np.abs(constant) <= _MODERATE_MASK) | (constant <= _LOW_MASK)).all())
