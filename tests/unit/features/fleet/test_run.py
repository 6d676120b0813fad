"""A fleet counts jobs where jobs end, and tables of the whole plan where tables are shown."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import models
import pytest

pytest.importorskip("distributed")
pytest.importorskip("asyncssh")

from irbench.api.progress import Reporter
from irbench.errors import ExitCode
from irbench.features.fleet import run as running
from irbench.features.fleet import workers
from irbench.features.fleet.journal import JobRecord, read_journal
from irbench.features.fleet.messages import TableOutcome
from irbench.features.fleet.options import FleetOptions
from irbench.features.fleet.problems import TargetProblem
from irbench.features.fleet.run import complete, run_fleet
from irbench.features.plan.reading import read_plan

pytestmark = pytest.mark.usefixtures("own_home")


class Measured:
    """A coordinator in whose place every job that is left is measured."""

    totals: list[tuple[int, int]]

    def __init__(self, fleet: Any, queue: Any, shipments: Any, journal: Any, results: Path, progress: Any) -> None:
        self.queue, self.journal = queue, journal
        self.totals.append((progress.done, progress.total))
        self.prices = {target.name: target.price_per_hour for target in fleet.targets}

    def hear(self, name: str, problem: TargetProblem) -> None: ...

    async def run(self, _: object) -> None:
        for job in self.queue.jobs:
            self.journal.add(JobRecord(job=job.id, pool=job.pool, kind="measured"))
            self.journal.see(job.pool, pool=job.pool, price_per_hour=self.prices[job.pool])


@asynccontextmanager
async def no_cluster(*_: object) -> AsyncIterator[None]:
    yield None


def test_calls_that_measure_parts_of_a_plan_count_in_jobs_and_keep_the_tables_of_the_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    models.mlp(tmp_path)
    curve, table = 'batch = "doubling"\nlargest-batch = 4\n', "batch = 16\n"
    (tmp_path / "plan.toml").write_text(
        "".join(f'[[matrix]]\nmodels = "mlp.onnx"\nbackends = "ort"\n{batches}' for batches in (curve, table))
    )
    monkeypatch.setattr(running, "Coordinator", Measured)
    monkeypatch.setattr(workers, "opened", no_cluster)
    Measured.totals = []
    plan = read_plan(str(tmp_path / "plan.toml"))
    for only, resume in ((("batch=16",), False), ((), True)):
        call = FleetOptions(only=only, resume=resume, results=tmp_path / "results")
        run_fleet(plan, call, Reporter(lambda _: None, lambda _: None))
        journal = read_journal(tmp_path / "results", plan.name)
        assert journal is not None
        assert journal.planned == 4
    assert Measured.totals == [(0, 1), (1, 2)]


def test_what_was_stored_before_is_priced_as_the_targets_are_now(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    models.mlp(tmp_path)
    (tmp_path / "plan.toml").write_text('[[matrix]]\nmodels = "mlp.onnx"\nbackends = "ort"\n')
    monkeypatch.setattr(running, "Coordinator", Measured)
    monkeypatch.setattr(workers, "opened", no_cluster)
    Measured.totals = []
    plan = read_plan(str(tmp_path / "plan.toml"))
    targets = tmp_path / "fleet.toml"
    prices = []
    for price, resume in ((0.5, False), (0.25, True), (0.25, True)):
        targets.write_text(f'[[targets]]\nname = "a"\nprice-per-hour = {price}\n')
        call = FleetOptions(targets=targets, resume=resume, results=tmp_path / "results")
        report, _ = run_fleet(plan, call, Reporter(lambda _: None, lambda _: None))
        prices.append([target.price_per_hour for target in report.overview.targets])
    assert prices == [[0.5], [0.25], [0.25]]


class Leaves(Measured):
    """A coordinator in whose place every job is measured, beside a target that could not measure."""

    async def run(self, _: object) -> None:
        for job in self.queue.jobs:
            tables = (TableOutcome(job.tables[0].id, "01ARZ3NDEKTSV4RRFFQ69G5FAV"),)
            labels = (job.tables[0].label,)
            self.journal.add(JobRecord(job=job.id, pool=job.pool, kind="measured", labels=labels, tables=tables))
        self.journal.see("full", pool="both", problem=TargetProblem(code="unwritable"))


def test_a_target_that_failed_is_the_exit_code_of_its_call_and_not_of_a_later_one_that_finds_everything_measured(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    models.mlp(tmp_path)
    (tmp_path / "plan.toml").write_text('[[matrix]]\nmodels = "mlp.onnx"\nbackends = "ort"\n')
    targets = tmp_path / "fleet.toml"
    both = "".join(f'[[targets]]\nname = "{name}"\npool = "both"\n' for name in ("full", "whole"))
    targets.write_text(f"same-machine = true\n{both}")
    monkeypatch.setattr(running, "Coordinator", Leaves)
    monkeypatch.setattr(workers, "opened", no_cluster)
    Measured.totals = []
    plan = read_plan(str(tmp_path / "plan.toml"))
    codes = []
    for resume in (False, True):
        call = FleetOptions(targets=targets, resume=resume, results=tmp_path / "results")
        report, _ = run_fleet(plan, call, Reporter(lambda _: None, lambda _: None))
        codes.append(report.exit_code)
    assert codes == [ExitCode.FAILED_CELL, ExitCode.OK]


def test_work_beside_a_running_event_loop_returns_its_result():
    async def work() -> int:
        return 42

    async def in_a_notebook() -> int:
        return complete(work())

    assert asyncio.run(in_a_notebook()) == 42
