"""Running cases: a worker that dies takes its case with it and no other."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import onnx
import psutil
import pytest
from data_sets import write_set
from onnx import TensorProto, helper
from processes import workers

from irbench.core.address import BackendAddress
from irbench.features.verify.cases import SuiteCase
from irbench.features.verify.suite import run_cases
from irbench.spi import Array

MORTAL = '''
"""A backend that dies of Neg and hangs on Abs."""
import os, time
from fake_backend import FakeBackend

class Mortal(FakeBackend):
    def compile(self, artifact, load, device, phases):
        if artifact.path.stem == "Neg":
            os.abort()
        if artifact.path.stem == "Abs":
            time.sleep(3600)
        return super().compile(artifact, load, device, phases)

mortal = Mortal("mortal")
'''
X = np.array([1, -2], np.float32)


@pytest.fixture
def mortal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Install the mortal backend for workers, and return its name."""
    (tmp_path / "mortal.py").write_text(MORTAL)
    metadata = tmp_path / "mortal-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: mortal\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text("[irbench.backends]\nmortal = mortal:mortal\n")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(tmp_path), os.environ["PYTHONPATH"]]))
    return "mortal"


def case(
    folder: Path, operator: str, expected: Array, shape: tuple[int | str, ...] = (2,), skip: str = ""
) -> SuiteCase:
    given = X if shape else np.array(3, np.float32)
    values = [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name in "xy"]
    graph = helper.make_graph([helper.make_node(operator, ["x"], ["y"])], "g", values[:1], values[1:])
    path = folder / f"{operator}.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
    data = folder / operator
    write_set(data, 0, [given], [expected])
    return SuiteCase(f"test_{operator.lower()}", "node", operator, path, data, 1e-3, 1e-7, skip)


def outcomes(cases: list[SuiteCase], backend: str, scratch: Path, deadline_s: float = 60) -> list[tuple[str, str]]:
    scratch.mkdir()
    results = run_cases(cases, [BackendAddress(backend)], scratch, deadline_s)
    return [(cell.outcome, cell.reason) for (cell,) in results]


@pytest.mark.ci
def test_a_case_that_kills_its_worker_is_crashed_and_the_next_one_runs(mortal: str, tmp_path: Path):
    cases = [case(tmp_path, "Neg", -X), case(tmp_path, "Relu", np.maximum(X, 0))]
    assert outcomes(cases, mortal, tmp_path / "scratch") == [("crashed", "It crashed with SIGABRT."), ("passed", "")]


@pytest.mark.ci
def test_a_worker_that_falls_between_two_cases_is_no_failure_of_the_next(mortal: str, tmp_path: Path):
    cases = [case(tmp_path, "Relu", np.maximum(X, 0)), case(tmp_path, "Floor", np.floor(X))]
    (tmp_path / "scratch").mkdir()
    results = run_cases(cases, [BackendAddress(mortal)], tmp_path / "scratch", 60)
    assert next(results)[0].outcome == "passed"
    (worker,) = workers()
    worker.kill()
    psutil.wait_procs([worker], timeout=60)
    assert next(results)[0].outcome == "passed"


@pytest.mark.ci
def test_a_case_that_hangs_is_ended_at_the_deadline(mortal: str, tmp_path: Path):
    ((outcome, reason),) = outcomes([case(tmp_path, "Abs", abs(X))], mortal, tmp_path / "scratch", deadline_s=2)
    assert outcome == "crashed"
    assert reason == "It gave no answer within 2 s and was ended."


def test_wrong_values_types_and_shapes_are_wrong_and_say_how(tmp_path: Path):
    cases = [
        case(tmp_path, "Neg", X),
        case(tmp_path, "Abs", abs(X).astype(np.float64)),
        case(tmp_path, "Relu", np.zeros((2, 1), np.float32)),
    ]
    assert outcomes(cases, "ort", tmp_path / "scratch") == [
        ("wrong", "off by 4, 2 of the largest element"),
        ("wrong", "output 0 is float32, the reference float64"),
        ("wrong", "output 0 has shape 2, the reference 2x1"),
    ]


def test_free_dimensions_and_scalars_are_fed_as_they_are(tmp_path: Path):
    cases = [case(tmp_path, "Neg", -X, ("n",)), case(tmp_path, "Abs", np.array(3, np.float32), ())]
    assert outcomes(cases, "openvino", tmp_path / "scratch") == [("passed", ""), ("passed", "")]


def test_what_a_runtime_does_not_know_is_unsupported_and_what_irbench_does_not_run_is_skipped(tmp_path: Path):
    unknown = case(tmp_path, "Neg", -X)
    model = onnx.load(unknown.model)
    model.opset_import[0].version = 9999
    onnx.save(model, unknown.model)
    skipped = case(tmp_path, "Abs", abs(X), skip="a sequence")
    (first, reason), second = outcomes([unknown, skipped], "ort", tmp_path / "scratch")
    assert first == "unsupported"
    assert "9999" in reason
    assert str(tmp_path) not in reason
    assert second == ("skipped", "a sequence")
