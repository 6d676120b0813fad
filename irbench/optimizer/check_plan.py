"""The inputs of a check, on which a graph is compared with the original, and how they are chosen.

Kinds of inputs, in all of which constants that the user gave stay:

- ``seeded``: drawn as for a measurement; ``given``: a sample of the user's data
- ``constant-rows``: one drawn value all along the last axis
- ``large``: drawn values times 1000; the largest that integers are drawn from
- ``zeros``: zeros, or the least that integers are drawn from
- ``mask-half``, ``mask-none``, ``mask-ones``: masks keep half, nothing, everything. Half is the first half of
  one sample and the last of the next: padding stands behind tokens and before them, whatever a mask's ones mean

An input is a mask if it is boolean or its spec says so. It is cut along :func:`irbench.core.feeds.mask_axis`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from irbench.core.feeds import logical_inputs, mask_axis
from irbench.core.graph_record import InputKind, LeftOut
from irbench.core.output_check import compare, input_scale, tolerance
from irbench.onnx.reading.element_types import numpy_dtype
from irbench.optimizer.check_sizes import all_ones, one_sample, other_sizes
from irbench.spec import BATCH, Feeding, InputSpec
from irbench.spi import Array

DRAWN: tuple[InputKind, ...] = ("given", "seeded")
"""Kinds that are not edges."""

_LARGE = 1000.0
_PERTURBATION = 8
"""By how many roundings of its type a value is changed to see whether answers depend on rounding."""


@dataclass(frozen=True)
class CheckCase:
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


def arrays_of(case: CheckCase, specs: Sequence[InputSpec], feeding: Feeding) -> tuple[Array, ...]:
    """Return the logical inputs of a case."""
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
    return tuple(
        _shaken(array, generator) if is_float else array for array, is_float in zip(arrays, floats, strict=True)
    )


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
        has_batch = spec.tensor.shape[0] == BATCH
        axis = mask_axis(drawn.shape[1:] if has_batch else drawn.shape)
        rows = np.moveaxis(mask, axis, -1)
        rows[..., -(-rows.shape[-1] // 2) :] = 0
        if has_batch:
            mask[1::2] = np.flip(mask[1::2], axis)
    return (1 - mask).astype(mask.dtype) if spec.marks_padding else mask


def _is_mask(spec: InputSpec) -> bool:
    return spec.is_mask or spec.tensor.dtype == "bool"


def _is_float(array: Array) -> bool:
    dtype: np.dtype[Any] = array.dtype
    return dtype.kind == "f" or (dtype.kind == "V" and "float" in dtype.name)


_PER_STEP = 3
_MOST_GIVEN = 8
"""Samples of the user's data on which the last graph is compared, beside the first one."""
_STABLE_SHARE = 0.1
"""Of the tolerance, how much answers may change by when inputs change by a few roundings."""

Answer = Callable[[Sequence[Array]], Sequence[Array]]


@dataclass(frozen=True)
class Question:
    """What is asked of the original graph.

    Attributes:
        room_bytes: What expected outputs may need; when they do, no more edges are asked.
    """

    specs: Sequence[InputSpec]
    base: Mapping[str, int]
    dynamic: Sequence[str]
    feeding: Feeding
    precision: str
    room_bytes: int = sys.maxsize

    def arrays(self, case: CheckCase) -> tuple[Array, ...]:
        """Return the logical inputs of a case."""
        return arrays_of(case, self.specs, self.feeding)


@dataclass(frozen=True)
class ExpectedAnswer:
    """What the original graph answers."""

    case: CheckCase
    outputs: Sequence[Array]
    scale: float

    @property
    def nbytes(self) -> int:
        """What the outputs need in memory, without sequences."""
        return sum(output.nbytes for output in self.outputs if not isinstance(output, list))


@dataclass(frozen=True)
class CheckPlan:
    """The inputs of a check.

    Attributes:
        each_step: At least three, for the graph after each step; the first is the plain one.
        unvaried: Dynamic dimensions of which the graph runs at no other size that was tried.
    """

    each_step: tuple[ExpectedAnswer, ...]
    at_the_end: tuple[ExpectedAnswer, ...]
    left_out: Mapping[InputKind, LeftOut]
    unvaried: tuple[str, ...]


def plan_check(question: Question, answer: Answer) -> CheckPlan:
    """Return the inputs on which a graph is compared with the original, and what that answers."""
    base, dynamic = question.base, question.dynamic
    plain = _asked(question, answer, CheckCase("given" if question.feeding.samples else "seeded", base))
    other = _first_that_runs(question, answer, (CheckCase("seeded", sizes) for sizes in other_sizes(base, dynamic)))
    sizes = other.case.sizes if other is not None else base
    held_bytes = sum(expected.nbytes for expected in (plain, other) if expected is not None)
    edges, left_out = _edges(question, answer, sizes, question.room_bytes - held_bytes)
    held_bytes += sum(expected.nbytes for expected in edges)
    samples = _more_given(question, answer, question.room_bytes - held_bytes)
    ones = [CheckCase("seeded", all_ones(base, dynamic))] if dynamic else []
    smallest = _first_that_runs(question, answer, iter(ones))
    seeded = [expected for expected in (other, smallest) if expected is not None]
    more = (CheckCase("seeded", base, seed) for seed in range(1, _PER_STEP))
    missing = max(0, _PER_STEP - 1 - len(edges) - len(seeded))
    chosen = [*edges, *seeded, *(_asked(question, answer, case) for case, _ in zip(more, range(missing), strict=False))]
    first, rest = chosen[: _PER_STEP - 1], chosen[_PER_STEP - 1 :]
    unvaried = tuple(name for name in dynamic if sizes[name] == base[name])
    return CheckPlan((plain, *first), (*rest, *samples), left_out, unvaried)


def is_finite(outputs: Sequence[Array]) -> bool:
    """Whether no number of some outputs is infinite or NaN; sequences, strings and integers have none."""
    return all(
        isinstance(output, list) or output.dtype.kind not in "fcV" or bool(np.isfinite(output).all())
        for output in outputs
    )


def _edges(
    question: Question, answer: Answer, sizes: Mapping[str, int], left_bytes: int
) -> tuple[list[ExpectedAnswer], dict[InputKind, LeftOut]]:
    """Return what is answered to values at the edges, the first at ``sizes`` and the others for one sample."""
    answers: list[ExpectedAnswer] = []
    left_out: dict[InputKind, LeftOut] = {}
    for kind in edge_kinds(question.specs):
        case = CheckCase(kind, one_sample(question.base, question.dynamic) if answers else sizes)
        if _equal(question.arrays(case), question.arrays(CheckCase("seeded", case.sizes))):
            continue
        if left_bytes < 0:
            left_out[kind] = "too-large"
            continue
        try:
            expected = _asked(question, answer, case)
        except Exception:  # noqa: BLE001 - each runtime reports in a way of its own that it cannot run a graph
            left_out[kind] = "fails"
            continue
        if not is_finite(expected.outputs):
            left_out[kind] = "not-finite"
        elif not _is_stable(question, answer, expected):
            left_out[kind] = "unstable"
        else:
            answers.append(expected)
            left_bytes -= expected.nbytes
    return answers, left_out


def _more_given(question: Question, answer: Answer, left_bytes: int) -> list[ExpectedAnswer]:
    """Return what is answered to more samples of the user's data, spread over all of them, as far as memory allows."""
    last = len(question.feeding.samples) - 1
    places = sorted({round(step * last / _MOST_GIVEN) for step in range(_MOST_GIVEN + 1)} - {0, -1})
    answers: list[ExpectedAnswer] = []
    for place in places:
        if left_bytes < 0:
            break
        expected = _first_that_runs(question, answer, iter([CheckCase("given", question.base, sample=place)]))
        answers += [] if expected is None else [expected]
        left_bytes -= 0 if expected is None else expected.nbytes
    return answers


def _is_stable(question: Question, answer: Answer, expected: ExpectedAnswer) -> bool:
    """Whether answers do not depend on rounding: a constant row that is normalised contains only its errors."""
    shaken = perturbed(question.arrays(expected.case))
    if shaken is None:
        return True
    try:
        error = compare(answer(shaken), expected.outputs, (), expected.scale)
    except Exception:  # noqa: BLE001 - the original fails, or its answer is not finite any more
        return False
    return error.max_rel <= _STABLE_SHARE * tolerance(question.precision)


def _first_that_runs(question: Question, answer: Answer, cases: Iterator[CheckCase]) -> ExpectedAnswer | None:
    for case in cases:
        try:
            expected = _asked(question, answer, case)
        except Exception:  # noqa: BLE001, S112 - each runtime reports in a way of its own that it cannot run a graph
            continue
        if is_finite(expected.outputs):
            return expected
    return None


def _asked(question: Question, answer: Answer, case: CheckCase) -> ExpectedAnswer:
    arrays = question.arrays(case)
    return ExpectedAnswer(case, answer(arrays), input_scale(arrays))


def _equal(arrays: Sequence[Array], others: Sequence[Array]) -> bool:
    return all(np.array_equal(array, other) for array, other in zip(arrays, others, strict=True))
