"""The user's own code as rows beside backends, through the front door: verified, timed, and when it goes wrong."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import models
import numpy as np
import pytest
from fake_runs import FASTEST, cell
from front_door import Called, irbench
from processes import none_left

from irbench.stats.rederive import rederive
from irbench.store.folders import default_root
from irbench.store.runs import Store

pytestmark = [pytest.mark.usefixtures("known_backends"), pytest.mark.ci]

FUNCTIONS = """
import numpy as np
from onnx.reference import ReferenceEvaluator

def load(cell):
    evaluator = ReferenceEvaluator(str(cell.model))
    answers = {}
    def call(inputs):
        key = inputs["pixels"].tobytes()
        if key not in answers:
            answers[key] = evaluator.run(None, inputs)
        return answers[key]
    call.effective = {"precision": "fp32", "threads": cell.threads}
    return call

def silent(inputs):
    sum(range(2000))

def wrong(cell):
    right = load(cell)
    return lambda inputs: [right(inputs)[0] + 1]

def crashes(inputs):
    raise RuntimeError("the device was lost")
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    models.mlp(tmp_path)
    (tmp_path / "loop.py").write_text(FUNCTIONS)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(model: Path, *arguments: object) -> Called:
    """Compare code with a scripted backend in a single launch."""
    return irbench("run", model, "--backends", "fake-a", "--format", "json", *FASTEST, *arguments)


def test_functions_are_rows_whose_outputs_are_verified_where_they_return_some(folder: Path) -> None:
    called = run(
        folder / "mlp.onnx", "--cell", "mine=loop:load", "--cell", "silent=loop.py:silent", "--cell", "off=loop:wrong"
    )
    mine, silent, off = (cell(called, name) for name in ("mine", "silent", "off"))
    assert called.code == 1  # outputs of a row are wrong
    assert mine["state"] == "ok"
    assert mine["output_error"]["max_rel"] < 1e-5
    assert mine["speedup"]["verified"] is True
    assert mine["effective"]["threads"] == mine["requested"]["threads"]
    assert mine["program"] == {"kind": "callable", "target": "loop:load"}
    assert silent["state"] == "ok"
    assert silent["output_error"] is None
    assert silent["speedup"]["verified"] is False
    assert [mark["code"] for mark in silent["marks"]] == ["no-outputs"]
    assert off["state"] == "mismatch"


def test_a_command_is_a_row_that_times_itself_and_its_table_can_be_derived_again(folder: Path) -> None:
    (folder / "own.sh").write_text("while true; do sleep 0.005; echo 4 ms; done\n")
    called = run(folder / "mlp.onnx", "--cell", "own=bash own.sh", "--baseline", "own")
    own = cell(called, "own")
    assert called.code == 0, called.err
    assert own["latency_ms"]["p50"] == 4
    assert own["program"] == {"kind": "command", "target": "bash own.sh"}
    assert {mark["code"] for mark in own["marks"]} == {"no-outputs", "self-timed"}
    assert own["peak_memory_bytes"]["process"] < 50_000_000  # bash's, not that of the process which started it
    store = Store(default_root())
    stored = store.find("latest")
    assert rederive(store.load(stored), store.launches(stored)) == store.load(stored)


def test_a_command_that_returns_outputs_is_verified(folder: Path) -> None:
    (folder / "own.py").write_text(
        "import os, time, numpy as np, irbench\n"
        "from onnx.reference import ReferenceEvaluator\n"
        "evaluator = ReferenceEvaluator(os.environ['IRBENCH_MODEL'])\n"
        "inputs = dict(np.load(os.environ['IRBENCH_INPUTS']))\n"
        "outputs = lambda: {'scores': evaluator.run(None, inputs)[0]}\n"
        "irbench.answer_requests(lambda: time.sleep(0.003), outputs=outputs, effective={'precision': 'fp32'})\n"
    )
    called = run(folder / "mlp.onnx", "--cell", f"own={sys.executable} own.py")
    own = cell(called, "own")
    assert own["state"] == "ok", called.err
    assert own["output_error"]["max_rel"] < 1e-5
    assert own["latency_ms"]["p50"] >= 3
    assert [mark["code"] for mark in own["marks"]] == ["self-timed"]


FAULTS = {
    "boom": ("loop:crashes", "compile", "RuntimeError: the device was lost"),
    "junk": ("echo Loading", "compile", "wrote 'Loading' in place of a duration"),
    "dies": ("bash -c 'echo no GPU >&2; exit 3'", "compile", "ended with exit code 3"),
    "much": ("bash -c 'while true; do echo 9 s; done'", "warm-up", "add up to"),
}


def test_code_that_goes_wrong_is_a_row_with_its_reason_and_the_others_are_measured(folder: Path) -> None:
    asked = [word for name, (code, _, _) in FAULTS.items() for word in ("--cell", f"{name}={code}")]
    called = run(folder / "mlp.onnx", *asked)
    assert called.code == 3
    for name, (_, stage, said) in FAULTS.items():
        row = cell(called, name)
        assert (row["state"], row["failure"]["stage"]) == ("failed", stage), row["failure"]
        assert said in row["failure"]["message"]
    assert "no GPU" in cell(called, "dies")["failure"]["hint"]
    assert cell(called, "fake-a")["state"] == "ok"


def test_a_command_that_gives_no_answer_is_ended_at_the_deadline(folder: Path) -> None:
    called = run(folder / "mlp.onnx", "--deadline", "6s", "--cell", "hang=sleep 600")
    row = cell(called, "hang")
    assert (row["state"], row["failure"]["stage"]) == ("failed", "compile"), row["failure"]
    assert "gave no answer within" in row["failure"]["message"]


def test_a_command_is_given_one_input_and_a_function_all_of_them(folder: Path) -> None:
    samples = np.random.default_rng(0).random((3, 3, 8, 8), np.float32)
    for number, sample in enumerate(samples):
        np.savez(folder / f"{number}.npz", pixels=sample[None])
    (folder / "data").mkdir()
    for number in range(3):
        (folder / f"{number}.npz").rename(folder / "data" / f"{number}.npz")
    called = run(folder / "mlp.onnx", "--data", "data", "--cell", "own=sleep 1", "--cell", "mine=loop:load")
    assert "one input of one shape" in cell(called, "own")["failure"]["message"]
    assert cell(called, "mine")["state"] == "ok"
    assert cell(called, "mine")["output_error"]["max_rel"] < 1e-5


def test_only_ones_own_code_is_measured_where_no_backend_is_wanted(folder: Path) -> None:
    called = run(folder / "mlp.onnx", "--backends", "none", "--cell", "mine=loop:load", "--streams", "2")
    (only,) = called.document["groups"][0]["cells"]
    assert (only["label"], only["state"]) == ("mine x2", "ok")
    assert called.document["groups"][0]["verified_against"] is not None


SCRIPT = """
import irbench
from loop import load

def mine(inputs):
    return None

def main():
    cells = {"mine": mine, "theirs": load}
    run = irbench.run("mlp.onnx", backends="fake-a", cells=cells, quick=True, budget=0.01, progress=None)
    print([(row.label, row.state, row.failure) for row in run.rows])

"""


def test_a_script_measures_functions_of_its_own_and_of_its_modules(folder: Path) -> None:
    said = call_script(folder, SCRIPT + 'if __name__ == "__main__":\n    main()\n')
    assert "('mine', 'ok', None)" in said
    assert "('theirs', 'ok', None)" in said


def test_a_script_that_runs_whenever_it_is_imported_is_told_how_to_begin(folder: Path) -> None:
    said = call_script(folder, SCRIPT + "main()\n")
    assert "('theirs', 'ok', None)" in said
    assert "A run was begun by a process that measures for another run" in said


def call_script(folder: Path, script: str) -> str:
    (folder / "script.py").write_text(script)
    done = subprocess.run([sys.executable, "script.py"], cwd=folder, capture_output=True, text=True, timeout=200)
    return done.stdout + done.stderr


def test_a_command_does_not_outlive_its_run(folder: Path) -> None:
    (folder / "own.sh").write_text("sleep 35918 &\nwhile true; do sleep 0.005; echo 4 ms; done\n")
    called = run(folder / "mlp.onnx", "--cell", "own=bash own.sh")
    assert cell(called, "own")["state"] == "ok"
    assert none_left(lambda process: "35918" in process.cmdline())
