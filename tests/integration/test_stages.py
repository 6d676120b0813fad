"""Pipelines through the front door: stages that take known times, beside and with a scripted model."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import models
import numpy as np
import pytest
from fake_runs import FASTEST, cell
from front_door import Called, irbench

import irbench as library
from irbench.stats.rederive import rederive
from irbench.store.folders import default_root
from irbench.store.runs import Store

pytestmark = [pytest.mark.usefixtures("known_backends"), pytest.mark.ci]

PIPELINE = """
from irbench.measure import clock

def passes(duration_us):  # the model's scripted clock has taken the place of the real one
    clock.now_ns.__self__.advance(duration_us * 1000)

def decode(inputs):
    passes(600)
    return inputs["pixels"]

def shifted(cell):
    def postprocess(outputs):
        passes(100)
        return [outputs[0] + 1]
    return postprocess

def postprocess(outputs):
    passes(100)
    return outputs

def halves(inputs):
    return inputs["pixels"][..., ::2]

def doubles(inputs):
    return inputs["pixels"].astype("float64")

stages = {"decode": decode, "model": "fake-a", "postprocess": postprocess}

def made(cell):
    assert cell.shapes
    return stages

wrong = {**stages, "postprocess": shifted}
narrow = {**stages, "decode": halves}
double = {**stages, "decode": doubles}
unknown = {**stages, "model": "fake-aa"}
empty = {}
number = {"decode": 3}
many = {str(place): decode for place in range(21)}
"""
TRUTH = {"decode": 0.6, "model": 0.3, "postprocess": 0.1}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    models.mlp(tmp_path)
    (tmp_path / "pipeline.py").write_text(PIPELINE)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(*arguments: object) -> Called:
    return irbench("run", "mlp.onnx", "--backends", "fake-a", "--format", "json", *FASTEST, *arguments)


def shares(row: Mapping[str, Any]) -> dict[str, float]:
    return {stage["name"]: stage["share"]["value"] for stage in row["stages"]}


@pytest.mark.parametrize(
    "arguments", [(), ("--streams", "1,2"), ("--io", "bound")], ids=["one at a time", "streams", "bound"]
)
def test_a_pipeline_is_a_row_with_the_shares_of_its_stages(folder: Path, arguments: tuple[str, ...]) -> None:
    called = run("--cell", "mine=pipeline.py:stages", *arguments)
    assert called.code == 0, called.err
    rows = [row for row in called.document["groups"][0]["cells"] if row["backend"] == "mine"]
    for row in rows:
        assert row["state"] == "ok"
        assert row["output_error"]["max_rel"] < 1e-5, "the last stage returns what the model does"
        assert row["effective"]["precision"] == "fp32", "the compiled model says what it computes in"
    one = rows[0]
    assert shares(one) == pytest.approx(TRUTH, rel=1e-3)
    assert [stage["ms"]["value"] for stage in one["stages"]] == pytest.approx([0.6, 0.3, 0.1], rel=1e-3)
    assert one["latency_ms"]["p50"] == pytest.approx(1.0, rel=1e-3)
    assert cell(called, "fake-a")["stages"] == [] if len(rows) == 1 else rows


def test_tables_of_stages_can_be_derived_again_from_raw_moments(folder: Path) -> None:
    called = run("--cell", "mine=pipeline:made")
    assert called.code == 0, called.err
    store = Store(default_root())
    stored = store.find("latest")
    assert rederive(store.load(stored), store.launches(stored)) == store.load(stored)
    shown = irbench("show", "latest")
    assert all(name in shown.out for name in TRUTH)
    assert "60.0 %" in shown.out
    exported = irbench("show", "latest", "--format", "csv")
    assert "postprocess" in exported.out


def test_the_first_stage_is_given_the_samples_of_data_in_turn(folder: Path) -> None:
    (folder / "data").mkdir()
    for number, sample in enumerate(np.random.default_rng(0).random((3, 1, 3, 8, 8), np.float32)):
        np.savez(folder / "data" / f"{number}.npz", pixels=sample)
    called = run("--data", "data", "--cell", "mine=pipeline.py:stages")
    mine = cell(called, "mine")
    assert mine["state"] == "ok", called.err
    assert mine["output_error"]["max_rel"] < 1e-5, "each answer is compared with that to its own sample"
    assert shares(mine) == pytest.approx(TRUTH, rel=1e-3)


def test_outputs_of_the_last_stage_are_compared_with_the_reference(folder: Path) -> None:
    called = run("--cell", "wrong=pipeline.py:wrong")
    assert (called.code, cell(called, "wrong")["state"]) == (1, "mismatch")


FAULTS: dict[str, tuple[str, tuple[str, ...]]] = {
    "narrow": ("narrow", ("model", "decode", "3x8x4", "3x8x8")),
    "double": ("double", ("model", "decode", "float64", "float32")),
    "unknown": ("unknown", ("fake-aa",)),
    "empty": ("empty", ("no stages",)),
    "number": ("number", ("decode", "int")),
    "many": ("many", ("21", "20")),
}


@pytest.mark.parametrize("names", [("narrow", "double", "unknown"), ("empty", "number", "many")])
def test_stages_that_cannot_work_are_rows_with_their_reason_and_a_hint(folder: Path, names: tuple[str, ...]) -> None:
    asked = [word for name in names for word in ("--cell", f"{name}=pipeline.py:{FAULTS[name][0]}")]
    called = run(*asked)
    assert called.code == 3
    assert cell(called, "fake-a")["state"] == "ok"
    for name in names:
        said, failure = FAULTS[name][1], cell(called, name)["failure"]
        assert failure is not None, name
        assert all(part in failure["message"] for part in said), failure
        assert failure["hint"], failure


def test_python_gives_stages_as_functions_of_its_own(folder: Path) -> None:
    def decode(inputs: dict[str, Any]) -> Any:
        return inputs["pixels"] * np.float32(1)

    stages = {"decode": decode, "model": "fake-a", "last": "pipeline:postprocess"}
    run = library.run("mlp.onnx", backends=["fake-a"], cells={"mine": stages}, progress=None, quick=True, budget=0.01)
    (row,) = [row for row in run.rows if row.label.startswith("mine")]
    assert row.state == "ok"
    assert [stage["name"] for stage in row.stages] == ["decode", "model", "last"]
    assert sum(stage["share"]["value"] for stage in row.stages) == pytest.approx(1)


def test_a_stage_that_is_named_twice_is_refused_before_anything_runs(folder: Path) -> None:
    (folder / "twice.py").write_text("stages = {'decode': len, 'model': 'fake-a', 'decode': print}\n")
    called = run("--cell", "mine=twice.py:stages")
    assert called.code == 2
    assert "decode" in called.err


@pytest.mark.parametrize(
    ("stages", "said"),
    [
        ({}, "no stages"),
        ({"decode": 3}, "cannot be called"),
        ({"decode": None}, "cannot be called"),
        ({str(place): len for place in range(21)}, "20 are the most"),
        ({"": len}, "name"),
        ({"model": "ortt"}, "ortt"),
        ({"model": "pipeline.py:nothing"}, "nothing"),
    ],
)
def test_python_refuses_what_is_no_pipeline_before_anything_runs(
    folder: Path, stages: dict[str, Any], said: str
) -> None:
    with pytest.raises(library.IrbenchError, match=said) as refused:
        library.run("mlp.onnx", backends=["fake-a"], cells={"mine": stages})
    assert refused.value.hint
    assert refused.value.exit_code == 2
    assert not default_root().exists() or not Store(default_root()).list()
