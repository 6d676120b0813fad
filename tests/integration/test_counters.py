"""``irbench run --counters`` through its front door, with scripted backends and a scripted perf."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import fake_perf
import models
import pytest
from fake_runs import FASTEST
from front_door import Called, irbench

from irbench.counters import Processor
from irbench.measure import counter_support
from irbench.runner import counted

TIME_FOR_TIMELINES = ("--budget", "20s")
"""Enough for a few launches of a small model that no test waits for."""

pytestmark = pytest.mark.usefixtures("known_backends")


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return models.mlp(tmp_path_factory.mktemp("model")).path


@pytest.fixture
def perf(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return what installs a scripted perf, on a processor with counters unless told otherwise."""

    def install(*, has_pmu: bool = True, toplev: bool = False, **script: Any) -> Path:
        monkeypatch.setattr(counter_support, "read_processor", lambda: Processor(has_pmu=has_pmu))
        return fake_perf.install(tmp_path / "perf", script, monkeypatch, toplev=toplev)

    return install


def run(model: Path, counters: str, *arguments: object, form: str = "json") -> Called:
    return irbench(
        "run", model, "--backends", "fake-a", "--counters", counters, "--format", form, *FASTEST, *arguments
    )  # fmt: skip


def figures(called: Called) -> dict[tuple[str, str], dict[str, Any]]:
    (table,) = called.document["counters"]
    (row,) = table["rows"]
    return {(figure["phase"], figure["name"]): figure for figure in row["figures"]}


def test_speeds_are_measured_as_always_and_counters_in_launches_of_their_own(model: Path, perf: Any):
    perf()
    called = run(model, "software")
    assert called.code == 0, called.err
    (speeds,), (table,) = called.document["groups"], called.document["counters"]
    assert speeds["cells"][0]["latency_ms"] is not None
    assert (table["table"], table["model"], table["perf_version"]) == (0, speeds["model"], "6.8.12")
    (row,) = table["rows"]
    assert row["id"] == speeds["cells"][0]["id"]
    assert set(row["launches"][0]["phases"]) == {"import", "compile", "warm_up", "inference"}
    assert called.document["complete"]


def test_inferences_are_counted_by_the_worker_and_divide_the_counts(model: Path, perf: Any):
    perf()
    called = run(model, "software")
    (row,) = called.document["counters"][0]["rows"]
    made = row["launches"][0]["phases"]["inference"]["inferences"]
    assert made > 5
    found = figures(called)
    assert found["inference", "minor-faults"]["value"] == pytest.approx(480 / made)
    assert found["import", "minor-faults"]["value"] == 480


def test_ratios_and_shares_of_slots_are_figures(model: Path, perf: Any):
    perf(events=fake_perf.HARDWARE, metrics={"TopdownL1": fake_perf.TOPDOWN_L1}, trailing_comma=True)
    found = figures(run(model, "topdown,cache,branch"))
    assert found["inference", "ipc"]["value"] == pytest.approx(2.5)
    assert found["inference", "cache_miss_share"]["value"] == pytest.approx(0.25)
    assert found["inference", "branch_miss_share"]["value"] == pytest.approx(0.002)
    assert found["inference", "backend_bound"]["value"] == pytest.approx(0.432)


def test_events_that_differ_by_a_modifier_have_figures_of_their_own(model: Path, perf: Any):
    perf(events={**fake_perf.HARDWARE, "cycles:u": 50_000_000})
    found = figures(run(model, "ipc,cycles:u"))
    assert found["import", "cycles"]["value"] == 60_000_000
    assert found["import", "cycles:u"]["value"] == 50_000_000
    assert found["import", "ipc"]["value"] == pytest.approx(2.5)


def test_a_raw_event_and_one_with_a_name_of_its_own_are_counted_in_user_space_too(model: Path, perf: Any):
    perf(events={"cpu/event=0xc0/": 7, "foo": 8}, user_only=True)
    called = run(model, "cpu/event=0xc0/,cpu/event=0x3c,name=foo/", "--timeline", "100ms", *TIME_FOR_TIMELINES)
    found = figures(called)
    assert found["import", "cpu/event=0xc0/"]["value"] == 7
    assert found["import", "cpu/event=0x3c,name=foo/"]["value"] == 8
    (row,) = called.document["counters"][0]["rows"]
    assert row["timeline"][-1]["counts"]["cpu/event=0x3c,name=foo/"] == [8.0, 8.0]


def test_scaled_counts_are_marked_in_the_table(model: Path, perf: Any):
    perf(events=fake_perf.HARDWARE, running={"cycles": 63.0})
    called = run(model, "ipc", form="table")
    assert called.code == 0, called.err
    assert "~2.50" in called.out
    assert "63 % of the time" in called.out


def test_what_cannot_be_counted_is_a_row_with_its_reason_beside_what_can(model: Path, perf: Any):
    perf(has_pmu=False)
    called = run(model, "cache,software", form="table")
    assert called.code == 0
    assert "cache" in called.out
    assert "no counters of the processor" in " ".join(called.out.split())
    assert "minor-faults" in called.out


@pytest.mark.parametrize(
    ("counters", "script", "told"),
    [
        ("cache", {"has_pmu": False}, "no counters of the processor"),
        ("cycles", {"events": {"cycles": "<not counted>"}}, "never on a counter, although nothing else"),
        ("nonsense", {"refused": {"nonsense": fake_perf.UNKNOWN}}, "perf knows no such event"),
        ("ipc", {"refused": {"cycles": "No permission", "instructions": "No permission"}}, "does not permit"),
        ("software", {"version": "", "says": "perf not found for kernel 6.8"}, "there is no perf"),
        ("topdown-l2", {}, "no toplev on PATH"),
        ("topdown-l2", {"toplev": True, "toplev_says": "ImportError: no ocperf"}, "toplev failed: ImportError"),
    ],
)
def test_where_nothing_can_be_counted_nothing_is_measured(
    model: Path, perf: Any, tmp_path: Path, counters: str, script: dict[str, Any], told: str
):
    perf(**script)
    called = run(model, counters, "--results", tmp_path / "results")
    assert called.code == 2
    assert told in called.err
    assert "hint" in called.err.casefold() or "\n" in called.err
    assert not list((tmp_path / "results").glob("*/run.json"))


def test_a_perf_that_cannot_attach_fails_the_row_of_counters_alone(model: Path, perf: Any):
    perf(dies="Problems finding threads of monitor")
    called = run(model, "software")
    assert called.code == 3
    (row,) = called.document["counters"][0]["rows"]
    assert row["state"] == "failed"
    assert "Problems finding threads" in row["failure"]["message"]
    assert called.document["groups"][0]["cells"][0]["state"] == "ok"


def test_a_timeline_is_of_a_launch_of_its_own(model: Path, perf: Any):
    calls = perf()
    called = run(model, "software", "--timeline", "100ms", *TIME_FOR_TIMELINES)
    (row,) = called.document["counters"][0]["rows"]
    assert [phase["phase"] for phase in row["timeline"]] == ["import", "compile", "warm_up", "inference"]
    inference = row["timeline"][-1]
    assert inference["step_s"] == pytest.approx([0.100123, 0.100123])
    assert inference["counts"]["task-clock"] == [20.0, 20.0]
    assert sum("-I 100" in line for line in calls.read_text().splitlines()) == 4


def test_a_timeline_that_fails_has_its_reason_and_its_row_keeps_the_counts(model: Path, perf: Any):
    perf(dies_in_steps="Problems finding threads of monitor")
    called = run(model, "software", "--timeline", "100ms", *TIME_FOR_TIMELINES)
    assert called.code == 0, called.err
    (row,) = called.document["counters"][0]["rows"]
    assert row["state"] == "ok"
    assert row["failure"] is None
    assert figures(called)["inference", "minor-faults"]["value"] is not None
    assert "Problems finding threads" in row["timeline_failure"]["message"]
    assert row["timeline"] == []


def test_timelines_do_not_exceed_the_budget(model: Path, perf: Any):
    calls = perf()
    called = run(model, "software", "--timeline", "100ms")
    (table,) = called.document["counters"]
    assert table["timelines_stopped_by"] == "budget"
    assert table["rows"][0]["state"] == "ok"
    assert "-I 100" not in calls.read_text()


def interrupt(*_: object) -> None:
    raise KeyboardInterrupt


def test_a_run_that_is_interrupted_in_its_last_timeline_is_complete(
    model: Path, perf: Any, monkeypatch: pytest.MonkeyPatch
):
    perf()
    monkeypatch.setattr(counted, "timeline_of_cell", interrupt)
    called = run(model, "software", "--timeline", "100ms", *TIME_FOR_TIMELINES)
    assert called.code == 0, called.err
    assert called.document["complete"]
    (table,) = called.document["counters"]
    assert (table["stopped_by"], table["timelines_stopped_by"]) == ("launches", "interrupt")
    assert table["rows"][0]["state"] == "ok"


def test_an_interrupted_timeline_of_an_earlier_table_ends_the_run_and_keeps_the_counts(
    model: Path, perf: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    perf()
    results = ("--results", tmp_path / "results")
    asked = ("--timeline", "100ms", "--batch", "1,2", "--apart", *TIME_FOR_TIMELINES)
    with monkeypatch.context() as patch:
        patch.setattr(counted, "timeline_of_cell", interrupt)
        called = run(model, "software", *asked, *results)
    assert called.code == 130
    assert not called.document["complete"]
    (first,) = called.document["counters"]
    assert (first["stopped_by"], first["timelines_stopped_by"]) == ("launches", "interrupt")
    resumed = irbench("run", "--resume", *results, "--format", "json")
    assert resumed.code == 0, resumed.err
    assert resumed.document["counters"][0] == first
    assert resumed.document["counters"][1]["rows"][0]["timeline"]


def test_a_timeline_without_counters_is_refused(model: Path):
    called = irbench("run", model, "--backends", "fake-a", "--timeline", "100ms")
    assert called.code == 2
    assert "--counters" in called.err


@pytest.mark.parametrize("option", [("--cold",), ("--instances", "2"), ("--shapes", "8,16")])
def test_counters_of_what_they_cannot_be_of_are_refused(model: Path, option: tuple[str, ...]):
    called = irbench("run", model, "--backends", "fake-a", "--counters", "software", *option)
    assert called.code == 2
    assert "--counters" in called.err


def test_deeper_levels_come_from_toplev(model: Path, perf: Any):
    perf(toplev=True)
    found = figures(run(model, "topdown-l2"))
    assert found["inference", "Frontend_Bound.Fetch_Latency"]["value"] == pytest.approx(0.125)
    assert found["inference", "Frontend_Bound.Fetch_Latency"]["unit"] == "share"


def test_a_toplev_that_fails_later_loses_its_nodes_alone(model: Path, perf: Any):
    perf(toplev=True, toplev_says="ImportError: no ocperf", toplev_lives=1)  # where it is tried
    called = run(model, "software,topdown-l2")
    assert called.code == 0, called.err
    found = figures(called)
    assert found["inference", "minor-faults"]["value"] is not None
    assert ("inference", "Frontend_Bound.Fetch_Latency") not in found
    (row,) = called.document["counters"][0]["rows"]
    assert row["state"] == "ok"
    assert row["launches"][0]["nodes_missing"] == {"code": "toplev-failed", "facts": {"said": "ImportError: no ocperf"}}


def test_a_toplev_that_fails_later_with_nothing_else_to_count_fails_the_row(model: Path, perf: Any):
    perf(toplev=True, toplev_says="ImportError: no ocperf", toplev_lives=1)
    called = run(model, "topdown-l2")
    assert called.code == 3
    (row,) = called.document["counters"][0]["rows"]
    assert "toplev cannot count it: ImportError: no ocperf" in row["failure"]["message"]


def test_show_csv_and_history_know_runs_with_counters(model: Path, perf: Any, tmp_path: Path):
    perf()
    results = ("--results", tmp_path / "results")
    called = run(model, "software", *results)
    run_id = called.document["run_id"]
    assert irbench("show", run_id, *results, "--format", "json").document == called.document
    csv = irbench("show", run_id, *results, "--format", "csv").out
    assert "counters" in csv.splitlines()[0].split(",")
    assert "minor-faults" in csv
    markdown = irbench("show", run_id, *results, "--format", "md").out
    assert markdown.count("### ") == 2


def test_a_run_that_is_interrupted_while_it_counts_keeps_its_speeds_and_goes_on_with_the_counters(
    model: Path, perf: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    perf()
    results = ("--results", tmp_path / "results")
    with monkeypatch.context() as patch:
        patch.setattr(counted, "count_cell", interrupt)
        called = run(model, "software", *results)
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


def test_the_rows_of_several_tables_are_counted_table_by_table(model: Path, perf: Any):
    perf()
    called = run(model, "software", "--batch", "1,2", "--apart")
    assert [table["table"] for table in called.document["counters"]] == [0, 1]
    assert [table["batch"] for table in called.document["counters"]] == [1, 2]


def test_a_row_without_right_answers_is_not_counted(model: Path, perf: Any):
    perf()
    called = run(
        model, "software", "--backends", "fake-a,fake-b", "--set", "fake-b.fault=raise", "--set", "fake-b.at=compile"
    )
    (table,) = called.document["counters"]
    assert [row["backend"] for row in table["rows"]] == ["fake-a"]
