"""A stored run becomes a plan that asks for the same."""

from __future__ import annotations

import tomllib
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import stored_runs
from stored_plans import stored_plan

from irbench.errors import IrbenchError
from irbench.features.plan.reading import read_plan
from irbench.features.plan.table_options import SweepSetup, table_options
from irbench.features.plan.writing import plan_document, plan_from, plan_text, shown_plan
from irbench.options.run import RunOptions

EVERYTHING = RunOptions(
    models=("/models/net.onnx",),
    imports=("my_layers",),
    backends=("ort", "openvino:gpu"),
    batch=(1, 8),
    shape={"tokens": (1, 128), "length": (7,)},
    data=Path("/data/speech"),
    value={"sr": (16000,), "size": (480, 640)},
    feedback={"h0": "h"},
    streams=(1, 4),
    precision=("fp32", "bf16"),
    optimize=("none", "int8"),
    baseline="ort@streams=1",
    allow_mixed=True,
    threads=(2,),
    cpus=(0, 1, 3),
    set={"ort": {"session.x": "4"}},
    io="bound",
    seed=3,
    within=0.01,
    budget=60.0,
    deadline=20.0,
    thorough=True,
    tail=True,
    sustain=3.0,
    energy=True,
    require_full=True,
    counters=("software", "cycles:u"),
    timeline=0.1,
    note="without the patch",
)


def asked_again(options: RunOptions) -> list[RunOptions]:
    """Return what the plan of a run asks for, after it was written and read."""
    plan = read_plan(tomllib.loads(plan_text(plan_document(options, "again"))))
    setup = SweepSetup(plan.name, plan.folder, Path("results"))
    return [replace(table_options(table, setup), name="", results=None) for table in plan.expansion.tables]


@pytest.mark.parametrize(
    "options",
    [
        EVERYTHING,
        RunOptions(models=("resnet50",)),
        RunOptions(models=("resnet50",), threads=("native",), quick=True, cold=True),
        RunOptions(models=("net",), shapes=("length", ((128,), (64,)))),
        RunOptions(models=("net",), shapes=("", ((1, 128), (1, 64)))),
    ],
    ids=["everything", "a name", "cold", "shapes of a dimension", "shapes"],
)
def test_the_plan_of_a_run_asks_for_the_same_run(options: RunOptions):
    assert asked_again(options) == [options]


@pytest.mark.parametrize("apart", [False, True])
def test_models_and_batches_of_a_run_are_one_run_again(apart: bool):
    options = RunOptions(models=("a", "b"), backends=("ort",), batch=(1, 8), threads=(1, 2), apart=apart)
    assert asked_again(options) == [options]


def test_what_a_run_left_to_the_default_is_not_written():
    document = plan_document(RunOptions(models=("resnet50",), backends=("ort", "tf")), "before the patch")
    assert document == {
        "name": "before-the-patch",
        "defaults": {"models": "resnet50"},
        "matrix": [{"backends": ["ort", "tf"]}],
    }


def stored(root: Path, plan: dict[str, Any]) -> str:
    writer = stored_runs.Store(root).begin({}, stored_plan(**plan))
    writer.commit(replace(writer.document, complete=True))
    return writer.document.run_id


def test_a_stored_run_is_found_as_elsewhere(tmp_path: Path):
    run = stored(
        tmp_path, {"models": ["net"], "sources": ["/m/net.onnx"], "backends": ["ort"], "threads": [2], "asked": {}}
    )
    found = plan_from(run[:20], results=tmp_path)
    assert found["name"] == f"{run}-again"
    assert found["defaults"] == {"models": "/m/net.onnx", "backends": "ort", "threads": 2}


@pytest.mark.parametrize(
    ("plan", "said"),
    [
        ({"models": ["net"], "soak": {"seconds": 60.0}}, "whether memory grows"),
        ({"models": ["net"], "training": {"batch": [8]}}, "training steps"),
        ({"models": ["n"], "asked": {}, "data_in_memory": 1}, "in memory"),
    ],
)
def test_what_no_plan_can_repeat_is_refused(tmp_path: Path, plan: dict[str, Any], said: str):
    run = stored(tmp_path, plan)
    with pytest.raises(IrbenchError, match=said) as caught:
        plan_from(run, results=tmp_path)
    assert caught.value.hint


def test_a_file_is_shown_as_it_is_unless_it_holds_what_does_not_print(tmp_path: Path):
    harmless, hostile = tmp_path / "harmless.toml", tmp_path / "hostile.toml"
    harmless.write_text("# two of them\nbackends = ['ort',\t'openvino']\n")
    hostile.write_text("# \x9b2J\nbackends = ['\x9b2J\u202e']\n")
    assert shown_plan(harmless) == harmless.read_text()
    shown = shown_plan(hostile)
    assert shown.replace("\n", "").isprintable()
    assert tomllib.loads(shown) == {"backends": ["\x9b2J\u202e"]}
