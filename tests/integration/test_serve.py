"""``irbench serve`` through its front door, with scripted backends whose calls take a known time."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import models
import pytest
from front_door import Called, irbench

import irbench as public
from irbench.errors import IrbenchError
from irbench.runner.workers import CellWorker
from irbench.store.runs import load_document, read_launches

pytestmark = [pytest.mark.ci, pytest.mark.usefixtures("known_backends")]


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return models.mlp(tmp_path_factory.mktemp("model")).path


def serve(model: Path, *arguments: object) -> Called:
    called = irbench("serve", model, "--backends", "fake-a", "--set", "fake-a.call_us=5000", *arguments)
    assert called.code == 0, called.err
    return called


def rows(called: Called) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = called.document["serving"][0]["rows"]
    return found


def test_each_rate_is_a_load_whose_latency_includes_waiting(model: Path, tmp_path: Path) -> None:
    called = serve(model, "--rate", "20,160", "--for", "20s", "--format", "json", "--results", tmp_path)
    idle, busy = (row["load"] for row in rows(called))
    assert (idle["rate_per_s"], busy["rate_per_s"]) == (20, 160)
    assert idle["service_p50_ms"] == pytest.approx(5, rel=0.01)
    assert idle["busy_share"] == pytest.approx(0.1, rel=0.2)
    assert busy["mean_ms"] == pytest.approx(5 + 0.8 * 5 / (2 * 0.2), rel=0.2)  # an M/D/1 queue
    again = irbench("show", called.document["run_id"], "--results", tmp_path)
    assert "160" in again.out
    assert irbench("results", "--results", tmp_path).code == 0
    exported = irbench("show", called.document["run_id"], "--results", tmp_path, "--format", "csv")
    assert exported.code == 0, exported.err
    header, *lines = exported.out.splitlines()
    assert "arrival_p99_ms" in header.split(",")
    assert len(lines) == 2


def test_a_call_for_each_request_lasts_as_long_as_asked_whatever_batch_the_model_has(
    model: Path, tmp_path: Path
) -> None:
    called = serve(
        model, "--scenario", "single", "--batch", 8, "--for", "2s", "--format", "json", "--results", tmp_path
    )  # fmt: skip
    (row,) = rows(called)
    assert row["load"]["requests"] == pytest.approx(6 * 2 / 0.005, rel=0.1)


def test_a_run_of_loads_is_exported_and_imported(model: Path, tmp_path: Path) -> None:
    serve(model, "--rate", "50", "--for", "1s", "--budget", "3s", "--results", tmp_path / "here")
    archive = tmp_path / "run.tar.gz"
    assert irbench("results", "export", "latest", "--results", tmp_path / "here", "-o", archive).code == 0
    called = irbench("results", "import", archive, "--results", tmp_path / "there")
    assert called.code == 0, called.err
    assert "requests/s" in irbench("show", "--results", tmp_path / "there").out


def test_a_search_finds_the_highest_rate_that_keeps_the_level(model: Path, tmp_path: Path) -> None:
    called = serve(model, "--slo", "p90<=20ms", "--for", "20s", "--format", "json", "--results", tmp_path)
    (limit,) = called.document["serving"][0]["limits"]
    assert limit["capacity_per_s"] == pytest.approx(200, rel=0.02)
    assert 0.6 * 200 < limit["passes_per_s"] < limit["fails_per_s"] < 200


def test_a_search_tries_no_low_rates_where_calls_alone_take_too_long(model: Path, tmp_path: Path) -> None:
    called = serve(model, "--slo", "p90<=3ms", "--for", "1s", "--format", "json", "--results", tmp_path)
    (limit,) = called.document["serving"][0]["limits"]
    assert limit["passes_per_s"] is None
    assert min(row["load"]["rate_per_s"] for row in rows(called)) > 200 / 16


def test_a_search_with_a_queue_that_refuses_requests_knows_what_the_row_can_answer(model: Path, tmp_path: Path) -> None:
    called = serve(
        model, "--slo", "p90<=20ms", "--queue", 4, "--for", "10s", "--format", "json", "--results", tmp_path
    )  # fmt: skip
    (limit,) = called.document["serving"][0]["limits"]
    assert limit["capacity_per_s"] == pytest.approx(200, rel=0.05)
    assert limit["passes_per_s"] > 60


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="each instance has a processor of its own")
def test_instances_answer_the_requests_of_one_schedule_together(model: Path, tmp_path: Path) -> None:
    called = serve(
        model, "--set", "fake-a.clock=real", "--instances", "1,2", "--rate", "60", "--for", "1s", "--budget", "10s",
        "--cpus", "0,1", "--format", "json", "--results", tmp_path,
    )  # fmt: skip
    single, several = rows(called)
    assert (single["label"], several["label"]) == ("fake-a", "fake-a 2x1")
    assert (single["requested"]["instances"], several["requested"]["instances"]) == (1, 2)
    assert several["load"]["requests"] == single["load"]["requests"] == 60 * called.document["serving"][0]["rounds"]
    assert several["load"]["given_up"] == several["load"]["refused"] == 0
    (folder,) = tmp_path.glob("runs/*/*")
    served = {own.cell: own.served[0] for own in next(read_launches(folder, load_document(folder))).cells}
    one, two = (served[row["id"]] for row in (single, several))
    assert (one.due_ns == two.due_ns).all()
    assert (one.slots, two.slots) == (1, 2)
    assert set(two.slot.tolist()) == {0, 1}


def test_a_load_is_waited_for_as_long_as_its_requests_arrive(
    model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    waited_s: list[float] = []
    ask = CellWorker.ask

    def ask_noting(self: CellWorker, *asked: Any, extra_s: float = 0.0, **others: Any) -> Any:
        waited_s.extend([extra_s] if "serve" in asked else [])
        return ask(self, *asked, extra_s=extra_s, **others)

    monkeypatch.setattr(CellWorker, "ask", ask_noting)
    called = serve(model, "--rate", "0.1", "--for", "1s", "--budget", "1s", "--format", "json", "--results", tmp_path)
    (table,) = called.document["serving"]
    (row,) = table["rows"]
    assert row["load"]["requests"] == 10 * table["rounds"]
    assert min(waited_s) > 10 / 0.1


def test_a_load_that_cannot_be_is_refused_with_what_helps(model: Path) -> None:
    for arguments, words in (
        ((), "--slo"),
        (("--scenario", "offline", "--rate", "10"), "--rate"),
        (("--rate", "none"), "requests per second"),
        (("--slo", "p99<=50"), "unit"),
        (("--slo", "fast"), "p99:50ms"),
        (("--rate", "10", "--batch", "1", "--batch-wait", "5ms"), "--batch 4,8"),
        (("--scenario", "single", "--instances", "1,2"), "--scenario server"),
    ):
        called = irbench("serve", model, "--backends", "fake-a", *arguments)
        assert called.code == 2
        assert words in called.err, arguments


def test_python_gives_the_tables(model: Path, tmp_path: Path) -> None:
    run = public.serve(str(model), backends="fake-a", rate=[50], duration=5, results=tmp_path, progress=None)
    assert [row.load.rate_per_s for row in run.serving[0].rows if row.load] == [50]
    with pytest.raises(IrbenchError):
        public.serve(str(model), backends="fake-a")
