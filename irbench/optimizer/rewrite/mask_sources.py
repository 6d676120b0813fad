"""What is added to the scores of an attention: biases, which are moderate, or masks, whose numbers may be any."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from irbench.optimizer.rewrite.edit import MOVING, weight

if TYPE_CHECKING:
    import onnx_ir as ir

    from irbench.spi import Array

_MODERATE = 1e6
"""The largest bias: far below the low numbers of masks, as scores are."""

_USUAL = 1.0
"""How large results of matrix products and counts are taken to be: as large as scores."""

Sources = Sequence["ir.Value | None"] | None
"""What a value is computed from; ``None`` where nothing is known of it."""


def is_bias(value: ir.Value | None) -> bool:
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
            magnitudes[part] = _magnitude(part, None if sources is None else [magnitudes[held] for held in sources])
            unknown.pop()
        unknown += missing
    return magnitudes[value] <= _MODERATE


def _magnitude(value: ir.Value | None, sources: Sequence[float] | None) -> float:
    """Return about how large the elements of a value are, whose sources are as large as is given."""
    constant, node = weight(value), value.producer() if value is not None else None
    if constant is not None:
        held = np.abs(constant.astype(np.float64))
        return float(held.max(initial=0.0)) if np.isfinite(held).all() else math.inf
    if not sources:
        return math.inf if sources is None else _USUAL
    operation = node.op_type if node is not None else ""
    return math.prod(sources) if operation == "Mul" else sum(sources) if operation in ("Add", "Sub") else max(sources)


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
    if node.op_type in MOVING:
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


def is_finite_mask(value: ir.Value | None) -> bool:
    """Whether every element of a tensor is one of finite constants."""
    return is_taken_from(value, lambda constant: bool(np.isfinite(constant).all()), "Concat")


def is_taken_from(value: ir.Value | None, accepts: Callable[[Array], bool], joining: str) -> bool:
    """Whether every element of a tensor is one of constants that are all accepted.

    Args:
        value: It.
        accepts: Whether a constant is.
        joining: The operator, besides Where and those that move elements, each of whose results is one of its operands.
    """
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
