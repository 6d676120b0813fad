"""Programs of a bug report: they run in the folder of a reduced graph, with a runtime and NumPy alone."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import onnx
import onnx.parser
import pytest

from irbench.core.address import BackendAddress
from irbench.features.reduce.cutting import write_arrays
from irbench.features.reduce.expectation import SlowerThan, WrongAnswers
from irbench.features.reduce.options import ReduceOptions
from irbench.features.reduce.report import TensorFacts
from irbench.features.reduce.reproduction import (
    EXPECTED_FILE,
    INPUTS_FILE,
    MODEL_FILE,
    code_without_irbench,
    repeat_command,
    script,
)
from irbench.options.run import RunOptions
from irbench.spec import Load
from irbench.spi import Usage

RACE = SlowerThan("fake-a", "fake-b", 1.5)
LOAD = "def load(path):\n    return path"
CALLER = """\
class Caller:
    def __init__(self, model):
        self.model = model

    def stage(self, inputs):
        self.inputs = inputs

    def run(self):
        ran(self.inputs)

    def fetch(self):
        return answers()"""
USAGE = Usage("", LOAD, CALLER)
OUTPUT = (TensorFacts("y", "float32", (2,)),)
GRAPH = '<ir_version: 10, opset_import: ["" : 20]> net (float[2] x) => (float[2] y) { y = Neg(x) }'


@pytest.mark.parametrize(
    ("p50_ms", "calls"), [(None, 200), (0.01, 200), (100.0, 50), (60_000.0, 11)], ids=["unknown", "short", "50", "long"]
)
def test_a_median_is_of_as_many_calls_as_take_a_few_seconds(p50_ms: float | None, calls: int):
    text = script(USAGE, "slower", OUTPUT, p50_ms)
    assert f"timeit.repeat(caller.run, number=1, repeat={calls})" in text


def test_a_median_is_printed_of_calls_that_are_given_the_stored_inputs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.chdir(tmp_path)
    write_arrays(tmp_path / INPUTS_FILE, {"x": np.zeros(2)})
    called: list[object] = []
    exec(script(USAGE, "slower", OUTPUT, 1e3), {"ran": called.append})
    assert capsys.readouterr().out.startswith("median of 11 calls: ")
    assert [list(inputs) for inputs in called] == [["x"]] * 11  # type: ignore[call-overload]


def test_a_failure_needs_the_call_alone():
    assert script(USAGE, "failing", OUTPUT).splitlines()[-1] == "caller.run()"


def test_variables_are_set_before_the_runtime_is_imported():
    text = script(Usage("import runtime", LOAD, CALLER, environment={"RUNTIME_LEVEL": "1"}), "failing")
    assert text.index("RUNTIME_LEVEL") < text.index("import runtime")


def test_nothing_is_compared_where_the_expected_outputs_are_not_stored():
    assert EXPECTED_FILE not in script(USAGE, "wrong")
    assert EXPECTED_FILE in script(USAGE, "wrong", OUTPUT)


@pytest.mark.parametrize(
    ("value", "right", "said"),
    [
        ([1.0, 2.5], [1.0, 2.0], "y: off by 0.5 of 2.0"),
        ([np.inf, 1.0], [np.inf, 1.0], "y: off by 0.0 of inf"),
        ([np.nan, 1.0], [3.0, 1.0], "y: off by nan of 3.0"),
        ([True, True], [True, False], "y: off by 1.0 of 1.0"),
        ([3, 4], [3, 1], "y: off by 3.0 of 3.0"),
        (["a", "b"], ["a", "c"], "y: 1 of 2 values differ"),
        ([], [], "y: off by 0.0 of 0.0"),
        (np.zeros((0, 4), np.int64), np.zeros((0, 4), np.int64), "y: off by 0.0 of 0.0"),
        ([1.0, 2.0, 3.0], [1.0, 2.0], "y: shape (3,) instead of (2,)"),
        ([[1.0], [2.0]], [1.0, 2.0], "y: shape (2, 1) instead of (2,)"),
        ([], [1.0], "y: shape (0,) instead of (1,)"),
        (["a"], ["a", "c"], "y: shape (1,) instead of (2,)"),
    ],
)
@pytest.mark.filterwarnings("ignore:invalid value")
def test_the_difference_is_that_to_what_the_reference_answers(
    value: list[object], right: list[object], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
):  # fmt: skip
    monkeypatch.chdir(tmp_path)
    write_arrays(tmp_path / INPUTS_FILE, {"x": np.zeros(2)})
    write_arrays(tmp_path / EXPECTED_FILE, {"y": np.asarray(right)})
    kind = "string" if len(value) and isinstance(value[0], str) else "float32"
    text = script(USAGE, "wrong", (TensorFacts("y", kind, (2,)),))
    exec(text, {"ran": lambda _inputs: None, "answers": lambda: [np.asarray(value)]})
    assert capsys.readouterr().out.strip() == said


@pytest.mark.ci
@pytest.mark.parametrize("backend", ["ort", "openvino"])
@pytest.mark.parametrize(
    ("criterion", "said"), [("wrong", "y: off by 0.0 of 2.0"), ("slower", "median of 200 calls: ")]
)
def test_each_runtime_runs_it_without_irbench(backend: str, criterion: str, said: str, tmp_path: Path):
    onnx.save(onnx.parser.parse_model(GRAPH), tmp_path / MODEL_FILE)
    write_arrays(tmp_path / INPUTS_FILE, {"x": np.array([1, -2], np.float32)})
    write_arrays(tmp_path / EXPECTED_FILE, {"y": np.array([-1, 2], np.float32)})
    loads = {BackendAddress(backend): Load(batch=1, threads=1)}
    ((_, usage),) = code_without_irbench(loads, (TensorFacts("x", "float32", (2,)),), OUTPUT)
    text = script(usage, criterion, OUTPUT)  # type: ignore[arg-type]
    assert "irbench" not in text
    ran = subprocess.run([sys.executable, "-c", text], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.startswith(said)


def test_arrays_are_written_with_their_rank_and_in_order_of_c(tmp_path: Path):
    written = {"scalar": np.array(2.5, np.float32), "turned": np.arange(6.0).reshape(2, 3).T, "none": np.zeros((0, 2))}
    write_arrays(tmp_path / INPUTS_FILE, written)
    with np.load(tmp_path / INPUTS_FILE) as read:
        assert {name: array.tolist() for name, array in read.items()} == {n: a.tolist() for n, a in written.items()}
        assert [read[name].shape for name in written] == [(), (3, 2), (0, 2)]


def test_the_command_that_repeats_it_has_the_settings_that_matter():
    run = RunOptions(precision=("bf16",), threads=(2,), set={"ort": {"a.b": "1"}})
    assert " ".join(repeat_command(ReduceOptions("m.onnx", expect=RACE, run=run))) == (
        "irbench run reduced.onnx --data inputs.npz --backends fake-a,fake-b --precision bf16 --threads 2"
        " --set ort.a.b=1"
    )
    assert repeat_command(ReduceOptions("m.onnx", expect=WrongAnswers("ort")))[:2] == ("irbench", "verify")
