"""``--min-accuracy`` and ``--metric`` through the front door, on backends whose outputs are scripted."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import fake_runs
import models
import numpy as np
import onnx
import pytest
from front_door import Called, irbench
from onnx import TensorProto, helper, numpy_helper

import irbench as api

pytestmark = pytest.mark.usefixtures("known_backends")

SMALL = ("--threads", "1", "--instances", "1", "--streams", "1", "--optimize", "none", "--format", "json")
METRICS = """
import numpy as np

def distance(inputs, outputs, expected):
    pairs = zip(outputs, expected, strict=True)
    return float(max(np.abs(own["scores"] - right["scores"]).max() for own, right in pairs))

def fails(inputs, outputs):
    raise KeyError("labels")

def hangs(inputs, outputs):
    import time
    time.sleep(600)
"""


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return models.mlp(tmp_path_factory.mktemp("model")).path


@pytest.fixture(scope="module")
def metrics(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("metrics") / "metrics.py"
    file.write_text(METRICS)
    return file


def tune(model: Path, *arguments: object) -> Called:
    return irbench("tune", model, "--backends", "fake-a,fake-b", "--batch", "1,4", *SMALL, *arguments)


def rows(called: Called) -> dict[str, dict[str, Any]]:
    return {row["label"]: row for row in called.document["groups"][0]["cells"]}


@pytest.mark.ci
def test_a_row_that_misses_the_limit_is_not_timed_and_says_its_value(model: Path):
    called = fake_runs.run(model, "--min-accuracy", "99%", "--set", "fake-b.fault=mirrored")
    assert called.code == 1, called.err
    found = rows(called)
    assert found["fake-a"]["accuracy"]["value"] == 1
    assert found["fake-a"]["latency_ms"] is not None
    assert found["fake-b"]["state"] == "mismatch"
    assert found["fake-b"]["latency_ms"] is None
    assert "is below 99 %" in found["fake-b"]["failure"]["message"]
    assert "32 random inputs" in irbench("show", called.document["run_id"]).out


@pytest.mark.ci
def test_a_row_that_keeps_the_limit_may_miss_the_tolerance_and_is_marked(model: Path):
    wrong = ("--set", "fake-b.fault=wrong")
    assert rows(fake_runs.run(model, *wrong))["fake-b"]["state"] == "mismatch"
    kept = rows(fake_runs.run(model, "--min-accuracy", "99%", *wrong))["fake-b"]
    assert kept["state"] == "ok"
    assert [mark["code"] for mark in kept["marks"]] == ["beyond-tolerance"]
    assert kept["accuracy"]["misses_tolerance"]


@pytest.mark.ci
def test_outputs_that_change_between_calls_are_wrong_whatever_the_limit(model: Path):
    changing = fake_runs.run(model, "--min-accuracy", "99%", "--set", "fake-b.fault=drift")
    row = rows(changing)["fake-b"]
    assert row["state"] == "mismatch"
    assert "change between calls" in row["failure"]["message"]


@pytest.mark.ci
@pytest.mark.parametrize(
    ("function", "options", "reason"),
    [
        ("fails", (), "fails raised KeyError: 'labels'"),
        ("hangs", ("--deadline", "6s"), "It gave no answer within 6 s"),
    ],
)
def test_a_measure_that_fails_is_the_reason_of_its_row(
    model: Path, metrics: Path, function: str, options: tuple[str, ...], reason: str
):
    called = irbench(
        "run", model, "--backends", "fake-a", "--metric", f"{metrics}:{function}>=0.9", "--format", "json",
        *fake_runs.FASTEST, *options,
    )  # fmt: skip
    row = rows(called)["fake-a"]
    assert called.code == 3
    assert (row["state"], row["failure"]["stage"]) == ("failed", "accuracy")
    assert reason in row["failure"]["message"]


@pytest.mark.ci
def test_a_stored_run_is_asked_for_again_with_its_limit(model: Path, metrics: Path):
    called = fake_runs.run(model, "--metric", f"{metrics}:distance<=0.5")
    assert rows(called)["fake-b"]["accuracy"]["value"] < 1e-3
    plan = api.plan_from(called.document["run_id"])
    assert plan["defaults"]["metric"] == f"{metrics}:distance<=0.5"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--min-accuracy", "99"), "not a valid share of samples"),
        (("--min-accuracy", "all"), "--min-accuracy"),
        (("--metric", "gone.py:fn>=0.9"), "no file gone.py"),
        (("--metric", "irbench.core.output_check:tolerance"), "no limit"),
        (("--metric", "irbench.core.output_check:gone>=0.9"), "gone"),
        (("--min-accuracy", "99%", "--value", "pixels=0"), "One sample says nothing about agreement"),
    ],
)
def test_what_cannot_be_meant_is_refused_with_the_way_out(model: Path, arguments: tuple[str, ...], said: str):
    called = irbench("run", model, "--backends", "fake-a", *fake_runs.FASTEST, *arguments)
    assert called.code == 2
    assert said in called.err
    assert "hint" in called.err


@pytest.fixture
def detector(tmp_path: Path) -> Path:
    """Return a model whose first output are boxes, and whose second are probabilities of classes."""
    random = np.random.default_rng(0)
    weights = {name: random.normal(size=(8, size)).astype(np.float32) for name, size in {"a": 4, "b": 5}.items()}
    nodes = [
        helper.make_node("MatMul", ["x", "a"], ["box"]),
        helper.make_node("MatMul", ["x", "b"], ["logits"]),
        helper.make_node("Softmax", ["logits"], ["label"]),
    ]
    sizes = {"x": 8, "box": 4, "label": 5}
    x, *outputs = (helper.make_tensor_value_info(name, TensorProto.FLOAT, ["N", size]) for name, size in sizes.items())
    stored = [numpy_helper.from_array(array, name) for name, array in weights.items()]
    graph = helper.make_graph(nodes, "detector", [x], outputs, stored)
    onnx.save(
        helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9), tmp_path / "detector.onnx"
    )
    return tmp_path / "detector.onnx"


@pytest.mark.ci
def test_agreement_is_of_the_output_with_the_classes_and_names_it(detector: Path):
    called = fake_runs.run(detector, "--min-accuracy", "99%")
    assert called.code == 0, called.err
    assert "fake-a fp32: top-1 agreement of label 100 %" in called.err
    assert rows(called)["fake-a"]["accuracy"]["limit"]["classes"] == ["label"]
    assert rows(called)["fake-a"]["output_error"]["top1_agreement"] == 1


@pytest.mark.ci
def test_a_verification_names_the_output_with_the_classes(detector: Path):
    called = irbench("verify", detector, "--backends", "fake-a")
    assert called.code == 0, called.err
    assert called.out.splitlines()[0].endswith("top-1 agreement of label")
    assert "100 %" in called.out


@pytest.mark.ci
def test_the_user_chooses_the_outputs_with_classes(detector: Path):
    called = fake_runs.run(detector, "--min-accuracy", "99%", "--classes", "box")
    assert called.code == 0, called.err
    assert "checking outputs: top-1 agreement of box at least 99 %" in called.err
    assert rows(called)["fake-a"]["accuracy"]["limit"]["classes"] == ["box"]


@pytest.mark.parametrize("command", [["run", "--backends", "fake-a"], ["tune"], ["verify"], ["optimize"]])
def test_classes_of_an_output_that_is_not_there_are_refused(detector: Path, command: list[str]):
    called = irbench(*command, detector, "--classes", "lable")
    assert called.code == 2
    assert "no model has an output called 'lable'" in called.err
    assert "Did you mean label?" in called.err


def test_a_model_without_classes_is_refused_with_the_way_to_a_measure(tmp_path: Path):
    boxes = models.two_inputs(tmp_path).path
    called = irbench("run", boxes, "--backends", "fake-a", "--min-accuracy", "99%", "--shape", "length=4")
    assert called.code == 2
    assert "--metric" in called.err
    assert "--classes, of mixed, total" in called.err


@pytest.mark.slow
def test_a_search_leaves_out_what_misses_the_limit_and_tells_the_best_of_it(model: Path):
    called = tune(
        model, "--min-accuracy", "90%", "--vary", "fake-b.fault=default,mirrored",
        "--set", "fake-b.call_us=100", "--set", "fake-a.call_us=150", *fake_runs.ENOUGH,
    )  # fmt: skip
    assert called.code == 0, called.err
    report = called.document
    assert (report["setting"]["backend"], report["setting"]["options"].get("fault")) == ("fake-b", None)
    assert report["setting"]["accuracy"] == 1
    assert (report["excluded"]["settings"], report["excluded"]["combinations"]) == (2, 1)
    assert report["excluded"]["best"]["options"]["fault"] == "mirrored"
    assert report["excluded"]["best"]["accuracy"] < 0.9
    assert report["random_inputs"] == 32
    assert all(point["setting"]["accuracy"] == 1 for point in report["front"])
    again = irbench(*report["command"][1:], "--format", "json", *fake_runs.FASTEST)
    assert again.document["groups"][0]["cells"][0]["accuracy"]["value"] == 1


@pytest.mark.slow
def test_a_search_may_choose_what_misses_the_tolerance_and_says_so(model: Path, metrics: Path):
    called = tune(
        model, "--metric", f"{metrics}:distance<=0.9", "--set", "fake-b.fault=wrong", *fake_runs.ENOUGH,
        "--set", "fake-b.call_us=100", "--set", "fake-a.call_us=300",
    )  # fmt: skip
    assert called.code == 0, called.err
    assert called.document["setting"]["backend"] == "fake-b"
    assert called.document["setting"]["misses_tolerance"]
    assert called.document["setting"]["accuracy"] > 0


@pytest.mark.slow
def test_a_search_without_a_default_that_keeps_the_limit_is_refused_with_its_value(model: Path, metrics: Path):
    called = tune(
        model, "--metric", f"{metrics}:distance<=0.001", "--set", "fake-a.fault=wrong", "--set", "fake-b.fault=wrong"
    )
    assert called.code == 2
    assert "fake-a without any option has" in called.err


@pytest.mark.slow
def test_int8_is_searched_where_a_limit_is_given_and_judged_on_given_samples(model: Path, tmp_path: Path):
    random = np.random.default_rng(0)
    for number in range(24):
        np.save(tmp_path / f"{number}.npy", random.random((1, 3, 8, 8), np.float32))
    found = api.tune(
        model, backends="ort", data=tmp_path, threads=1, streams=1, instances=1, min_accuracy="50%", budget="20s",
        vary={}, progress=None,
    )  # fmt: skip
    assert found.search is not None
    searched = {row.artifact for row in found.search.table.result.cells}
    assert "onnx+basic-int8" in searched
    assert found.setting is not None
    assert found.setting.accuracy is not None
    assert found.setting.accuracy >= 0.5
    assert found.report.random_inputs == 0
