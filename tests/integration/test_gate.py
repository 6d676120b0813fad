"""``irbench gate`` through the front door: scripted backends of known speeds, side by side until it is decided."""

from __future__ import annotations

import json
from pathlib import Path

import models
import numpy as np
import onnx
import pytest
from decoders import write_decoder
from fake_runs import ENOUGH
from front_door import Called, irbench
from onnx import helper, numpy_helper

import irbench as api

pytestmark = [pytest.mark.ci, pytest.mark.usefixtures("known_backends")]
OF_RELUS = ("--backends", "fake-a", *ENOUGH, "--set", "fake-a.op=Relu", "--set", "fake-a.op_us=2000")
"""Calls take 2 ms for each Relu, and 0.3 ms."""


@pytest.fixture
def base(tmp_path: Path) -> Path:
    return models.mlp(tmp_path, name="base").path


@pytest.fixture
def slower(base: Path) -> Path:
    """Return a model with one more node, which gives the same outputs."""
    model = onnx.load(base)
    nodes = list(model.graph.node)
    place = next(number for number, node in enumerate(nodes) if node.op_type == "MaxPool")
    nodes[place].input[0] = "positive_again"
    nodes.insert(place, helper.make_node("Relu", ["positive"], ["positive_again"], "again"))
    del model.graph.node[:]
    model.graph.node.extend(nodes)
    path = base.with_name("slower.onnx")
    onnx.save(model, path)
    return path


@pytest.fixture
def retrained(base: Path) -> Path:
    """Return a model of the same form with other weights, and other outputs."""
    model = onnx.load(base)
    for tensor in model.graph.initializer:
        values = numpy_helper.to_array(tensor)
        tensor.CopyFrom(numpy_helper.from_array((values * np.float32(1.7)).astype(values.dtype), tensor.name))
    path = base.with_name("retrained.onnx")
    onnx.save(model, path)
    return path


def gated(*arguments: object) -> Called:
    return irbench("gate", *arguments)


def test_an_equal_model_passes_and_the_size_that_is_excluded_is_told(base: Path, retrained: Path):
    called = gated(base, retrained, *OF_RELUS, "--fail-on", "size>0%", "--fail-on", "max_err>0.001")
    assert called.code == 0, called.err + called.out
    said = " ".join(called.out.split())
    assert "No regression: " in said
    assert "excluded (95 % confidence)" in said


def test_a_slower_model_is_a_regression(base: Path, slower: Path):
    called = gated(base, slower, *OF_RELUS, "--format", "json")
    assert called.code == 1, called.err
    found = called.document
    assert found["outcome"] == "regression"
    (row,) = found["gate"]["rows"]
    (time,) = row["conditions"]
    assert time["change"]["relative"]["value"] == pytest.approx(2.0 / 2.3, rel=0.02)
    assert time["change"]["counted"] == "pairs"
    assert gated(slower, base, *OF_RELUS).code == 0
    assert gated(base, slower, *OF_RELUS, "--limit", "95%").code == 0


def test_both_are_rows_of_one_stored_table_each_verified_against_its_own_reference(base: Path, retrained: Path):
    called = gated(base, retrained, *OF_RELUS, "--format", "json")
    run = json.loads(irbench("show", called.document["gate"]["run"], "--format", "json").out)
    (table,) = run["groups"]
    assert [row["state"] for row in table["cells"]] == ["ok", "ok"]
    assert table["launches"] == 6
    assert irbench("run", "--resume", called.document["gate"]["run"]).code == 2


def test_a_budget_that_preparation_used_up_is_reported_before_measuring(base: Path, retrained: Path):
    called = gated(base, retrained, "--backends", "fake-a", "--budget", "0.01s")
    assert called.code == 6
    assert "preparing the models took" in called.err
    said = " ".join(called.out.split())
    assert "Not decided: too few launches fit into the budget" in said
    assert "this is not a pass (exit code 6)" in said
    assert "need about --budget" in said


def test_other_conditions_are_those_of_compare(base: Path, slower: Path):
    called = gated(base, slower, "--backends", "fake-a", *ENOUGH, "--fail-on", "size>0%")
    assert called.code == 1, called.err
    assert "ort" not in called.out
    assert "meets size>0%" in " ".join(called.out.split())
    refused = gated(base, slower, "--fail-on", "p51>5%")
    assert refused.code == 2
    assert "--fail-on" in refused.err


def test_two_settings_of_one_model(base: Path):
    asked = ("--backends", "fake-a", *ENOUGH, "--set", "fake-a.sample_us=1000", "--format", "json")
    called = gated(f"{base}@batch=2", f"{base}@batch=1", *asked)
    assert called.code == 1, called.err
    (row,) = called.document["gate"]["rows"]
    assert row["name"] == "fake-a batch 2 → fake-a batch 1"


def test_each_batch_is_held_against_the_same_one(base: Path, slower: Path):
    called = gated(base, slower, *OF_RELUS, "--batch", "1,2", "--limit", "99%", "--format", "json")
    assert called.code == 0, called.err
    assert [row["name"] for row in called.document["gate"]["rows"]] == ["fake-a batch 1", "fake-a batch 2"]


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        (("", ""), "BASE and NEW are both"),
        (("@threads=1,threads=2", "@threads=1"), "threads is set twice"),
        (("@threads=1", ""), "given for one side only"),
        (("@colour=1", "@colour=2"), "is not a setting"),
        (("@threads=x", "@threads=2"), "threads=x,2 is not valid"),
    ],
)
def test_sides_that_cannot_be_compared_are_refused(base: Path, settings: tuple[str, str], said: str):
    refused = gated(*(f"{base}{setting}" for setting in settings), *OF_RELUS)
    assert refused.code == 2
    assert said in refused.err
    assert "hint: " in refused.err


def test_another_path_of_the_same_file_is_the_same_model(base: Path):
    refused = gated(base, base.parent / "." / ".." / base.parent.name / base.name, *OF_RELUS)
    assert refused.code == 2
    assert "BASE and NEW are both" in refused.err


def with_fixed_batch(model: Path, batch: int) -> Path:
    """Return a copy of a model whose inputs and outputs have this batch size."""
    found = onnx.load(model)
    for value in (*found.graph.input, *found.graph.output):
        value.type.tensor_type.shape.dim[0].dim_value = batch
    path = model.with_name(f"{model.stem}-of-{batch}.onnx")
    onnx.save(found, path)
    return path


@pytest.mark.parametrize("is_new_fixed", [True, False])
def test_both_are_measured_at_the_batch_size_that_one_of_them_has_fixed(base: Path, is_new_fixed: bool):
    fixed = with_fixed_batch(base, 8)
    sides = (base, fixed) if is_new_fixed else (fixed, base)
    called = gated(*sides, *OF_RELUS, "--format", "json")
    assert called.code == 0, called.err
    run = json.loads(irbench("show", called.document["gate"]["run"], "--format", "json").out)
    assert [row["batch"] for row in run["groups"][0]["cells"]] == [8, 8]


def test_models_with_different_fixed_batch_sizes_are_refused(base: Path):
    refused = gated(with_fixed_batch(base, 8), with_fixed_batch(base, 4), *OF_RELUS)
    assert refused.code == 2
    assert "different fixed batch sizes (first input dimension): 8 and 4" in refused.err
    assert "dynamic batch" in refused.err


def test_a_stored_run_is_measured_again_beside_the_new_model(base: Path, slower: Path):
    measured = irbench("run", base, *OF_RELUS, "--quick", "--name", "main")
    assert measured.code == 0, measured.err
    assert gated("main", slower, *ENOUGH).code == 1
    base.rename(base.with_name("gone.onnx"))
    refused = gated("main", slower, *ENOUGH)
    assert refused.code == 2
    assert "cannot be measured again" in refused.err
    assert "irbench compare" in refused.err


def test_an_option_with_the_value_of_its_default_replaces_that_of_a_stored_plan(base: Path, slower: Path):
    measured = irbench("run", base, *OF_RELUS, "--streams", "2", "--quick", "--name", "main")
    assert measured.code == 0, measured.err
    called = gated("main", slower, "--streams", "1", *ENOUGH, "--format", "json")
    assert called.code == 1, called.err
    run = json.loads(irbench("show", called.document["gate"]["run"], "--format", "json").out)
    assert run["plan"]["streams"] == [1]
    refused = gated("main@threads=1", f"{slower}@threads=2", "--threads", "2")
    assert refused.code == 2
    assert "--threads and threads= of a side cannot be combined" in refused.err


@pytest.mark.parametrize(
    ("condition", "said"),
    [
        ("energy>5%", "Add --energy"),
        ("p99>5%", "Add --tail"),
        ("sustained<-5%", "Add --sustain 10s"),
        ("first_token>5%", "Add --generate 64"),
        ("spread>5%", "a run has one value of spread"),
        ("new_shape>5%", "irbench run --shapes ... --dynamic"),
    ],
)
def test_a_condition_on_a_figure_that_is_not_measured_is_refused(base: Path, slower: Path, condition: str, said: str):
    refused = gated(base, slower, *OF_RELUS, "--fail-on", condition)
    assert refused.code == 2
    assert said in refused.err


def test_a_row_that_could_not_be_measured_is_shown_with_the_reason(base: Path, slower: Path):
    called = gated(base, slower, "--backends", "fake-a", *ENOUGH, "--set", "fake-a.fault=lack")
    assert called.code == 6, called.err
    said = " ".join(called.out.split())
    assert "Not decided: fake-a was not measured" in said
    assert "fake-a: ModuleNotFoundError" in said


def test_a_stored_run_of_another_model_in_its_file_is_refused(base: Path, slower: Path):
    assert irbench("run", base, *OF_RELUS, "--quick", "--name", "main").code == 0
    slower.rename(base)
    refused = gated("main", models.mlp(base.parent, name="new").path, *ENOUGH)
    assert refused.code == 2
    assert "not the graph that was measured" in refused.err


def test_what_is_neither_a_model_nor_a_run_is_refused(base: Path):
    assert gated("nothing", base).code == 2


def test_wrong_outputs_of_the_newer_side_are_a_regression(base: Path):
    asked = ("--backends", "fake-a,fake-b", *ENOUGH, "--set", "fake-b.fault=wrong")
    called = gated(f"{base}@backend=fake-a", f"{base}@backend=fake-b", *asked[2:])
    assert called.code == 1, called.err
    assert "has wrong outputs" in called.out


def test_generations_are_compared_at_each_prompt_length(tmp_path: Path):
    old, new = (write_decoder(tmp_path / f"{name}.onnx", layers=1) for name in ("old", "new"))
    asked = ("--backends", "fake-a", "--generate", "4", "--prompt", "3,5", "--limit", "99%", *ENOUGH)
    called = gated(old, new, *asked, "--fail-on", "first_token>900%", "--format", "json")
    assert called.code == 0, called.err + called.out
    rows = called.document["gate"]["rows"]
    assert [row["name"] for row in rows] == ["fake-a prompt 3", "fake-a prompt 5"]
    assert [checked["condition"] for checked in rows[0]["conditions"]] == ["time>99%", "first_token>900%"]


def test_two_versions_of_own_code_are_compared(base: Path, tmp_path: Path):
    code = "import time\n\n\ndef infer(inputs):\n    time.sleep({})\n    return None\n"
    for name, slept_s in (("old", 0.002), ("new", 0.004)):
        (tmp_path / f"{name}.py").write_text(code.format(slept_s))
    cells = [part for name in ("old", "new") for part in ("--cell", f"{name}={tmp_path / name}.py:infer")]
    called = gated(f"{base}@backend=old", f"{base}@backend=new", *cells, *ENOUGH, "--format", "json")
    (row,) = called.document["gate"]["rows"]
    assert (row["base"].split("-")[0], row["new"].split("-")[0]) == ("old", "new")


def test_python_has_it_too(base: Path, slower: Path):
    found = api.gate(
        base, slower, limit="5%", backends="fake-a", budget="60m", set={"fake-a": {"op": "Relu", "op_us": "2000"}},
        progress=None,
    )  # fmt: skip
    assert (found.regressed, found.passed) == (True, False)
    assert found.run.id == found.report.run
    assert "regression" in repr(found)
