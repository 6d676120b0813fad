"""Judge parts of a graph by speed: two rows race, and the race ends as soon as it is decided."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from irbench.api.progress import Reporter
from irbench.core.address import BackendAddress
from irbench.core.record import LaunchRecord
from irbench.core.row import ENDED_EARLY
from irbench.errors import IrbenchError
from irbench.features.reduce.cutting import GraphPart
from irbench.features.reduce.expectation import SlowerThan
from irbench.features.reduce.judge import GraphDecision, SpeedRule, WholeGraph, facts_of, graph_source, lost_ms
from irbench.features.reduce.report import GraphEvidence
from irbench.features.reduce.search_facts import Tell, WholeExtended
from irbench.measure.lock import MeasurementLock
from irbench.options.run import RunOptions
from irbench.requests.run_requests import planned, requested
from irbench.runner.launch_schedule import UnforeseenEnd
from irbench.runner.plan import PlannedGroup
from irbench.runner.request import RunRequest
from irbench.runs.measurement import measure_planned
from irbench.runs.run_destination import RunDestination
from irbench.spec import Cell, Group, Timing
from irbench.stats.eligibility import Admission, decide_eligibility
from irbench.stats.intervals import Interval, interval_at, looks_of
from irbench.stats.launch_planning import GUESSED_START_S, least_table_s
from irbench.stats.observed import observe
from irbench.stats.speedups import launch_ratios
from irbench.stats.stopping_rule import Next, Pace, forecast_s

TRIAL = Timing(
    min_launches=2,
    max_launches=8,
    blocks=3,
    max_blocks=4,
    min_blocks=3,
    most_blocks=4,
    warm_up=0.15,
    look_calls=0,
    budget=60.0,
)
"""Short launches of one part of a graph: a look after two of them tells ratios apart that differ by tens of per cent.
What the search ends at is measured again."""
CONFIRMATION = Timing(budget=120.0)
"""Of the whole graph, and of the smallest part: as ``irbench run`` measures."""
_SLOWER_THAN_EXPECTED = 2.0


class SpeedJudge:
    """Measures two backends on a graph and on parts of it, until it is decided which is faster.

    Args:
        expected: Which is slower.
        run: What is measured and how; its models and backends are set.
        min_share: Of the time that the whole graph loses, what a part must lose at least.
        lock: Of this machine.
        reporter: Receives the progress of measurements.
        tell: Receives the progress of the search.
        most_s: Time for the whole graph until it has an interval, whatever its share of the budget is.
    """

    def __init__(
        self,
        expected: SlowerThan,
        run: RunOptions,
        min_share: float,
        lock: MeasurementLock,
        reporter: Reporter,
        tell: Tell,
        most_s: float = 0.0,
    ) -> None:
        self._rule = SpeedRule(expected)
        self._run = run
        self._min_share = min_share
        self._lock = lock
        self._reporter = reporter
        self._tell = tell
        self._destination = RunDestination(run.results)
        self._most_s = most_s

    def whole(self, budget_s: float, scratch: Path, /) -> WholeGraph:
        """Measure the whole graph; see :class:`Judge`."""
        request, group = self._planned(self._run, CONFIRMATION, budget_s, scratch, self._reporter)
        cells = self._cells(group)
        source = graph_source(cells[0].artifact, group.group.workload_of(cells[0]))
        share_s = min(CONFIRMATION.budget, budget_s)
        if self._most_s > share_s:
            self._tell(WholeExtended(share_s, self._most_s))
        evidence = self._measured(request, group, scratch, self._destination, self._reporter, self._most_s)
        return WholeGraph(evidence, source, {cell.address: cell.load for cell in cells})

    def part(self, part: GraphPart, budget_s: float, scratch: Path, /) -> GraphEvidence:
        """Measure a part in short launches, which are not stored."""
        silent = Reporter(lambda _line: None, lambda _progress: None)
        request, group = self._planned(self._of(part), TRIAL, min(TRIAL.budget, budget_s), scratch, silent)
        evidence = self._measured(request, group, scratch, RunDestination(scratch / "runs"), silent)
        return replace(evidence, run_id=None)

    def confirm(self, part: GraphPart, budget_s: float, scratch: Path, /) -> GraphEvidence:
        """Measure a part as the whole graph was measured."""
        request, group = self._planned(self._of(part), CONFIRMATION, budget_s, scratch, self._reporter)
        return self._measured(request, group, scratch, self._destination, self._reporter)

    def decide(self, evidence: GraphEvidence, /) -> GraphDecision:
        """Return whether evidence is what was expected; see :class:`Judge`."""
        decision = self._rule.decide(evidence)
        if not self._rule.least_lost_ms and decision.verdict == "shows":
            self._rule = replace(self._rule, least_lost_ms=self._min_share * (lost_ms(evidence) or 0.0))
        return decision

    def _of(self, part: GraphPart) -> RunOptions:
        return replace(self._run, models=(str(part.model),), data=part.data, imports=(), batch=None, shape={}, value={})

    def _planned(
        self, run: RunOptions, timing: Timing, budget_s: float, scratch: Path, reporter: Reporter
    ) -> tuple[RunRequest, PlannedGroup]:
        request = requested(run)
        deadline, by = request.timing.deadline, request.timing.deadline_by
        request = replace(
            request,
            timing=replace(for_interval(timing, budget_s), deadline=deadline, deadline_by=by),
            budget_s=min(timing.budget, budget_s),
            is_part_of="reduce",
        )
        request, groups = planned(request, scratch, reporter.say, reporter.status)
        (group,) = groups
        slow = self._cells(group)[0]
        return request, replace(group, group=replace(group.group, baseline=slow.id))

    def _cells(self, group: PlannedGroup) -> tuple[Cell, Cell]:
        cells = {cell.address: cell for cell in group.group.cells}
        slow, fast = (cells[BackendAddress.parse(name)] for name in self._rule.expected.backends)
        for cell in (slow, fast):
            if cell.id in group.absent:
                failure = group.absent[cell.id]
                raise IrbenchError(f"{cell.label}: {failure.message.rstrip('.')}.", hint=failure.hint or "")
        return slow, fast

    def _measured(
        self,
        request: RunRequest,
        group: PlannedGroup,
        scratch: Path,
        destination: RunDestination,
        reporter: Reporter,
        until_interval_s: float = 0.0,
    ) -> GraphEvidence:
        slow, fast = self._cells(group)
        schedule = UntilSided(slow.id, fast.id, self._rule.expected.factor, until_interval_s)
        stored = measure_planned(request, (group,), scratch, destination, self._lock, reporter, schedule)
        (table,) = stored.document.groups
        if table.stopped_by in ENDED_EARLY:
            raise KeyboardInterrupt
        rows = {row.id: row for row in table.cells}
        is_relative_to_slow = table.baseline == slow.id  # another one is the baseline where its outputs are wrong
        return GraphEvidence(
            backends=(facts_of(rows[slow.id]), facts_of(rows[fast.id])),
            speedup=rows[fast.id].speedup if is_relative_to_slow else None,
            run_id=stored.document.run_id,
        )


def interval_seconds() -> float:
    """Return the least time that :data:`CONFIRMATION` takes until the ratio of two rows has an interval."""
    return least_table_s(2, CONFIRMATION, GUESSED_START_S)


def longest_interval_seconds() -> float:
    """Return how long an interval may take where starts are slow, or other programs run."""
    return _SLOWER_THAN_EXPECTED * interval_seconds()


def for_interval(timing: Timing, budget_s: float) -> Timing:
    """Return a timing whose launches stay short in a small budget, so that there are enough of them for an interval."""
    is_small = timing.min_launches == CONFIRMATION.min_launches and budget_s <= longest_interval_seconds()
    return replace(timing, sized_for=interval_seconds()) if is_small else timing


@dataclass(frozen=True)
class UntilSided(UnforeseenEnd):
    """Ends a table of two rows as soon as the interval of their ratio excludes a factor.

    Attributes:
        slow: Id of the row that is expected to be slower.
        fast: Id of the other one.
        until_interval_s: Time until there are enough launches for an interval, where that is more than the budget:
            without one nothing can be decided.
    """

    slow: str
    fast: str
    factor: float
    until_interval_s: float = 0.0
    measures_all: bool = True

    def following(
        self, group: Group, records: Sequence[LaunchRecord], timing: Timing, admission: Admission, pace: Pace, /
    ) -> Next:
        """Return both rows, or why there is no further launch."""
        both = (self.slow, self.fast)
        if records and set(both) - set(decide_eligibility(group, records, admission).compared):
            return Next(stopped_by="failures")
        ratios = launch_ratios(observe(group, records, timing), self.slow, self.fast)
        if ratios and self._is_sided(interval_at(ratios, looks_of(timing), timing.confidence)):
            return Next(stopped_by="target")
        if len(records) >= timing.max_launches:
            return Next(stopped_by="launches")
        ended_s = pace.elapsed_s + forecast_s(records, pace.launches_s, both, timing) + pace.closing_s
        has_interval = len(ratios) >= timing.min_launches
        limit_s = timing.budget if has_interval else max(timing.budget, self.until_interval_s)
        return Next(stopped_by="budget") if records and ended_s > limit_s else Next(both)

    def _is_sided(self, interval: Interval) -> bool:
        edge = math.log(self.factor)
        return interval.confidence is not None and not interval.low < edge <= interval.high
