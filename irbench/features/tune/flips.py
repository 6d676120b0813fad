"""The flip map of a search: the recommended setting and its rival, measured under other conditions."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from irbench.api.progress import Say
from irbench.core.result import GroupResult
from irbench.errors import IrbenchError
from irbench.features.tune.condition_rows import ConditionRows, condition_rows, surroundings
from irbench.features.tune.flip_map import CONDITION, Pair, conditions, flip_of, pair_under, ranked, share_s
from irbench.features.tune.flip_map_view import condition_text, measuring_flips_text
from irbench.features.tune.options import TuneOptions
from irbench.features.tune.report import Alternative, Condition, Flip, NotMeasured, TunedSetting, TuningReport
from irbench.features.tune.rows import TuningRows
from irbench.features.tune.schedule import with_asked
from irbench.measure.clock import Stopwatch
from irbench.options.run import RunOptions
from irbench.runner.neighbours import NeighbourEnded
from irbench.runner.plan import PlannedGroup
from irbench.runner.request import RunRequest
from irbench.runs.measurement import StoredRun
from irbench.system import host

_SHARE = 0.5
"""Of the budget, what the flip map may take on top of it."""


@dataclass(frozen=True)
class FlipMapMeans:
    """What the conditions of a flip map are measured with.

    Attributes:
        scratch: A folder that is gone after the run.
        measure: Measures a table.
        say: Receives what is measured.
    """

    scratch: Path
    measure: Callable[[RunRequest, PlannedGroup], StoredRun]
    say: Say


def with_flips(
    report: TuningReport, confirmation: GroupResult, options: TuneOptions, rows: TuningRows, means: FlipMapMeans
) -> TuningReport:
    """Return a report with the flip map of the setting that it recommends.

    Args:
        report: What was recommended, and the rows that it was confirmed against.
        confirmation: The table of the confirmation: what a launch of a row takes.
        options: What was searched.
        rows: Of the search.
        means: What is measured with.

    Raises:
        IrbenchError: The store cannot be written.
    """
    run = dataclasses.replace(
        options.run,
        objective=options.objective,
        max_latency=options.max_latency,
    )
    asked = _Asked(run, rows.has_batches, _SHARE * options.budget)
    found = _FlipMap(asked, means, report, _needed_s(confirmation))
    found.measure()
    return dataclasses.replace(report, flips=found.flips, is_flip_map_interrupted=found.is_interrupted)


@dataclass(frozen=True)
class _Asked:
    """What a flip map is to have.

    Attributes:
        run: What was asked of every row of the search.
        has_batches: Whether the model can be run with several batch sizes.
        seconds: How long all tables together may take.
    """

    run: RunOptions
    has_batches: bool
    seconds: float


class _FlipMap:
    """A flip map while it is measured.

    Attributes:
        flips: What is known so far, the nearest condition first.
        is_interrupted: Whether an interrupt ended it.
    """

    def __init__(self, asked: _Asked, means: FlipMapMeans, report: TuningReport, needed_s: float) -> None:
        self.flips: tuple[Flip, ...] = ()
        self.is_interrupted = False
        self._asked = asked
        self._means = means
        self._report = report
        self._cpus = host.allowance(asked.run.cpus).cpus
        self._needed_s = needed_s
        self._used_s = 0.0

    def measure(self) -> None:
        """Measure every condition that there is time for; an interrupt ends it."""
        found = self._conditions()
        self._means.say(measuring_flips_text(len(found), self._asked.seconds))
        for place, (condition, pair) in enumerate(found):
            try:
                flip = self._flip(condition, pair, len(found) - place)
            except KeyboardInterrupt:  # between tables: within one it ends the table
                self.is_interrupted = True
                flip = _unmeasured(condition, pair, "interrupted")
            self.flips = (*self.flips, flip)

    def _conditions(self) -> Sequence[tuple[Condition, Pair]]:
        """Return the conditions with the settings that are compared under each, the nearest first."""
        setting, others = self._report.setting, ranked(self._report)
        if setting is None or not others:
            return ()
        nearest = Pair(setting, _nearest_rival(setting.backend, others))
        around = surroundings(nearest, self._asked.run, has_batches=self._asked.has_batches)
        pairs = (
            (condition, pair_under(condition, setting, others, around.processors))
            for condition in conditions(setting, around)
        )
        return [(condition, pair) for condition, pair in pairs if pair is not None]

    def _flip(self, condition: Condition, pair: Pair, conditions_left: int) -> Flip:
        if self.is_interrupted:
            return _unmeasured(condition, pair, "interrupted")
        left_s = self._asked.seconds - self._used_s
        needed_s = self._needed_s if self._used_s else min(left_s, self._needed_s)
        share = share_s(left_s, conditions_left, needed_s)
        if share is None:
            return _unmeasured(condition, pair, "no-time")
        try:
            planned = condition_rows(
                condition, pair, self._asked.run, self._means.scratch / f"flip-{len(self.flips)}",
                has_batches=self._asked.has_batches,
            )  # fmt: skip
        except IrbenchError as error:
            return _unmeasured(condition, pair, "impossible", error.message)
        return self._measured(condition, pair, planned, share)

    def _measured(self, condition: Condition, pair: Pair, planned: ConditionRows, share: float) -> Flip:
        self._means.say(condition_text(condition))
        watch = Stopwatch()
        try:
            stored = self._means.measure(self._request(condition, planned.request, share), planned.planned)
        except NeighbourEnded as error:
            return _unmeasured(condition, pair, "neighbour-ended", error.message)
        finally:
            self._used_s += watch.elapsed_s
        table = stored.document.groups[0]
        self.is_interrupted = table.stopped_by == "interrupt"
        self._needed_s = _needed_s(table) or self._needed_s
        return flip_of(condition, planned.pair, table, stored.document.run_id)

    def _request(self, condition: Condition, request: RunRequest, share: float) -> RunRequest:
        run, text = self._asked.run, condition_text(condition)
        busy = self._cpus[-1:] if condition.axis == "neighbour" else ()
        timing = dataclasses.replace(with_asked(CONDITION, request.timing), busy_processors=busy)
        origin = f"flip map of {self._report.confirmation_run}: {text}"
        return dataclasses.replace(
            request,
            timing=timing,
            budget_s=share,
            name=f"{run.name} {text}" if run.name else "",
            note="; ".join(filter(None, (run.note, origin))),
        )


def _nearest_rival(backend: str, others: Sequence[Alternative]) -> TunedSetting:
    elsewhere = (other.setting for other in others if other.setting.backend != backend)
    return next(elsewhere, others[0].setting)


def _unmeasured(condition: Condition, pair: Pair, missing: NotMeasured, message: str | None = None) -> Flip:
    return Flip(condition, pair.setting, pair.rival, "not-measured", missing=missing, message=message)


def _needed_s(table: GroupResult) -> float:
    """Return what the launches of an interval of two rows are expected to take, judged by a table."""
    launched = sum(row.launches_measured or 0 for row in table.cells)
    return 2 * CONDITION.min_launches * table.seconds / launched if launched else 0.0
