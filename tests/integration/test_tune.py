"""``irbench tune`` through the front door, on backends whose speed is scripted."""

from __future__ import annotations

import json
import re
from pathlib import Path

import models
import pytest
from fake_runs import ENOUGH
from front_door import Called, irbench

import irbench as api
from irbench.runner import launch
from irbench.store.runs import Store

pytestmark = [pytest.mark.usefixtures("known_backends"), pytest.mark.ci]

SMALL = ("--threads", "1", "--instances", "1", "--optimize", "none", *ENOUGH, "--format", "json")


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return models.mlp(tmp_path_factory.mktemp("model")).path


def tune(model: Path, *arguments: object) -> Called:
    return irbench("tune", model, "--backends", "fake-a,fake-b", *SMALL, *arguments)


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("results")


@pytest.fixture(scope="module")
def tuned(model: Path, results: Path) -> Called:
    """A call takes as long whatever its batch; fake-b is slower unless an option is set."""
    return tune(
        model, "--batch", "1,4", "--streams", "1", "--vary", "fake-b.call_us=200,100", "--results", results,
        "--set", "fake-a.call_us=150",
    )  # fmt: skip


def test_the_best_setting_is_found_and_confirmed_against_the_defaults(tuned: Called):
    assert tuned.code == 0, tuned.err
    report = tuned.document
    assert report["conclusion"] == "better"
    assert (report["leader"]["backend"], report["leader"]["batch"]) == ("fake-b", 4)
    assert report["leader"]["options"] == {"call_us": "100"}
    gains = {(other["setting"]["backend"], other["kind"]): other["gain"] for other in report["alternatives"]}
    assert gains["fake-a", "default"]["value"] == pytest.approx(6, rel=1e-3)
    assert gains["fake-a", "default"]["low"] == pytest.approx(6, rel=1e-3)


def test_the_command_that_it_gives_measures_the_setting_again(tuned: Called):
    words = tuned.document["command"]
    again = irbench(*words[1:], "--format", "json", "--quick")
    assert again.code == 0, again.err
    (row,) = again.document["groups"][0]["cells"]
    setting = tuned.document["setting"]
    assert (row["backend"], row["batch"]) == (setting["backend"], setting["batch"])


def test_both_of_its_runs_are_stored_and_shown(tuned: Called, results: Path):
    for run in (tuned.document["search_run"], tuned.document["confirmation_run"]):
        shown = irbench("show", run, "--results", results)
        assert shown.code == 0, shown.err
        assert "fake-b call_us=100" in shown.out


def test_the_confirmation_is_a_plan_with_its_rows(tuned: Called, results: Path, tmp_path: Path):
    run = tuned.document["confirmation_run"]
    plan = api.plan_from(run, results=results)
    rows = api.load(run, results=results).table.result.cells
    assert set(plan["defaults"]["rows"]) == {row.id for row in rows}
    written = tmp_path / "plan.toml"
    assert irbench("plan", "from", run, "-o", written, "--results", results).code == 0
    expanded = irbench("plan", "expand", written)
    assert expanded.code == 0, expanded.err


def test_every_launch_of_a_search_and_its_confirmation_warms_up_as_was_asked(model: Path, tmp_path: Path):
    called = tune(
        model, "--batch", "1", "--streams", "1", "--set", "fake-b.call_us=500", "--warmup", "40",
        "--results", tmp_path,
    )  # fmt: skip
    assert called.code == 0, called.err
    store = Store(tmp_path)
    runs = [store.find(called.document[name]) for name in ("search_run", "confirmation_run")]
    warm_ups = [own.warm_up for run in runs for record in store.launches(run) for own in record.cells]
    assert {own.calls for own in warm_ups if own is not None} == {40}
    command = called.document["command"]
    assert command[command.index("--warmup") + 1] == "40"


@pytest.fixture
def busy_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let other programs use a processor during every block."""
    monkeypatch.setattr(launch, "foreign_cpu_ns", lambda before, after: after.at_ns - before.at_ns)


NINE_TIMES = (
    "--batch", "1,4", "--streams", "1", "--vary", "fake-b.call_us=133,134", "--set", "fake-a.call_us=300",
)  # fmt: skip
"""Two tuned settings that hardly differ, at 9 times the throughput of the defaults."""


@pytest.mark.usefixtures("busy_machine")
@pytest.mark.parametrize("limit", [(), ("--max-latency", "0.5ms")], ids=["any latency", "with a limit"])
def test_on_a_busy_machine_the_tuned_setting_is_handed_out_and_not_the_default(
    model: Path, tmp_path: Path, limit: tuple[str, ...]
):
    document = tune(model, *NINE_TIMES, *limit, "--results", tmp_path).document
    setting = document["setting"]
    assert (setting["backend"], setting["batch"]) == ("fake-b", 4)
    assert setting["options"]["call_us"] in ("133", "134")
    assert f"fake-b.call_us={setting['options']['call_us']}" in document["command"]
    assert (document["conclusion"], document["is_confirmed"]) == ("doubtful", False)
    assert {each["reason"] for each in document["reservations"]} == {"busy"}
    assert document["deciding_budget_s"] is None


@pytest.mark.usefixtures("busy_machine")
def test_on_a_busy_machine_the_text_names_the_tuned_setting_everywhere(model: Path, tmp_path: Path):
    called = irbench(
        "tune", model, "--backends", "fake-a,fake-b", *SMALL[:-2], *NINE_TIMES, "--results", tmp_path,
    )  # fmt: skip
    said = re.search(r"Recommended \(until confirmed\): (.*)", called.out)
    assert said is not None, called.out
    name = said.group(1).strip()
    assert name.startswith("fake-b call_us=13")
    assert f"Measure {name} again:" in called.out
    (line,) = [line for line in called.out.splitlines() if "irbench run " in line]
    assert "--backends fake-b --batch 4" in line
    assert "the most FPS (any batch of 1, 4)" in called.err


@pytest.mark.slow
def test_a_default_that_nothing_beats_is_recommended(model: Path):
    report = tune(model, "--batch", "1", "--streams", "1", "--set", "fake-b.call_us=900").document
    assert report["setting"]["backend"] == "fake-a"
    assert report["conclusion"] in ("reference", "same", "undecided", "doubtful")
    assert report["setting"]["threads"] is None


def test_a_setting_above_the_latency_that_is_allowed_is_never_chosen(model: Path):
    called = tune(
        model, "--batch", "1,2,8", "--streams", "1", "--max-latency", "0.5ms",
        "--vary", "fake-a.call_us=400,600", "--set", "fake-b.call_us=700",
    )  # fmt: skip
    assert called.code == 0, called.err
    setting = called.document["leader"]
    assert (setting["backend"], setting["batch"], setting["options"]) == ("fake-a", 8, {"call_us": "400"})
    assert all(point["latency_ms"] < 0.75 for point in called.document["front"])


@pytest.mark.slow
def test_a_setting_that_fails_is_left_out_and_the_search_goes_on(model: Path):
    called = tune(
        model, "--batch", "1,4", "--streams", "1", "--set", "fake-b.fault=refuse", "--set", "fake-b.at=compile"
    )
    assert called.code == 0, called.err
    assert called.document["setting"]["backend"] == "fake-a"
    failed = [other for other in called.document["alternatives"] if other["setting"]["backend"] == "fake-b"]
    assert failed
    assert all(other["failure"] for other in failed)


def test_nothing_to_choose_from_is_said_before_anything_is_measured(model: Path):
    called = tune(model, "--instances", "64")
    assert called.code == 2
    assert "--instances 64" in called.err


@pytest.mark.slow
def test_in_python_it_returns_the_setting_and_both_runs(model: Path):
    found = api.tune(
        model, backends="fake-a", batch=[1, 4], streams=1, instances=1, threads=1, optimize="none", progress=None
    )
    assert found.report.leader is not None
    assert (found.report.leader.backend, found.report.leader.batch) == ("fake-a", 4)
    assert found.search is not None
    assert found.confirmation is not None
    assert json.loads(found.to_text("json"))["leader"]["batch"] == 4
    assert "fake-a batch 4" in str(found)


def test_varied_options_are_rows_of_a_run(model: Path):
    called = irbench(
        "run", model, "--backends", "fake-a", "--vary", "fake-a.call_us=default,100", "--quick", "--format", "json"
    )
    assert called.code == 0, called.err
    rows = {row["label"]: row for row in called.document["groups"][0]["cells"]}
    assert rows["fake-a"]["requested"]["options"] == {}
    assert rows["fake-a call_us=100"]["requested"]["options"] == {"call_us": "100"}
    assert rows["fake-a call_us=100"]["speedup"]["value"] == pytest.approx(3, rel=1e-3)


def test_an_option_that_is_set_cannot_be_varied(model: Path):
    called = irbench("run", model, "--set", "fake-a.call_us=1", "--vary", "fake-a.call_us=1,2", "--backends", "fake-a")
    assert called.code == 2
    assert "--set fake-a.call_us and --vary fake-a.call_us cannot be combined" in called.err
