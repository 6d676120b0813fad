"""Rounds of launches: in each, everything that has not failed is launched once, in random order."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias, TypeVar

from irbench.core.activity import Activity
from irbench.measure.clock import Stopwatch
from irbench.runner.progress import Listener, Progress
from irbench.runner.signals import signals_deferred

Turn = TypeVar("Turn")
RoundsStop: TypeAlias = Literal["launches", "budget", "failures"]
"""Why no further round began: there were enough, the time was up, or nothing was left that had not failed."""


@dataclass(kw_only=True)
class Rounds:
    """Repeats rounds of launches until there are enough or the time is up, and tells how far they are.

    Attributes:
        model: What is launched.
        most: After how many rounds it ends.
        budget_s: No round begins that would end later, judged by the longest one before; the first always runs.
        seed: Of the order within a round.
        listen: Receives progress, between launches only.
        rounds_ahead: How many rounds the time must suffice for where another one begins; more than one where other
            launches follow them.
        batch: The table's, where the run has several; ``None`` otherwise.
        counted: What progress calls a round.
        watch: Runs since the table began.
        finished: How many are over.
    """

    model: str
    most: int
    budget_s: float
    seed: str
    listen: Listener
    rounds_ahead: int = 1
    batch: int | None = None
    counted: Literal["launch", "round"] = "round"
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
