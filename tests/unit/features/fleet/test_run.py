"""A fleet counts jobs where jobs end, and tables of the whole plan where tables are shown."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import models
import pytest

pytest.importorskip("distributed")
pytest.importorskip("asyncssh")

from irbench.api.progress import Reporter
from irbench.features.fleet import coordinator, opening
from irbench.features.fleet.journal import JobRecord, read_journal
from irbench.features.fleet.options import FleetOptions
from irbench.features.fleet.run import run_fleet
from irbench.features.plan.reading import read_plan

pytestmark = pytest.mark.usefixtures("own_home")


class Measured:
    """A coordinator in whose place every job that is left is measured."""

    totals: list[tuple[int, int]]

    def __init__(self, fleet: Any, queue: Any, shipments: Any, journal: Any, results: Path, progress: Any) -> None:
        self.queue, self.journal = queue, journal
        self.totals.append((progress.done, progress.total))

    async def run(self, _: object) -> None:
        for job in self.queue.jobs:
            self.journal.add(JobRecord(job=job.id, pool=job.pool, kind="measured"))


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
    monkeypatch.setattr(coordinator, "Coordinator", Measured)
    monkeypatch.setattr(opening, "opened", no_cluster)
    Measured.totals = []
    plan = read_plan(str(tmp_path / "plan.toml"))
    for only, resume in ((("batch=16",), False), ((), True)):
        call = FleetOptions(only=only, resume=resume, results=tmp_path / "results")
        run_fleet(plan, call, Reporter(lambda _: None, lambda _: None))
        journal = read_journal(tmp_path / "results", plan.name)
        assert journal is not None
        assert journal.planned == 4
    assert Measured.totals == [(0, 1), (1, 2)]
