"""``irbench run --counters`` through its front door, with scripted backends and a scripted perf."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import fake_perf
import models
import pytest
from counting_calls import count, figures, install_perf, interrupt
from front_door import irbench

from irbench.features.counters import run as counted

pytestmark = pytest.mark.usefixtures("known_backends")


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return models.mlp(tmp_path_factory.mktemp("model")).path


@pytest.fixture
def perf(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return what installs a scripted perf."""
    return partial(install_perf, tmp_path, monkeypatch)


@pytest.mark.ci
def test_speeds_are_measured_as_always_and_counters_in_launches_of_their_own(model: Path, perf: Any):
    perf()
    called = count(model, "software")
    assert called.code == 0, called.err
    (speeds,), (table,) = called.document["groups"], called.document["counters"]
    assert speeds["cells"][0]["latency_ms"] is not None
    assert (table["table"], table["model"], table["perf_version"]) == (0, speeds["model"], "6.8.12")
    (row,) = table["rows"]
    assert row["id"] == speeds["cells"][0]["id"]
    assert set(row["launches"][0]["phases"]) == {"import", "compile", "warm_up", "inference"}
    assert called.document["complete"]


@pytest.mark.ci
def test_inferences_are_counted_by_the_worker_and_divide_the_counts(model: Path, perf: Any):
    perf()
    called = count(model, "software")
    (row,) = called.document["counters"][0]["rows"]
    made = row["launches"][0]["phases"]["inference"]["inferences"]
    assert made > 5
    found = figures(called)
    assert found["inference", "minor-faults"]["value"] == pytest.approx(480 / made)
    assert found["import", "minor-faults"]["value"] == 480


@pytest.mark.ci
def test_ratios_and_shares_of_slots_are_figures(model: Path, perf: Any):
    perf(events=fake_perf.HARDWARE, metrics={"TopdownL1": fake_perf.TOPDOWN_L1}, trailing_comma=True)
    found = figures(count(model, "topdown,cache,branch"))
    assert found["inference", "ipc"]["value"] == pytest.approx(2.5)
    assert found["inference", "cache_miss_share"]["value"] == pytest.approx(0.25)
    assert found["inference", "branch_miss_share"]["value"] == pytest.approx(0.002)
    assert found["inference", "backend_bound"]["value"] == pytest.approx(0.432)


@pytest.mark.ci
def test_events_that_differ_by_a_modifier_have_figures_of_their_own(model: Path, perf: Any):
    perf(events={**fake_perf.HARDWARE, "cycles:u": 50_000_000})
    found = figures(count(model, "ipc,cycles:u"))
    assert found["import", "cycles"]["value"] == 60_000_000
    assert found["import", "cycles:u"]["value"] == 50_000_000
    assert found["import", "ipc"]["value"] == pytest.approx(2.5)


@pytest.mark.ci
def test_scaled_counts_are_marked_in_the_table(model: Path, perf: Any):
    perf(events=fake_perf.HARDWARE, running={"cycles": 63.0})
    called = count(model, "ipc", form="table")
    assert called.code == 0, called.err
    assert "~2.50" in called.out
    assert "63 % of the time" in called.out


@pytest.mark.ci
def test_what_cannot_be_counted_is_a_row_with_its_reason_beside_what_can(model: Path, perf: Any):
    perf(has_pmu=False)
    called = count(model, "cache,software", form="table")
    assert called.code == 0
    assert "cache" in called.out
    assert "no counters of the processor" in " ".join(called.out.split())
    assert "minor-faults" in called.out


@pytest.mark.ci
@pytest.mark.parametrize(
    ("counters", "script", "told"),
    [
        ("cache", {"has_pmu": False}, "no counters of the processor"),
        ("cycles", {"events": {"cycles": "<not counted>"}}, "never on a counter, although nothing else"),
        ("nonsense", {"refused": {"nonsense": fake_perf.UNKNOWN}}, "perf knows no such event"),
        ("ipc", {"refused": {"cycles": "No permission", "instructions": "No permission"}}, "does not permit"),
        ("software", {"version": "", "says": "perf not found for kernel 6.8"}, "no working perf was found"),
        ("topdown-l2", {}, "no toplev on PATH"),
        ("topdown-l2", {"toplev": True, "toplev_says": "ImportError: no ocperf"}, "toplev failed: ImportError"),
    ],
)
def test_where_nothing_can_be_counted_nothing_is_measured(
    model: Path, perf: Any, tmp_path: Path, counters: str, script: dict[str, Any], told: str
):
    perf(**script)
    called = count(model, counters, "--results", tmp_path / "results")
    assert called.code == 2
    assert told in called.err
    assert "hint" in called.err.casefold() or "\n" in called.err
    assert not list((tmp_path / "results").glob("*/run.json"))


@pytest.mark.ci
def test_a_perf_that_cannot_attach_fails_the_row_of_counters_alone(model: Path, perf: Any):
    perf(dies="Problems finding threads of monitor")
    called = count(model, "software")
    assert called.code == 3
    (row,) = called.document["counters"][0]["rows"]
    assert row["state"] == "failed"
    assert "Problems finding threads" in row["failure"]["message"]
    assert called.document["groups"][0]["cells"][0]["state"] == "ok"


@pytest.mark.parametrize("option", [("--cold",), ("--instances", "2"), ("--shapes", "8,16")])
def test_counters_of_what_they_cannot_be_of_are_refused(model: Path, option: tuple[str, ...]):
    called = irbench("run", model, "--backends", "fake-a", "--counters", "software", *option)
    assert called.code == 2
    assert "--counters" in called.err


@pytest.mark.ci
def test_deeper_levels_come_from_toplev(model: Path, perf: Any):
    perf(toplev=True)
    found = figures(count(model, "topdown-l2"))
    assert found["inference", "Frontend_Bound.Fetch_Latency"]["value"] == pytest.approx(0.125)
    assert found["inference", "Frontend_Bound.Fetch_Latency"]["unit"] == "share"


@pytest.mark.ci
def test_a_toplev_that_fails_later_loses_its_nodes_alone(model: Path, perf: Any):
    perf(toplev=True, toplev_says="ImportError: no ocperf", toplev_lives=1)  # where it is tried
    called = count(model, "software,topdown-l2")
    assert called.code == 0, called.err
    found = figures(called)
    assert found["inference", "minor-faults"]["value"] is not None
    assert ("inference", "Frontend_Bound.Fetch_Latency") not in found
    (row,) = called.document["counters"][0]["rows"]
    assert row["state"] == "ok"
    assert row["launches"][0]["nodes_missing"] == {"code": "toplev-failed", "facts": {"said": "ImportError: no ocperf"}}


@pytest.mark.ci
def test_a_toplev_that_fails_later_with_nothing_else_to_count_fails_the_row(model: Path, perf: Any):
    perf(toplev=True, toplev_says="ImportError: no ocperf", toplev_lives=1)
    called = count(model, "topdown-l2")
    assert called.code == 3
    (row,) = called.document["counters"][0]["rows"]
    assert "toplev cannot count it: ImportError: no ocperf" in row["failure"]["message"]


@pytest.mark.ci
def test_show_csv_and_history_know_runs_with_counters(model: Path, perf: Any, tmp_path: Path):
    perf()
    results = ("--results", tmp_path / "results")
    called = count(model, "software", *results)
    run_id = called.document["run_id"]
    assert irbench("show", run_id, *results, "--format", "json").document == called.document
    csv = irbench("show", run_id, *results, "--format", "csv").out
    assert "counters" in csv.splitlines()[0].split(",")
    assert "minor-faults" in csv
    markdown = irbench("show", run_id, *results, "--format", "md").out
    assert markdown.count("### ") == 2


@pytest.mark.ci
def test_a_run_that_is_interrupted_while_it_counts_keeps_its_speeds_and_goes_on_with_the_counters(
    model: Path, perf: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    perf()
    results = ("--results", tmp_path / "results")
    with monkeypatch.context() as patch:
        patch.setattr(counted, "count_cell", interrupt)
        called = count(model, "software", *results)
    assert called.code == 130
    before = called.document
    assert not before["complete"]
    assert before["counters"][0]["stopped_by"] == "interrupt"
    assert before["counters"][0]["rows"][0]["state"] == "interrupted"
    resumed = irbench("run", "--resume", *results, "--format", "json")
    assert resumed.code == 0, resumed.err
    assert resumed.document["complete"]
    assert resumed.document["groups"] == before["groups"]
    (table,) = resumed.document["counters"]
    assert table["rows"][0]["figures"]


@pytest.mark.ci
def test_the_rows_of_several_tables_are_counted_table_by_table(model: Path, perf: Any):
    perf()
    called = count(model, "software", "--batch", "1,2", "--apart")
    assert [table["table"] for table in called.document["counters"]] == [0, 1]
    assert [table["batch"] for table in called.document["counters"]] == [1, 2]


@pytest.mark.ci
def test_a_row_without_right_answers_is_not_counted(model: Path, perf: Any):
    perf()
    called = count(
        model, "software", "--backends", "fake-a,fake-b", "--set", "fake-b.fault=raise", "--set", "fake-b.at=compile"
    )
    (table,) = called.document["counters"]
    assert [row["backend"] for row in table["rows"]] == ["fake-a"]
