"""Graphs with dynamic shapes, through the front door: those that cannot be bound, and sessions that meet several."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import models
import numpy as np
import onnx
import pytest
from fake_runs import FASTEST
from front_door import irbench

from irbench.stats.rederive import rederive
from irbench.store.runs import Store

pytestmark = pytest.mark.usefixtures("known_backends")


@pytest.fixture
def model(tmp_path: Path) -> Path:
    return models.mlp(tmp_path).path


def table(model: Path, scripts: Sequence[str], *arguments: object) -> dict[str, Any]:
    """Return the table of one backend for each script: what it refuses, or nothing."""
    letters = "abc"[: len(scripts)]
    faults = [setting for letter, fault in zip(letters, scripts, strict=True) for setting in _fault(letter, fault)]
    names = ",".join(f"fake-{letter}" for letter in letters)
    called = irbench("run", model, "--backends", names, "--format", "json", *FASTEST, *faults, *arguments)
    found: dict[str, Any] = called.document["groups"][0]
    return found


def _fault(name: str, fault: str) -> tuple[str, str]:
    return "--set", f"fake-{name}.fault={fault or 'none'}"


def notes(found: dict[str, Any]) -> list[dict[str, Any]]:
    return [note["facts"] for note in found["notes"] if note["code"] == "graph-refused"]


@pytest.mark.ci
def test_where_one_runtime_refuses_bound_shapes_all_rows_run_dynamic_ones_and_the_table_says_so(model: Path) -> None:
    found = table(model, ["", "refuse-bound"])
    assert {cell["label"]: (cell["dynamic"], cell["state"]) for cell in found["cells"]} == {
        "fake-a dynamic": (True, "ok"),
        "fake-b dynamic": (True, "ok"),
    }
    (note,) = notes(found)
    assert note["backend"] == "fake-b"
    assert note["refused"] == "bound"
    assert note["reason"].endswith("mlp.onnx: shapes contradict each other")
    assert "/" not in note["reason"]
    assert found["shapes"] == {"pixels": [1, 3, 8, 8]}
    shown = irbench("show")
    assert "fake-a dynamic" in shown.out
    assert "dynamic shapes kept: fake-b fails with fixed ones" in " ".join(shown.out.split())


@pytest.mark.slow
def test_a_runtime_that_refuses_dynamic_shapes_keeps_bound_ones(model: Path) -> None:
    found = table(model, ["", "refuse-bound", "refuse-dynamic"])
    assert {cell["label"]: cell["state"] for cell in found["cells"]} == {
        "fake-a dynamic": "ok",
        "fake-b dynamic": "ok",
        "fake-c": "ok",
    }
    assert [(note["backend"], note["refused"]) for note in notes(found)] == [("fake-b", "bound"), ("fake-c", "dynamic")]


@pytest.mark.ci
def test_a_runtime_that_refuses_both_fails_alone(model: Path) -> None:
    found = table(model, ["", "refuse-either"])
    assert [(cell["label"], cell["state"]) for cell in found["cells"]] == [("fake-a", "ok"), ("fake-b", "failed")]
    assert not notes(found)


@pytest.mark.slow
def test_the_table_of_a_refused_graph_is_derived_from_its_samples_again(model: Path, tmp_path: Path) -> None:
    table(model, ["", "refuse-bound"], "--results", tmp_path / "results")
    store = Store(tmp_path / "results")
    folder = store.find("latest")
    stored = store.load(folder)
    assert rederive(stored, store.launches(folder)) == stored


@pytest.mark.ci
def test_cold_starts_run_dynamic_shapes_where_bound_ones_are_refused(model: Path) -> None:
    called = irbench(
        "run", model, "--backends", "fake-a,fake-b", "--cold", "--budget", "0.01s", "--format", "json",
        *_fault("b", "refuse-bound"),
    )  # fmt: skip
    (found,) = called.document["cold_starts"]
    rows = {(row["label"], row["cache"], row["state"]) for row in found["rows"]}
    assert rows == {(f"fake-{name} dynamic", cache, "ok") for name in "ab" for cache in ("cold", "warm")}
    assert [note["backend"] for note in notes(found)] == ["fake-b"]


@pytest.mark.ci
def test_a_row_that_refuses_bound_shapes_is_soaked_with_dynamic_ones(model: Path) -> None:
    called = irbench("soak", model, "--backends", "fake-a", "--calls", 10, *_fault("a", "refuse-bound"))
    assert called.code == 0, called.err
    assert "fake-a dynamic" in called.out
    assert "dynamic shapes kept: fake-a fails with fixed ones" in " ".join(called.out.split())
    either = irbench(
        "soak", model, "--backends", "fake-a", "--calls", 10, "--format", "json", *_fault("a", "refuse-either")
    )
    (found,) = either.document["soaks"]
    assert [(row["label"], row["state"]) for row in found["rows"]] == [("fake-a", "failed")]
    assert not notes(found)


@pytest.mark.ci
def test_a_session_meets_several_shapes(tmp_path: Path) -> None:
    path = models.two_inputs(tmp_path).path
    swept = ("--shapes", "length=5,9", "--dynamic")
    called = irbench("run", path, "--backends", "fake-a", *swept, "--format", "json", *FASTEST)
    assert called.code == 0, called.err
    tables = called.document["groups"]
    assert [found["shapes"]["tokens"] for found in tables] == [[1, 5], [1, 9]]
    for found in tables:
        bound, dynamic = sorted(found["cells"], key=lambda cell: cell["dynamic"])
        assert (bound["label"], dynamic["label"]) == ("fake-a", "fake-a dynamic")
        assert bound["new_shape_ms"] is None
        assert dynamic["new_shape_ms"] > 0
        assert dynamic["state"] == "ok"
    assert called.document["plan"]["sweep"] == {"length": [[5], [9]]}


@pytest.mark.ci
def test_each_shape_has_a_table_with_a_row_for_each_batch(tmp_path: Path) -> None:
    path = models.two_inputs(tmp_path).path
    swept = ("--shapes", "length=5,9", "--batch", "1,2")
    called = irbench("run", path, "--backends", "fake-a,fake-b", *swept, "--format", "json", *FASTEST)
    assert called.code == 0, called.err
    rows = [sorted((cell["batch"], cell["label"]) for cell in found["cells"]) for found in called.document["groups"]]
    assert rows == [[(batch, name) for batch in (1, 2) for name in ("fake-a", "fake-b")]] * 2
    shown = irbench("show", "latest").out
    _, table = shown.split("all rows")
    shapes = [line.split()[:4] for line in table.splitlines() if line.strip().startswith("fake-")]
    assert sorted(shapes) == sorted(
        [name, batch, "tokens", f"{batch}x{length},"]
        for name in ("fake-a", "fake-b")
        for batch in "12"
        for length in "59"
    )


@pytest.mark.ci
def test_a_runtime_may_refuse_a_branch_that_bound_shapes_do_not_reach(tmp_path: Path) -> None:
    path = two_rates(tmp_path / "rates.onnx")
    called = irbench("verify", path, "--shape", "samples=8", "--backends", "ort", "--format", "json")
    (cell,) = called.document["cells"]
    assert (cell["label"], cell["state"], cell["dynamic"]) == ("ort dynamic", "ok", True)


@pytest.mark.ci
def test_a_graph_that_cannot_be_bound_is_optimised_with_dynamic_shapes(tmp_path: Path) -> None:
    path = two_rates(tmp_path / "rates.onnx")
    levels = ("--shape", "samples=8", "--optimize", "none,basic")
    called = irbench("run", path, "--backends", "ort", *levels, "--format", "json", *FASTEST)
    (found,) = called.document["groups"]
    rows = {cell["label"]: (cell["dynamic"], cell["state"]) for cell in found["cells"]}
    assert rows == {"ort dynamic": (True, "ok"), "ort+basic dynamic": (True, "ok")}
    (note,) = (note["facts"] for note in found["notes"] if note["code"] == "graph-unbound")
    assert note["variant"] == "basic"
    assert "rates.onnx" in note["reason"]
    assert str(tmp_path) not in note["reason"]


def two_rates(path: Path) -> Path:
    """Write a model with a branch for 8 samples and one for 16; with either size, the other branch is impossible."""
    value, node = onnx.helper.make_tensor_value_info, onnx.helper.make_node
    weights = [
        onnx.numpy_helper.from_array(np.ones((8, 4), np.float32), "eight"),
        onnx.numpy_helper.from_array(np.ones((16, 4), np.float32), "sixteen"),
        onnx.numpy_helper.from_array(np.array(8), "limit"),
        onnx.numpy_helper.from_array(np.array(1), "axis"),
    ]
    branches = {
        f"{name}_branch": onnx.helper.make_graph(
            [node("MatMul", ["x", weight], [name])], name, [], [value(name, onnx.TensorProto.FLOAT, None)]
        )
        for name, weight in (("then", "eight"), ("else", "sixteen"))
    }
    nodes = [
        node("Shape", ["x"], ["shape"]),
        node("Gather", ["shape", "axis"], ["length"], axis=0),
        node("Equal", ["length", "limit"], ["is_eight"]),
        node("If", ["is_eight"], ["y"], **branches),
    ]
    given, made = (value(name, onnx.TensorProto.FLOAT, ["N", size]) for name, size in (("x", "samples"), ("y", 4)))
    graph = onnx.helper.make_graph(nodes, "g", [given], [made], weights)
    onnx.save(onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17)], ir_version=9), path)
    return path
