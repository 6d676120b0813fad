"""Choose the inputs of a check: those on which the original graph answers something that can be compared."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from irbench.graph_record import InputKind, LeftOut
from irbench.optimizer.check_inputs import Case, arrays_of, edge_kinds, perturbed
from irbench.optimizer.check_sizes import all_ones, one_sample, other_sizes
from irbench.output_check import compare, input_scale, tolerance
from irbench.spec import Feeding, InputSpec
from irbench.spi import Array

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
        base: A size for every dynamic dimension.
        feeding: Seed, constants and samples.
        room_bytes: What expected outputs may need; when they do, no more edges are asked.
    """

    specs: Sequence[InputSpec]
    base: Mapping[str, int]
    dynamic: Sequence[str]
    feeding: Feeding
    precision: str
    room_bytes: int = sys.maxsize

    def arrays(self, case: Case) -> tuple[Array, ...]:
        """Return the logical inputs of a case."""
        return arrays_of(case, self.specs, self.feeding)


@dataclass(frozen=True)
class ExpectedAnswer:
    """What the original graph answers."""

    case: Case
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
    """Return the inputs on which a graph is compared with the original, and what that answers.

    Args:
        question: What is asked.
        answer: Runs the original on logical inputs; it raises where it cannot.

    Raises:
        Exception: What ``answer`` raises for the plain input.
    """
    base, dynamic = question.base, question.dynamic
    plain = _asked(question, answer, Case("given" if question.feeding.samples else "seeded", base))
    other = _first_that_runs(question, answer, (Case("seeded", sizes) for sizes in other_sizes(base, dynamic)))
    sizes = other.case.sizes if other is not None else base
    held_bytes = sum(expected.nbytes for expected in (plain, other) if expected is not None)
    edges, left_out = _edges(question, answer, sizes, question.room_bytes - held_bytes)
    held_bytes += sum(expected.nbytes for expected in edges)
    given = _more_given(question, answer, question.room_bytes - held_bytes)
    ones = [Case("seeded", all_ones(base, dynamic))] if dynamic else []
    smallest = _first_that_runs(question, answer, iter(ones))
    seeded = [expected for expected in (other, smallest) if expected is not None]
    more = (Case("seeded", base, seed) for seed in range(1, _PER_STEP))
    missing = max(0, _PER_STEP - 1 - len(edges) - len(seeded))
    chosen = [*edges, *seeded, *(_asked(question, answer, case) for case, _ in zip(more, range(missing), strict=False))]
    first, rest = chosen[: _PER_STEP - 1], chosen[_PER_STEP - 1 :]
    unvaried = tuple(name for name in dynamic if sizes[name] == base[name])
    return CheckPlan((plain, *first), (*rest, *given), left_out, unvaried)


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
    found: list[ExpectedAnswer] = []
    left_out: dict[InputKind, LeftOut] = {}
    for kind in edge_kinds(question.specs):
        case = Case(kind, one_sample(question.base, question.dynamic) if found else sizes)
        if _equal(question.arrays(case), question.arrays(Case("seeded", case.sizes))):
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
            found.append(expected)
            left_bytes -= expected.nbytes
    return found, left_out


def _more_given(question: Question, answer: Answer, left_bytes: int) -> list[ExpectedAnswer]:
    """Return what is answered to more samples of the user's data, spread over all of them, as far as memory allows."""
    last = len(question.feeding.samples) - 1
    places = sorted({round(step * last / _MOST_GIVEN) for step in range(_MOST_GIVEN + 1)} - {0, -1})
    found: list[ExpectedAnswer] = []
    for place in places:
        if left_bytes < 0:
            break
        expected = _first_that_runs(question, answer, iter([Case("given", question.base, sample=place)]))
        found += [] if expected is None else [expected]
        left_bytes -= 0 if expected is None else expected.nbytes
    return found


def _is_stable(question: Question, answer: Answer, expected: ExpectedAnswer) -> bool:
    """Whether answers do not depend on rounding: a constant row that is normalised is nothing but its errors."""
    shaken = perturbed(question.arrays(expected.case))
    if shaken is None:
        return True
    try:
        error = compare(answer(shaken), expected.outputs, False, expected.scale)
    except Exception:  # noqa: BLE001 - the original fails, or its answer is not finite any more
        return False
    return error.max_rel <= _STABLE_SHARE * tolerance(question.precision)


def _first_that_runs(question: Question, answer: Answer, cases: Iterator[Case]) -> ExpectedAnswer | None:
    for case in cases:
        try:
            expected = _asked(question, answer, case)
        except Exception:  # noqa: BLE001, S112 - each runtime reports in a way of its own that it cannot run a graph
            continue
        if is_finite(expected.outputs):
            return expected
    return None


def _asked(question: Question, answer: Answer, case: Case) -> ExpectedAnswer:
    arrays = question.arrays(case)
    return ExpectedAnswer(case, answer(arrays), input_scale(arrays))


def _equal(arrays: Sequence[Array], others: Sequence[Array]) -> bool:
    return all(np.array_equal(array, other) for array, other in zip(arrays, others, strict=True))
