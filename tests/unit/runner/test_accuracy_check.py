"""Which rows answer alike, and which outputs have a largest class."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import launches
import pytest

from irbench.errors import IrbenchError
from irbench.runner import accuracy_check
from irbench.runner.accuracy_check import answers_key, judged_class_axes
from irbench.runner.reference import ReferenceOutputs
from irbench.spec import AccuracyLimit, Artifact, Bundle, Cell, TensorSpec, Workload
from irbench.system.confinement import Confinement
from irbench.worker import requested_confinement

GROUP = launches.group("ort", batch=1)
ROW = replace(GROUP.cells[0], artifact=Artifact("onnx", Path("net.onnx"), (), ()))


def key(**changes: Any) -> object:
    return answers_key(replace(ROW, **changes), GROUP)


def with_load(**changes: Any) -> Cell:
    return replace(ROW, load=replace(ROW.load, **changes))


@pytest.mark.parametrize("load", [{"threads": 8}, {"streams": 4}, {"instances": 2}, {"batch": 16}])
def test_rows_that_only_call_otherwise_answer_alike(load: dict[str, int]) -> None:
    assert answers_key(with_load(**load), GROUP) == key()


@pytest.mark.parametrize(
    "row",
    [
        replace(ROW, backend="openvino"),
        replace(ROW, device="gpu"),
        replace(ROW, artifact=Artifact("onnx", Path("net.onnx"), (), (), variant="basic-int8")),
        replace(ROW, dynamic=True),
        with_load(precision="bf16"),
        with_load(options={"fast_math": "1"}),
    ],
    ids=["backend", "device", "graph", "dynamic", "precision", "options"],
)
def test_all_else_may_change_answers(row: Cell) -> None:
    assert answers_key(row, GROUP) != key()


def model(*outputs: TensorSpec, **facts: Any) -> Workload:
    graph = Artifact("onnx", Path("net.onnx"), (), outputs)
    return Workload(Bundle("net", (), (graph,), **facts), {"batch": 1})


SCORES = TensorSpec("scores", "float32", ("batch", 1000))
BOXES = TensorSpec("boxes", "float32", ("batch", 84, 8400))


@pytest.mark.parametrize(
    ("workload", "judged"),
    [
        (model(SCORES), (1,)),
        (model(replace(SCORES, shape=("batch", "classes"))), (1,)),
        (model(replace(SCORES, shape=("batch", 1000, 1, 1))), (1,)),
        (model(BOXES, SCORES, class_axes=(None, 1)), (None, 1)),
        (model(BOXES, classifier=True), (-1,)),
        (model(SCORES, class_axes=()), ()),
        (model(SCORES, SCORES), ()),
        (model(SCORES, SCORES, classifier=True), ()),
        (model(BOXES), ()),
        (model(replace(SCORES, shape=("batch", 1))), ()),
        (model(replace(SCORES, dtype="int64")), ()),
    ],
    ids=[
        *(
            "scores",
            "unknown classes",
            "pooled",
            "known outputs",
            "known to be one",
            "known to be none",
            "several outputs",
        ),
        *("one of several", "boxes", "one score", "integers"),
    ],
)
def test_outputs_that_hold_scores_are_judged_and_the_only_one_where_nobody_knows(
    workload: Workload, judged: tuple[int | None, ...]
) -> None:
    assert judged_class_axes(workload) == judged


def test_the_worker_that_runs_a_model_for_its_accuracy_is_confined_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[Any] = []
    monkeypatch.setenv("IRBENCH_CONFINE", "1")
    monkeypatch.setattr(requested_confinement, "require_confinement", lambda: None)
    monkeypatch.setattr(accuracy_check, "call_in_worker", lambda *_, confinement=None, **__: asked.append(confinement))
    row = replace(ROW, artifact=Artifact("tf-graph", tmp_path / "graph.pb", (), ()), program=None)
    workload = replace(model(SCORES), feeding=replace(model(SCORES).feeding, samples=(tmp_path / "x.npz",)))
    answered = accuracy_check.AnsweredModel(workload, ReferenceOutputs(None, None), 0)
    accuracy_check.accuracy_of(row, AccuracyLimit(0.9), answered, 1.0)
    assert asked == [Confinement((tmp_path / "graph.pb", tmp_path / "x.npz"), for_runtime=True)]


def test_a_measure_of_the_users_is_not_called_beside_a_model_that_is_confined(monkeypatch: pytest.MonkeyPatch) -> None:
    requested_confinement.refuse_own_code_beside_models("metrics.py:f1")
    monkeypatch.setenv("IRBENCH_CONFINE", "1")
    requested_confinement.refuse_own_code_beside_models("")
    with pytest.raises(IrbenchError, match=r"metrics\.py:f1 is called in the process that runs the model") as refused:
        requested_confinement.refuse_own_code_beside_models("metrics.py:f1")
    assert "--min-accuracy" in refused.value.hint
