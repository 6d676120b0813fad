"""Give each row requests as they arrive: launches in random order, each a fresh process that is given all loads."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

from irbench.core.activity import Activity
from irbench.core.record import BlockEvidence, CellLaunch, Failure, LaunchRecord, ServedLoad
from irbench.core.row import LaunchesStop
from irbench.core.serving_row import ServingRow, ServingTable
from irbench.measure.disturbances import snapshot
from irbench.notices import AnyWarn
from irbench.runner.launch import block_evidence
from irbench.runner.plan import by_workload
from irbench.runner.rounds import CellOutcome
from irbench.runner.rows_alone import attempted, leave_absent, require_right, verify_again, warmed_up
from irbench.runner.workers import CellFailed, CellWorker, Setting, setting_of
from irbench.runs.mode_tables import ModeTable, TableTask
from irbench.spec import Cell
from irbench.spec.serving import SAMPLES_OF_QUERY, OfferedLoad, Queueing, ServingPlan
from irbench.stats.intervals import FEWEST_LAUNCHES
from irbench.stats.run_modes.serving import (
    MOST_PROBES,
    Probe,
    answered_per_s,
    apparent_ends,
    calls_alone_miss,
    derive_serving_table,
    loads_by_rate,
    next_rate,
    test_level,
)
from irbench.stats.workload_facts import given_inputs, table_of
from irbench.system import host
from irbench.worker.cell import Response, Warmed

_FEWEST_REQUESTS = 10
_MOST_REQUESTS = 1_000_000
_LONGEST = 10
"""A load is waited for so many times as long as its requests arrive."""
_HARDLY_BUSY = 1 / 8
"""Of the rate at which a row answers requests that are all there: below it, calls are seldom side by side."""
_CAPACITY_SHARE = 0.5
"""How long a search measures how many requests a row answers at most, as a share of a load's time."""


@dataclass
class _Served(CellOutcome):
    """A cell, and its loads of all launches so far.

    Attributes:
        part: Its group among those of the workloads.
    """

    part: int = 0
    loads: list[ServedLoad] = field(default_factory=list[ServedLoad])
    launches: int = 0


class Loads(ModeTable[ServingTable]):
    """Launches the cells of one table in rounds."""

    def __init__(self, task: TableTask) -> None:
        super().__init__(task)
        request = task.request
        assert request.serving is not None
        self._group = task.planned.group
        self._plan: ServingPlan = request.serving
        self._parts = by_workload(task.planned)
        rows = {
            cell.id: _Served(cell, part=place) for place, part in enumerate(self._parts) for cell in part.group.cells
        }
        self._rows = [rows[cell.id] for cell in self._group.cells]
        self._notes = task.planned.notes
        self._settings: list[Setting] = []
        self._launched: list[CellLaunch] = []
        self._blocks: list[BlockEvidence] = []
        self._records: list[LaunchRecord] = []
        is_limited = request.budget_s is not None
        self._rounds = task.rounds(
            request.timing.max_launches if is_limited else FEWEST_LAUNCHES,
            request.timing.budget if is_limited else math.inf,
        )

    def measure(self) -> LaunchesStop:
        """Give every row its loads, in rounds."""
        task = self.task
        leave_absent(self._rows, task.planned.absent)
        self._rounds.say(Activity("expected-outputs"))
        for place, part in enumerate(self._parts):
            scratch = task.scratch / f"part-{place}"
            self._settings.append(setting_of(part, task.request.timing, task.writer.logs, scratch))
        return self._rounds.run(
            lambda: [row for row in self._rows if row.failure is None], self._launch, lambda: self.commit("unfinished")
        )

    def _launch(self, row: _Served) -> None:
        setting = self._settings[row.part]
        notes = attempted(row, lambda: self._attempt(row, setting), setting, may_change=not row.launches)
        self._notes = (*self._notes, *notes)

    def _attempt(self, row: _Served, setting: Setting) -> None:
        self._rounds.say(Activity("compile-and-warm-up", row.cell.label))
        served: list[ServedLoad] = []
        with setting.worker(row.cell) as worker:
            host_class = "irbench.worker.cell_hosts:ServingHost"
            warmed = warmed_up(row, worker, setting, host_class, verifies=not row.launches)
            try:
                self._give(row, worker, warmed, served)
            finally:
                self._keep(row, warmed, served)

    def _give(self, row: _Served, worker: CellWorker, warmed: Warmed, served: list[ServedLoad]) -> None:
        """Give a row its loads; those that ended are in ``served`` also where a later one fails."""
        if self._plan.searches:
            self._search(row, worker, warmed, served)
        for rate in self._rates():
            served += [self._serve(row, worker, self._load(row.cell, rate, warmed))]
        verify_again(row, worker, self._settings[row.part], f"after the loads of launch {row.launches + 1}")

    def _rates(self) -> list[float]:
        """Return the rates of a launch in random order; one that stands for none where requests follow answers."""
        if self._plan.searches:
            return []
        return self._rounds.random.sample(self._plan.rates_per_s, len(self._plan.rates_per_s)) or [0.0]

    def _keep(self, row: _Served, warmed: Warmed, served: Sequence[ServedLoad]) -> None:
        if not served:
            return
        row.loads += served
        row.launches += 1
        self._launched.append(
            CellLaunch(
                cell=row.cell.id,
                streams=row.cell.load.streams,
                calls_per_sample=1,
                rounds=(),
                phases_ns=warmed.phases_ns,
                peak_memory_bytes=warmed.peak_memory_bytes,
                effective=row.effective,
                output_error=row.output_error,
                served=tuple(served),
            )
        )

    def _search(self, row: _Served, worker: CellWorker, warmed: Warmed, served: list[ServedLoad]) -> None:
        """Try rates until the highest that keeps the level is known well enough; later launches confirm its ends."""
        level = self._plan.level
        assert level is not None
        per_s = row.cell.load.batch * 1e9 / warmed.completion_ns
        requests = self._requests(per_s * _CAPACITY_SHARE * self._plan.seconds)
        everybody_waits = Queueing(batch_wait_ms=self._plan.queueing.batch_wait_ms)
        at_once = self._serve(row, worker, OfferedLoad("offline", requests), everybody_waits)
        served.append(at_once)
        capacity_per_s = answered_per_s(at_once)
        if not capacity_per_s:
            raise CellFailed(
                Failure("serve", f"all of {requests:,} requests were refused", "Raise the server's limit.")
            )
        confirmed = self._ends(row)
        for _ in range(MOST_PROBES):
            rate = confirmed.pop() if confirmed else next_rate(self._probes((*row.loads, *served)), capacity_per_s)
            if rate is None:
                break
            served.append(self._serve(row, worker, self._load(row.cell, _rounded(rate), warmed)))
            if rate <= _HARDLY_BUSY * capacity_per_s and calls_alone_miss(served[-1], level):
                break

    def _ends(self, row: _Served) -> list[float]:
        """Return the rates between which a row ceases to keep the level so far, in random order."""
        ends = [rate for rate in apparent_ends(self._probes(row.loads)) if 0 < rate < math.inf]
        self._rounds.random.shuffle(ends)
        return ends

    def _probes(self, loads: Sequence[ServedLoad]) -> list[Probe]:
        level = self._plan.level
        assert level is not None
        own = loads_by_rate(load for load in loads if load.offered.scenario == "server")
        confidence = self.task.request.timing.confidence
        return [Probe(rate, test_level(each, level, confidence), level.percentile) for (_, rate), each in own.items()]

    def _load(self, cell: Cell, rate_per_s: float, warmed: Warmed) -> OfferedLoad:
        """Return a load; that of one rate has the same arrivals for all rows of a round."""
        requests = self._requests((rate_per_s or self._answers_per_s(cell.load.batch, warmed)) * self._plan.seconds)
        if self._plan.scenario == "multistream":
            requests = SAMPLES_OF_QUERY * max(1, requests // SAMPLES_OF_QUERY)
        seed = self.task.request.asked.seed * 1000 + self._rounds.finished
        return OfferedLoad(self._plan.scenario, requests, rate_per_s, seed)

    def _answers_per_s(self, batch: int, warmed: Warmed) -> float:
        """Return about how many requests are answered per second where they follow answers, or are all there."""
        if self._plan.scenario == "single":
            return 1e9 / warmed.call_ns
        together = SAMPLES_OF_QUERY if self._plan.scenario == "multistream" else batch
        return min(together, batch) * 1e9 / warmed.completion_ns

    def _requests(self, wanted: float) -> int:
        return min(_MOST_REQUESTS, max(_FEWEST_REQUESTS, round(wanted)))

    def _serve(
        self, row: _Served, worker: CellWorker, load: OfferedLoad, queueing: Queueing | None = None
    ) -> ServedLoad:
        self._rounds.say(Activity("serve", row.cell.label, block=len(self._blocks) + 1))
        before = snapshot(row.cell.load.cpus)
        # a load that is too much for a row takes as long as the row needs for it, and the fewest requests of a low rate
        # take longer to arrive than those of others
        arrive_s = load.requests / load.rate_per_s if load.rate_per_s else 0.0
        served: ServedLoad = worker.ask(
            "serve",
            "serve",
            load,
            queueing or self._plan.queueing,
            extra_s=_LONGEST * max(self._plan.seconds, arrive_s),
        )
        between = before, snapshot(row.cell.load.cpus)
        self._blocks.append(block_evidence(len(self._blocks), (row.cell.id,), between))
        self._compare(row, worker, load)
        return served

    def _compare(self, row: _Served, worker: CellWorker, load: OfferedLoad) -> None:
        """Compare outputs of a load that has ended."""
        setting = self._settings[row.part]
        if setting.expected.outputs is None:
            return
        responses: tuple[Response, ...] = worker.ask("second answer", "responses", frozenset(row.right))
        requests = f"{load.requests:,}" + (f" at {load.rate_per_s:g}/s" if load.rate_per_s else "")

        def where(response: Response) -> str:
            if response.request is None:
                return f"after {requests} requests in launch {row.launches + 1}"
            return f"at request {response.request + 1:,} of {requests} in launch {row.launches + 1}"

        require_right(row, sorted(responses, key=lambda response: response.request or 0), setting, where)

    def commit(self, stopped_by: LaunchesStop) -> ServingTable:
        """Write what this round served so far, and put the table into the run's document."""
        self._keep_launches()
        return super().commit(stopped_by)

    def _keep_launches(self) -> None:
        if not self._launched:
            return
        processors = len(host.allowance(self.task.request.asked.cpus).cpus)
        record = LaunchRecord(
            self.task.number, len(self._records), tuple(self._launched), {}, tuple(self._blocks), processors=processors
        )
        self._launched, self._blocks = [], []
        self._records.append(record)
        self.task.writer.add_launch(record)

    def table(self, stopped_by: LaunchesStop) -> ServingTable:
        """Return the table, derived from the loads so far."""
        expected = [setting.expected for setting in self._settings]
        warnings: list[AnyWarn] = []
        for own in expected:
            warnings += [warn for warn in own.warnings if warn not in warnings]
        raw = table_of(
            ServingTable,
            self._group.main,
            scenario=self._plan.scenario,
            level=self._plan.level,
            confidence=self.task.request.timing.confidence,
            seconds=self._rounds.watch.elapsed_s,
            rounds=len(self._records),
            group=self.task.number,
            stopped_by=stopped_by,
            rows=tuple(row.row(ServingRow, row.state) for row in self._rows),
            warnings=tuple(warnings),
            notes=self._notes,
            given_inputs=given_inputs(self._group.main.feeding),
            verified_against=expected[0].source if expected else None,
            batch_wait_ms=self._plan.queueing.batch_wait_ms,
        )
        return derive_serving_table(raw, self._records)


def _rounded(rate_per_s: float) -> float:
    """Return a rate with three digits, so that launches meet at the same rates."""
    return float(f"{rate_per_s:.3g}")
