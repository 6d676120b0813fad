"""Rows that are measured alone: the rounds in which they are launched, and what becomes of each."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias, TypeVar

from irbench.core.activity import Activity
from irbench.core.record import Failure, OutputError, Stage
from irbench.core.row import Row, State, row_of
from irbench.measure.clock import Stopwatch
from irbench.runner.run_progress import Listener, Progress
from irbench.spec import Cell, Scalar
from irbench.system.signals import signals_deferred


@dataclass
class CellOutcome:
    """A cell and what became of it so far.

    Attributes:
        right: Fingerprints of its outputs that were found right.
    """

    cell: Cell
    effective: Mapping[str, Scalar] = field(default_factory=dict[str, Scalar])
    output_error: OutputError | None = None
    failure: Failure | None = None
    state: State = "interrupted"
    right: set[str] = field(default_factory=set[str])

    def leave(self, failure: Failure, output_error: OutputError | None = None) -> None:
        """Take no further part; what was measured stays."""
        self.failure, self.output_error = failure, output_error or self.output_error
        self.state = state_of(failure)

    def row(self, kind: type[Row], state: State, **figures: Any) -> Row:
        """Return its row of a table, in a state and with figures."""
        what = {"effective": self.effective, "failure": self.failure, "output_error": self.output_error}
        return row_of(kind, self.cell, state=state, **what, **figures)


_STATES: Mapping[Stage, State] = {"verify": "mismatch", "plan": "not-applicable"}


def state_of(failure: Failure) -> State:
    """Return the state of a row that has a failure."""
    return _STATES.get(failure.stage, "failed")


Turn = TypeVar("Turn")
RoundsStop: TypeAlias = Literal["launches", "budget", "failures"]
"""Why no further round began: there were enough, the time was up, or nothing was left that had not failed."""


@dataclass(kw_only=True)
class Rounds:
    """Repeats rounds of launches until there are enough or the time is up, and tells how far they are.

    Attributes:
        most: After how many rounds it ends.
        budget_s: No round begins that would end later, judged by the longest one before; the first always runs.
        listen: Receives progress, between launches only.
        rounds_ahead: How many rounds the time must suffice for where another one begins; more than one where other
            launches follow them.
        batch: The table's, where the run has several; ``None`` otherwise.
        counted: What progress calls a round.
    """

    model: str
    most: int
    budget_s: float
    seed: str
    listen: Listener
    rounds_ahead: int = 1
    batch: int | None = None
    counted: Literal["launch", "round", "row"] = "round"
    watch: Stopwatch = field(default_factory=Stopwatch)
    finished: int = 0
    _longest_s: float = field(default=0.0, init=False)

    def __post_init__(self) -> None:
        self.random = random.Random(self.seed)  # noqa: S311 - order, not secrecy

    def run(
        self, turns: Callable[[], Sequence[Turn]], launch: Callable[[Turn], None], commit: Callable[[], object]
    ) -> RoundsStop:
        """Launch, and return why it ended.

        Args:
            turns: Returns what a round launches, empty where everything has failed.
            launch: Launches one turn, and records its failure.
            commit: Stores what was launched, after each round; no signal interrupts it.
        """
        while (launched := turns()) and self.finished < self.most:
            if self.finished and self.watch.elapsed_s + self.rounds_ahead * self._longest_s > self.budget_s:
                return "budget"
            round_watch = Stopwatch()
            order = list(launched)
            self.random.shuffle(order)
            for turn in order:
                launch(turn)
            self.end(commit)
            self._longest_s = max(self._longest_s, round_watch.elapsed_s)
        return "launches" if launched else "failures"

    def end(self, commit: Callable[[], object]) -> None:
        """Count a round as over, and store it: a launch is told where and only where it is stored."""
        self.finished += 1
        with signals_deferred():
            commit()

    def say(self, activity: Activity) -> None:
        """Tell what begins now."""
        self.listen(
            Progress(
                model=self.model,
                activity=activity,
                launch=min(self.finished + 1, self.most),
                most_launches=self.most,
                elapsed_s=self.watch.elapsed_s,
                budget_s=self.budget_s,
                batch=self.batch,
                counted=self.counted,
            )
        )
