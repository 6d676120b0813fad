"""``irbench verify`` through its front door."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import models
import numpy as np
import onnx
import pytest
from data_sets import write_set
from front_door import irbench
from onnx import TensorProto, helper
from onnx.reference import ReferenceEvaluator

from irbench.onnx.reading.element_types import numpy_dtype
from irbench.spi import Array

pytestmark = pytest.mark.usefixtures("known_backends")

FAKES = ("--backends", "fake-a,fake-b")
REAL = ("--backends", "ort,openvino")


@pytest.fixture
def model(tmp_path: Path) -> Path:
    return models.mlp(tmp_path).path


def answer(model: Path, batch: int, seed: int = 0) -> tuple[Array, Array]:
    """Return inputs of a batch, and what the model must answer to them."""
    pixels = np.random.default_rng(seed).random((batch, 3, 8, 8), np.float32)
    (scores,) = ReferenceEvaluator(str(model)).run(None, {"pixels": pixels})  # type: ignore[misc]
    return pixels, scores


def test_without_data_the_outputs_are_compared_with_a_reference(model: Path):
    called = irbench("verify", model, *FAKES)
    assert called.code == 0, called.err
    title, _, heading, first, second = called.out.splitlines()[:5]
    assert title == "mlp: outputs compared with ort with optimisations off · 1x3x8x8"
    assert heading.split()[:3] == ["backend", "prec", "outputs"]
    assert [first.split()[:3], second.split()[:3]] == [["fake-a", "fp32", "match"], ["fake-b", "fp32", "match"]]


@pytest.mark.ci
def test_the_json_has_the_cells_of_a_run(model: Path):
    called = irbench("verify", model, *REAL, "--format", "json")
    assert called.code == 0, called.err
    assert called.document["complete"] is True
    for cell, backend in zip(called.document["cells"], ("ort", "openvino"), strict=True):
        assert cell["backend"] == backend
        assert cell["state"] == "ok"
        assert cell["failure"] is None
        assert cell["output_error"]["max_rel"] < 1e-5
        assert cell["effective"]["precision"] == "fp32"
        assert cell["latency_ms"] is None


@pytest.mark.ci
def test_every_data_set_counts_each_with_its_own_shape(model: Path, tmp_path: Path):
    for number, batch in enumerate((1, 3)):
        pixels, scores = answer(model, batch, number)
        write_set(tmp_path / "data", number, [pixels], [scores])
    called = irbench("verify", model, *FAKES, "--data", tmp_path / "data", "--format", "md")
    assert called.code == 0, called.err
    assert called.out.startswith(f"mlp: outputs compared with {tmp_path / 'data'} (2 data sets)\n\n| backend |")


@pytest.mark.ci
def test_a_corrupted_output_exits_1_and_says_how_far_it_is_and_in_which_data_set(model: Path, tmp_path: Path):
    for number in range(2):
        pixels, scores = answer(model, 1, number)
        write_set(tmp_path / "data", number, [pixels], [scores * (1.5 if number else 1)])
    called = irbench("verify", model, *REAL, "--data", tmp_path / "data")
    assert called.code == 1
    assert "ort: test_data_set_1: wrong outputs: max_rel 0.33 is above 0.001, the tolerance of fp32." in called.out
    assert "openvino: test_data_set_1: wrong outputs" in called.out
    assert called.out.count("WRONG") == 2


@pytest.mark.ci
def test_an_output_of_another_shape_is_a_mismatch(model: Path, tmp_path: Path):
    pixels, scores = answer(model, 2)
    write_set(tmp_path / "data", 0, [pixels], [scores[:1]])
    called = irbench("verify", model, *FAKES, "--data", tmp_path / "data", "--format", "json")
    assert called.code == 1
    assert called.document["cells"][0]["state"] == "mismatch"
    assert called.document["cells"][0]["failure"]["message"] == "output 0 has shape 2x5, the reference 1x5"


@pytest.mark.parametrize(
    ("pixels", "given"),
    [(np.zeros((1, 3, 9, 8), np.float32), "float32 of 1x3x9x8"), (np.zeros((1, 3, 8, 8)), "float64 of 1x3x8x8")],
)
def test_data_that_do_not_fit_the_model_are_refused(pixels: Array, given: str, model: Path, tmp_path: Path):
    write_set(tmp_path / "data", 0, [pixels], [np.zeros((1, 5), np.float32)])
    called = irbench("verify", model, *FAKES, "--data", tmp_path / "data")
    assert called.code == 2
    assert (
        f"test_data_set_0 gives {given} for the input 'pixels', which takes float32 of batch x 3 x 8 x 8." in called.err
    )


def passed_on(folder: Path, dtype: str) -> Path:
    """Return a model that answers with its input, beside a scalar."""
    element = TensorProto.STRING if dtype == "string" else helper.np_dtype_to_tensor_dtype(numpy_dtype(dtype))
    inputs = [helper.make_tensor_value_info("x", element, ["batch", 3]), helper.make_tensor_value_info("s", 1, [])]
    outputs = [helper.make_tensor_value_info("y", element, ["batch", 3]), helper.make_tensor_value_info("t", 1, [])]
    nodes = [helper.make_node("Identity", ["x"], ["y"]), helper.make_node("Add", ["s", "s"], ["t"])]
    graph = helper.make_graph(nodes, "g", inputs, outputs)
    onnx.save(
        helper.make_model(graph, opset_imports=[helper.make_opsetid("", 19)], ir_version=10), folder / "same.onnx"
    )
    return folder / "same.onnx"


@pytest.mark.ci
@pytest.mark.parametrize("dtype", ["int8", "uint8", "bfloat16", "float8_e4m3fn", "string"])
@pytest.mark.parametrize("given", ["data", "seeded"])
def test_inputs_of_any_type_are_fed_and_compared(dtype: str, given: str, tmp_path: Path):
    path = passed_on(tmp_path, dtype)
    x = np.array([["1", "2", "0"]], object) if dtype == "string" else np.array([[1, 2, 0]]).astype(numpy_dtype(dtype))
    half = np.array(0.5, np.float32)
    write_set(tmp_path / "data", 0, (x, half), (x, half * 2))
    data = ("--data", tmp_path / "data") if given == "data" else ()
    called = irbench("verify", path, *data, "--backends", "ort", "--format", "json")
    assert called.code == 0, called.err
    assert called.document["cells"][0]["output_error"]["max_abs"] == 0


@pytest.mark.ci
def test_free_dimensions_are_bound_by_shape(tmp_path: Path):
    path = models.two_inputs(tmp_path).path
    called = irbench("verify", path, *REAL, "--shape", "tokens=2x7")
    assert called.code == 0, called.err
    assert irbench("verify", path, *REAL).code == 2


@pytest.mark.parametrize(
    ("arguments", "wrong"),
    [
        ((), "Nothing to verify."),
        (("--only", "test_add*"), "--only needs a test suite."),
        (("--suite", "onx"), "'onx' is not"),
        (("resnet50", "--suite", "onnx"), "A model and --suite cannot be combined."),
        (("--suite", "onnx", "--shape", "x=1"), "--shape and --suite cannot be combined."),
        (("--suite", "onnx", "--backends", "tf"), "tf does not read ONNX"),
    ],
)
def test_a_wrong_call_says_what_is_wrong(arguments: tuple[str, ...], wrong: str):
    called = irbench("verify", *arguments)
    assert called.code == 2
    assert wrong in called.err


def test_a_backend_that_is_not_installed_exits_5(model: Path):
    assert irbench("verify", model, "--backends", "fake-absent").code == 5


@pytest.mark.ci
def test_the_suite_ends_in_a_scoreboard_for_each_backend_and_operator():
    called = irbench("verify", "--suite", "onnx", "--only", "test_add*", *REAL)
    assert called.code == 0, called.err
    lines = called.out.splitlines()
    assert lines[0].startswith("ONNX backend test suite of onnx ")
    assert lines[2].split() == ["backend", "version", "passed", "wrong", "unsupported", "crashed", "skipped"]
    assert [line.split()[0] for line in lines[3:5]] == ["ort", "openvino"]
    assert "openvino passes every case of: Add." in called.out


@pytest.mark.slow
def test_a_pattern_that_no_case_matches_is_refused():
    called = irbench("verify", "--suite", "onnx", "--only", "add", *REAL)
    assert called.code == 2
    assert "No case of the suite is called 'add'." in called.err


@pytest.mark.slow
def test_an_interrupted_suite_prints_what_was_done():
    command = [sys.executable, "-m", "irbench", "verify", "--suite", "onnx", "--backends", "ort", "--format", "json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        for line in process.stderr:
            if " cases after " in line:
                break
        os.kill(process.pid, signal.SIGINT)
        out, _ = process.communicate()
    assert process.returncode == 130
    assert '"complete": false' in out
    assert '"outcome": "passed"' in out
