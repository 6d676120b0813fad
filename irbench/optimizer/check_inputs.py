"""Inputs on which a graph is compared with the original: seeded ones, and values at the edges.

Kinds, in all of which constants that the user gave stay:

- ``seeded``: drawn as for a measurement; ``given``: a sample of the user's data
- ``constant-rows``: one drawn value all along the last axis
- ``large``: drawn values times 1000; the largest that integers are drawn from
- ``zeros``: zeros, or the least that integers are drawn from
- ``mask-half``, ``mask-none``, ``mask-ones``: masks keep the first half, nothing, everything

An input is a mask if it is boolean or its spec says so. It is cut along :func:`irbench.feeds.mask_axis`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from irbench.feeds import logical_inputs, mask_axis
from irbench.graph_record import InputKind
from irbench.onnx.reading.element_types import numpy_dtype
from irbench.spec import BATCH, Feeding, InputSpec
from irbench.spi import Array

DRAWN: tuple[InputKind, ...] = ("given", "seeded")
"""Kinds that are not edges."""

_LARGE = 1000.0
_PERTURBATION = 8
"""By how many roundings of its type a value is changed to see whether answers depend on rounding."""


@dataclass(frozen=True)
class Case:
    """One input of a check.

    Attributes:
        sample: Which sample of the user's data, from 0; only for the kind ``given``.
    """

    kind: InputKind
    sizes: Mapping[str, int]
    seed: int = 0
    sample: int = 0


def edge_kinds(specs: Sequence[InputSpec]) -> tuple[InputKind, ...]:
    """Return the kinds of edge values that some inputs can take, what finds most first."""
    masks = [_is_mask(spec) for spec in specs]
    numbers = [not mask and numpy_dtype(spec.tensor.dtype).kind != "O" for mask, spec in zip(masks, specs, strict=True)]
    plain: tuple[InputKind, ...] = ("constant-rows", "large", "zeros") if any(numbers) else ()
    if not any(masks):
        return plain
    return ("mask-half", *plain[:1], "mask-none", *plain[1:], "mask-ones")


def arrays_of(case: Case, specs: Sequence[InputSpec], feeding: Feeding) -> tuple[Array, ...]:
    """Return the logical inputs of a case.

    Args:
        case: What is wanted.
        specs: Logical inputs.
        feeding: Seed, constants, and samples for the kind ``given``.
    """
    if case.kind == "given":
        return logical_inputs(specs, case.sizes, feeding, case.sample)
    drawn = logical_inputs(specs, case.sizes, replace(feeding, seed=feeding.seed + case.seed, samples=()))
    return tuple(
        array if spec.tensor.name in feeding.values else _edge(case.kind, spec, array)
        for spec, array in zip(specs, drawn, strict=True)
    )


def perturbed(arrays: Sequence[Array]) -> tuple[Array, ...] | None:
    """Return inputs that differ by a few roundings; ``None`` where no input is rounded.

    A value is changed by up to eight units of its own rounding; zeros, which have no rounding errors, stay.
    """
    floats = [_is_float(array) and array.size > 0 for array in arrays]
    generator = np.random.default_rng(0)
    if not any(floats):
        return None
    return tuple(_shaken(array, generator) if found else array for array, found in zip(arrays, floats, strict=True))


def _shaken(array: Array, generator: np.random.Generator) -> Array:
    import ml_dtypes

    step = _PERTURBATION * float(ml_dtypes.finfo(array.dtype).eps)  # type: ignore[no-untyped-call]
    shaken = (array * (1 + step * generator.uniform(-1, 1, array.shape))).astype(array.dtype)
    return np.asarray(shaken)  # of an array without axes NumPy makes a number


def _edge(kind: InputKind, spec: InputSpec, drawn: Array) -> Array:
    if _is_mask(spec):
        return _mask(kind, spec, drawn)
    if drawn.dtype.kind == "O" or not drawn.size or kind.startswith("mask"):
        return drawn
    if kind == "constant-rows":
        return np.broadcast_to(drawn[..., :1], drawn.shape).copy() if drawn.ndim else drawn
    if kind in ("zeros", "large"):
        return _filled(kind, spec, drawn)
    return drawn


def _filled(kind: InputKind, spec: InputSpec, drawn: Array) -> Array:
    if _is_float(drawn):
        edge: Array = (drawn * (_LARGE if kind == "large" else 0)).astype(drawn.dtype)
        return edge
    if drawn.dtype.kind == "b":
        return np.full_like(drawn, kind == "large")
    highest = max(int(spec.high), int(spec.low) + 1) - 1
    return np.full_like(drawn, highest if kind == "large" else int(spec.low))


def _mask(kind: InputKind, spec: InputSpec, drawn: Array) -> Array:
    if kind not in ("mask-half", "mask-none", "mask-ones") or drawn.dtype.kind == "O":
        return drawn
    mask = np.full_like(drawn, int(kind != "mask-none"))
    if kind == "mask-half" and drawn.ndim:
        sample = drawn.shape[1:] if spec.tensor.shape[0] == BATCH else drawn.shape
        rows = np.moveaxis(mask, mask_axis(sample), -1)
        rows[..., -(-rows.shape[-1] // 2) :] = 0
    return mask


def _is_mask(spec: InputSpec) -> bool:
    return spec.is_mask or spec.tensor.dtype == "bool"


def _is_float(array: Array) -> bool:
    dtype: np.dtype[Any] = array.dtype
    return dtype.kind == "f" or (dtype.kind == "V" and "float" in dtype.name)
