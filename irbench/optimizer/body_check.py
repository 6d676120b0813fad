"""Compare what the branches of If and the bodies of Loop and Scan answer, also where no input leads by itself.

The graph before the first pass and the last one run as traced copies (:mod:`irbench.optimizer.body_trace`), which tell
what was executed. A body that stays unexecuted is sent for: the conditions on the way are replaced in both graphs, if
values of inputs decide them. What only depends on shapes is left to other sizes, because passes may rely on it. Loops
of which data decide the length also run no and one iteration.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol

from irbench.graph_record import UncheckedBody, UncheckedReason
from irbench.optimizer.bodies import Body
from irbench.optimizer.body_trace import UNDIRECTED, Directions
from irbench.optimizer.check_inputs import Case
from irbench.optimizer.check_plan import is_finite
from irbench.spi import Array

_LIMITS: tuple[Literal[0, 1], ...] = (0, 1)


@dataclass(frozen=True)
class Run:
    """What a traced graph answers.

    Attributes:
        counts: How often each body was executed, by its number.
    """

    outputs: Sequence[Array]
    counts: Sequence[int]


class Traced(Protocol):
    """A traced graph that can be asked."""

    def __call__(self, case: Case, directions: Directions, /) -> Run:
        """Return what it answers; raises where it cannot."""
        ...


class Compare(Protocol):
    """Compares the last graph with the first."""

    def __call__(self, case: Case, directions: Directions, outputs: Sequence[Array], /) -> None:
        """Raise where the last graph does not answer ``outputs``."""
        ...


@dataclass(frozen=True)
class BodyReport:
    """Which bodies were compared."""

    executed: int
    unchecked: tuple[UncheckedBody, ...]


def check_bodies(
    bodies: Sequence[Body], kept: frozenset[int], cases: Sequence[Case], original: Traced, check: Compare
) -> BodyReport:
    """Compare all bodies that the last graph still has.

    Args:
        bodies: Those of the graph before the first pass, in the order of their numbers.
        kept: Numbers of those that the last graph has.
        cases: Inputs on which both graphs have been compared; both can run them.
        original: The graph before the first pass.
        check: Compares the last graph with it.

    Raises:
        Exception: What ``check`` raises for a wrong answer.
    """
    work = _BodyCheck(bodies, cases, original, check)
    work.follow()
    wanted = [body for body in bodies if body.number in kept and not body.never]
    missed = [unchecked for body in wanted if (unchecked := work.reach(body)) is not None]
    loops = [body for body in wanted if body.operator == "Loop" and body.data_decides]
    missed += [unchecked for body in loops for limit in _LIMITS if (unchecked := work.limit(body, limit)) is not None]
    return BodyReport(sum(body.number in work.executed for body in wanted), tuple(missed))


@dataclass
class _BodyCheck:
    bodies: Sequence[Body]
    cases: Sequence[Case]
    original: Traced
    check: Compare
    executed: set[int] = field(default_factory=set[int])
    lengths: set[tuple[int, int]] = field(default_factory=set[tuple[int, int]])

    def follow(self) -> None:
        for case in self.cases:
            self._note(self.original(case, UNDIRECTED))

    def reach(self, body: Body) -> UncheckedBody | None:
        """Execute a body if no input leads there, and compare; return what stays unchecked."""
        if body.number in self.executed:
            return None
        reason: UncheckedReason = "not-reached" if body.data_decides else "other-shapes"
        directions = self._way_to(body)
        for case in self.cases if body.data_decides and directions != UNDIRECTED else ():
            run, reason = self._ask(case, directions)
            if run is not None and run.counts[body.number]:
                self.check(case, directions, run.outputs)
                self._note(run)
                return None
        return UncheckedBody(body.operator, body.node, body.part, None, reason)

    def limit(self, body: Body, iterations: Literal[0, 1]) -> UncheckedBody | None:
        """Run a Loop no more than so often, and compare; return what stays unchecked."""
        if body.number not in self.executed or (body.number, iterations) in self.lengths:
            return None
        directions = Directions(self._way_to(body).branches, {body.number: iterations})
        reason: UncheckedReason = "not-reached"
        for case in self.cases:
            run, reason = self._ask(case, directions)
            if run is not None:
                self.check(case, directions, run.outputs)
                return None
        return UncheckedBody(body.operator, body.node, body.part, iterations, reason)

    def _ask(self, case: Case, directions: Directions) -> tuple[Run | None, UncheckedReason]:
        try:
            run = self.original(case, directions)
        except Exception:  # noqa: BLE001 - each runtime reports in a way of its own that it cannot run a graph
            return None, "original-fails"
        return (run, "not-reached") if is_finite(run.outputs) else (None, "not-finite")

    def _way_to(self, body: Body) -> Directions:
        """Return which branches are taken on the way to a body, its own included."""
        way = [self.bodies[number] for number in (*body.outer, body.number)]
        return Directions(frozenset(part.number for part in way if part.operator == "If" and part.data_decides))

    def _note(self, run: Run) -> None:
        self.executed |= {number for number, count in enumerate(run.counts) if count}
        self.lengths |= {(body.number, int(run.counts[body.number])) for body in self.bodies if not body.outer}
