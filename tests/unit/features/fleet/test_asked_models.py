"""Options of a command travel to targets as they were given here, and files by their places."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from irbench.errors import IrbenchError
from irbench.features.fleet.asked_models import command_of, keywords_of
from irbench.features.fleet.jobs import with_places
from irbench.features.fleet.options import FLEET_SERVE, FLEET_TUNE
from irbench.features.fleet.run import plan_of_serving, plan_of_tuning
from irbench.features.serve.options import SERVE
from irbench.features.tune.options import TUNE

ASKED: dict[str, Any] = {
    "objective": "latency",
    "max_latency": "50ms",
    "budget": "10m",
    "backends": "ort,openvino",
    "batch": [1, 8],
    "threads": "1,native",
    "streams": 2,
    "vary": {"ort": {"intra_op.allow_spinning": [0, 1]}},
    "shape": {"length": 128},
    "value": {"sr": 16000},
    "cpus": "0-1",
    "warmup": "2s",
    "min_accuracy": "99%",
    "note": "before the patch",
}


def untold(_line: str) -> None:
    """Take a line that a test is not about."""


def test_a_target_reads_the_options_that_were_given_here():
    _, values = FLEET_TUNE.read(ASKED)
    plan = plan_of_tuning("nets/a.onnx", values, untold)
    (table,) = plan.expansion.tables
    sent = json.loads(json.dumps(table.cells[0].settings))
    assert (command_of(plan.document), plan.name, sent["models"]) == ("tune", "tune-a.onnx", "nets/a.onnx")
    own, shared = TUNE.read(keywords_of(table, Path()))
    assert {**own, **shared} == values


def test_data_lie_where_the_target_has_them(tmp_path: Path):
    data = tmp_path / "samples.npz"
    np.savez(data, x=np.zeros(3))
    _, values = FLEET_TUNE.read({"data": str(data)})
    tables = with_places(plan_of_tuning("a.onnx", values, untold).expansion.tables, {str(data): "digest/samples.npz"})
    assert keywords_of(tables[0], Path("there")) == {"data": "there/digest/samples.npz"}


def test_arrays_in_memory_are_refused_because_only_files_are_sent():
    _, values = FLEET_TUNE.read({"data": {"x": np.zeros(3)}})
    with pytest.raises(IrbenchError, match="memory"):
        plan_of_tuning("a.onnx", values, untold)


def test_options_that_contradict_each_other_are_refused_before_a_target_is_asked():
    _, values = FLEET_TUNE.read({"objective": "tokens/s"})
    with pytest.raises(IrbenchError, match="generations"):
        plan_of_tuning("a.onnx", values, untold)


def test_a_target_reads_the_service_level_and_each_model_is_a_table():
    _, values = FLEET_SERVE.read({"slo": "p99.5 <= 2.5 ms", "duration": "2s", "rate": "10,50", "timeout": "1s"})
    plan = plan_of_serving(("a.onnx", "b.onnx"), values)
    assert [table.label for table in plan.expansion.tables] == ["a.onnx", "b.onnx"]
    for table in plan.expansion.tables:
        own, shared = SERVE.read(keywords_of(table, Path()))
        assert {**own, **shared} == values


@pytest.mark.parametrize(("models", "asked"), [((), {"slo": "p99<=50ms"}), (("a.onnx",), {"rate": 10})])
def test_serving_without_a_model_or_a_service_level_is_refused_with_what_to_type(
    models: tuple[str, ...], asked: dict[str, Any]
):
    _, values = FLEET_SERVE.read(asked)
    with pytest.raises(IrbenchError) as refusal:
        plan_of_serving(models, values)
    assert "--slo" in refusal.value.hint


@pytest.mark.parametrize("contradiction", [{"max_latency": "50ms"}, {"objective": "latency"}, {"generate": 64}])
def test_what_a_search_for_a_service_level_cannot_obey_is_refused_before_any_machine_is_asked(
    contradiction: dict[str, Any],
):
    _, values = FLEET_TUNE.read({"slo": "p99<=50ms", **contradiction})
    with pytest.raises(IrbenchError, match="cannot be combined"):
        plan_of_tuning("nets/a.onnx", values, untold)


def test_a_wait_for_a_batch_of_one_is_refused_before_any_machine_is_asked():
    asked = {"slo": "p99<=50ms", "batch_wait": "5ms"}
    with pytest.raises(IrbenchError, match="At batch 1"):
        plan_of_tuning("a.onnx", FLEET_TUNE.read({**asked, "batch": 1})[1], untold)
    with pytest.raises(IrbenchError, match="At batch 1"):
        plan_of_serving(("a.onnx",), FLEET_SERVE.read({**asked, "batch": 1})[1])
    assert plan_of_tuning("a.onnx", FLEET_TUNE.read({**asked, "batch": [1, 8]})[1], untold).expansion.tables
    assert plan_of_serving(("a.onnx",), FLEET_SERVE.read(asked)[1]).expansion.tables


@pytest.mark.parametrize(("budget", "is_told"), [("5s", True), ("10m", False)])
def test_a_budget_in_which_no_target_can_confirm_a_setting_is_told_before_any_machine_is_asked(
    budget: str, is_told: bool
):
    said: list[str] = []
    plan_of_tuning("a.onnx", FLEET_TUNE.read({"budget": budget})[1], said.append)
    assert [line.startswith("warning: `--budget 5s` is too small") for line in said] == [True] * is_told
