"""Judge parts of a graph by speed: two rows race, and the race ends as soon as it is decided."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from irbench.api.progress import Reporter
from irbench.core.address import BackendAddress
from irbench.core.result import GroupResult
from irbench.errors import IrbenchError
from irbench.features.reduce.cutting import Part
from irbench.features.reduce.decision import Decision, SpeedRule, lost_ms
from irbench.features.reduce.judge import WholeGraph, facts_of, graph_source
from irbench.features.reduce.progress_view import until_interval_text
from irbench.features.reduce.report import Evidence
from irbench.features.reduce.schedule import CONFIRMATION, TRIAL, UntilSided, for_interval
from irbench.measure.lock import MeasurementLock
from irbench.options.expectation import SlowerThan
from irbench.options.run import RunOptions
from irbench.requests.run_requests import planned, requested
from irbench.runner.plan import PlannedGroup
from irbench.runner.request import RunRequest
from irbench.runs.measurement import measure_planned
from irbench.runs.run_destination import RunDestination
from irbench.spec import Cell, Timing


class SpeedJudge:
    """Measures two backends on a graph and on parts of it.

    Args:
        expected: Which is slower.
        run: What is measured and how; its models and backends are set.
        min_share: Of the time that the whole graph loses, what a part must lose at least.
        lock: Our place among those who measure on this machine.
        reporter: Receives progress.
        most_s: What the whole graph may take until it has an interval, whatever its share of the time is.
    """

    def __init__(
        self,
        expected: SlowerThan,
        run: RunOptions,
        min_share: float,
        lock: MeasurementLock,
        reporter: Reporter,
        most_s: float = 0.0,
    ) -> None:
        self._rule = SpeedRule(expected)
        self._run = run
        self._min_share = min_share
        self._lock = lock
        self._reporter = reporter
        self._most_s = most_s

    def whole(self, budget_s: float, scratch: Path, /) -> WholeGraph:
        """Measure the whole graph; see :class:`Judge`."""
        request, group = self._planned(self._run, CONFIRMATION, budget_s, scratch, self._reporter)
        cells = self._cells(group)
        source = graph_source(cells[0].artifact, group.group.workload_of(cells[0]))
        share_s = min(CONFIRMATION.budget, budget_s)
        if self._most_s > share_s:
            self._reporter.say(until_interval_text(share_s, self._most_s))
        place = RunDestination(self._run.results)
        evidence = self._measured(request, group, scratch, place, self._reporter, until_interval_s=self._most_s)
        return WholeGraph(evidence, source, {cell.address: cell.load for cell in cells})

    def part(self, part: Part, budget_s: float, scratch: Path, /) -> Evidence:
        """Measure a part in short launches, which are not stored."""
        silent = Reporter(lambda _line: None, lambda _progress: None)
        request, group = self._planned(self._of(part), TRIAL, min(TRIAL.budget, budget_s), scratch, silent)
        evidence = self._measured(request, group, scratch, RunDestination(scratch / "runs"), silent)
        return replace(evidence, run_id=None)

    def confirm(self, part: Part, budget_s: float, scratch: Path, /) -> Evidence:
        """Measure a part as the whole graph was measured."""
        run = self._of(part)
        request, group = self._planned(run, CONFIRMATION, budget_s, scratch, self._reporter)
        return self._measured(request, group, scratch, RunDestination(self._run.results), self._reporter)

    def decide(self, evidence: Evidence, /) -> Decision:
        """Return whether evidence is what was expected; see :class:`Judge`."""
        decision = self._rule.decide(evidence)
        if not self._rule.least_lost_ms and decision.verdict == "shows":
            self._rule = replace(self._rule, least_lost_ms=self._min_share * (lost_ms(evidence) or 0.0))
        return decision

    def _of(self, part: Part) -> RunOptions:
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
        request, groups = planned(request, run, scratch, reporter.say, reporter.status)
        (group,) = groups
        slow = self._cells(group)[0]
        return request, replace(group, group=replace(group.group, baseline=slow.id))

    def _cells(self, group: PlannedGroup) -> tuple[Cell, Cell]:
        """Return the row that is expected to be slower, and the other one."""
        found = {cell.address: cell for cell in group.group.cells}
        slow, fast = (found[BackendAddress.parse(name)] for name in self._rule.expected.backends)
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
        place: RunDestination,
        reporter: Reporter,
        until_interval_s: float = 0.0,
    ) -> Evidence:
        slow, fast = self._cells(group)
        schedule = UntilSided(slow.id, fast.id, self._rule.expected.factor, until_interval_s)
        stored = measure_planned(request, (group,), scratch, place, self._lock, reporter, schedule)
        (table,) = stored.document.groups
        if table.stopped_by == "interrupt":
            raise KeyboardInterrupt
        return _evidence(table, slow, fast, stored.document.run_id)


def _evidence(table: GroupResult, slow: Cell, fast: Cell, run_id: str) -> Evidence:
    rows = {row.id: row for row in table.cells}
    is_relative_to_slow = table.baseline == slow.id  # another one is the baseline where it has no right answers
    return Evidence(
        backends=(facts_of(rows[slow.id]), facts_of(rows[fast.id])),
        speedup=rows[fast.id].speedup if is_relative_to_slow else None,
        run_id=run_id,
    )
