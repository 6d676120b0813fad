"""A target searches for the setting of the model that it was sent, and says which run holds what."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from irbench.api.progress import Reporter
from irbench.errors import ExitCode, IrbenchError
from irbench.features.fleet.asked_models import command_of
from irbench.features.fleet.jobs import Job
from irbench.features.fleet.messages import JobRequest, packed, unpacked
from irbench.features.fleet.on_target import measured_models
from irbench.features.fleet.on_target.measured_models import served, tuned
from irbench.features.fleet.options import FLEET_SERVE, FLEET_TUNE
from irbench.features.fleet.run import plan_of_serving, plan_of_tuning
from irbench.features.plan.reading import SweepPlan
from irbench.features.tune.options import TuneOptions
from irbench.features.tune.report import TunedSetting, Tuning, TuningReport
from irbench.options.run import RunOptions
from irbench.spec.serving import ServiceLevel, ServingPlan

SILENT = Reporter(lambda _: None, lambda _: None)
SETTING = TunedSetting("row", "ort x2", "ort", 8, 1, 2, 1, "fp32", options={"intra_op.allow_spinning": "0"})
SEARCH, CONFIRMATION = "01S".ljust(26, "0"), "01C".ljust(26, "0")
FOUND = TuningReport(
    "a", "fps", None, "better", SETTING, search_run=SEARCH, confirmation_run=CONFIRMATION, is_confirmed=True
)


def request(plan: SweepPlan) -> JobRequest:
    """Return what a target is sent that shall measure a model."""
    job = Job("0" * 12, "p", plan.expansion.tables, 0.0, command_of(plan.document))
    sent = JobRequest(
        job=job.id,
        name=plan.name,
        tables=job.tables,
        files=(),
        places={"nets/a.onnx": "nets/a.onnx"},
        command=job.command,
    )
    return unpacked(packed(sent), JobRequest, "a test")


def answered(monkeypatch: pytest.MonkeyPatch, folder: Path, report: TuningReport) -> tuple[Any, list[TuneOptions]]:
    """Return what comes of a search that finds a report, and what was asked of it."""
    asked = []

    def tune_with(options: TuneOptions, _: Reporter) -> Tuning:
        asked.append(options)
        return Tuning(report)

    monkeypatch.setattr(measured_models, "tune_with", tune_with)
    _, values = FLEET_TUNE.read({"batch": [1, 8], "budget": "10m"})
    return tuned(request(plan_of_tuning("nets/a.onnx", values, SILENT.say)), folder, SILENT), asked


def test_the_model_that_was_sent_is_searched_and_both_runs_are_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    ((outcome,), runs), (asked,) = answered(monkeypatch, tmp_path, FOUND)
    assert (asked.model, asked.run.results) == (str(tmp_path / "files/nets/a.onnx"), tmp_path / "results")
    assert (asked.budget, asked.run.batch) == (600.0, (1, 8))
    assert (outcome.run, runs, outcome.exit_code) == (CONFIRMATION, (CONFIRMATION, SEARCH), 0)
    assert (outcome.tuned.setting, outcome.tuned.conclusion, outcome.tuned.search_run) == (SETTING, "better", SEARCH)
    assert unpacked(packed(outcome), type(outcome), "a test") == outcome


def test_how_many_tokens_a_call_generates_is_told_with_the_setting(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    ((outcome,), _), _ = answered(monkeypatch, tmp_path, replace(FOUND, new_tokens=64))
    assert outcome.tuned.new_tokens == 64


def test_a_search_that_finds_nothing_is_done_with_its_search_and_the_code_of_a_failure(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    nothing = TuningReport("a", "fps", None, "nothing", search_run=SEARCH)
    ((outcome,), runs), _ = answered(monkeypatch, tmp_path, nothing)
    assert (outcome.run, runs, outcome.exit_code, outcome.message) == (SEARCH, (SEARCH,), 3, "")
    assert outcome.tuned.setting is None


def test_a_search_that_was_interrupted_is_no_outcome(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    with pytest.raises(IrbenchError, match="interrupted"):
        answered(monkeypatch, tmp_path, TuningReport("a", "fps", None, "interrupted", search_run=SEARCH))


@pytest.mark.parametrize("complete", [True, False])
def test_the_model_that_was_sent_is_given_requests_and_an_interrupted_run_is_no_outcome(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, complete: bool
):
    asked: list[Any] = []

    def measure(run: RunOptions, _reporter: Reporter, plan: ServingPlan, _keep: Any) -> Any:
        asked.append((run, plan))
        return SimpleNamespace(document=SimpleNamespace(run_id="01R", was_interrupted=not complete))

    monkeypatch.setattr(measured_models, "measure", measure)
    monkeypatch.setattr(measured_models, "exit_code", lambda _document, *, strict: ExitCode.OK)
    _, values = FLEET_SERVE.read({"slo": "p99<=50ms", "streams": 2})
    sent = request(plan_of_serving(("nets/a.onnx",), values))
    if not complete:
        with pytest.raises(IrbenchError, match="interrupted"):
            served(sent, tmp_path, SILENT)
        return
    (outcome,), runs = served(sent, tmp_path, SILENT)
    ((run, plan),) = asked
    assert (run.models, run.results) == ((str(tmp_path / "files/nets/a.onnx"),), tmp_path / "results")
    assert (run.streams, plan.level) == ((2,), ServiceLevel(99.0, 50.0))
    assert (outcome.run, outcome.exit_code, runs) == ("01R", 0, ("01R",))
