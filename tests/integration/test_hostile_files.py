"""Files from elsewhere through the front door: one clear line, one remedy, the right exit code, and no crash."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import hostile_files as hostile
import models
import pytest
from fake_runs import FASTEST, cell
from front_door import Called, irbench, irbench_here, irbench_process
from onnx import TensorProto, helper

pytestmark = pytest.mark.usefixtures("known_backends")

_IDENTITY = helper.make_node("Identity", ["x"], ["y"])
_AGAIN = "Export or download it again"
_OUTSIDE = "outside its own folder"

REFUSED = {
    "empty": (hostile.raw(b""), "m.onnx is empty", _AGAIN),
    "random bytes": (hostile.raw(bytes(range(255, 0, -1)) * 9), "is not an ONNX model", _AGAIN),
    "zeros": (hostile.raw(bytes(4096)), "is not an ONNX model", _AGAIN),
    "cut in half": (hostile.cut(0.5), "is not an ONNX model", _AGAIN),
    "truncated": (hostile.cut(0.99), "is not an ONNX model", _AGAIN),
    "endless varints": (hostile.raw(b"\xff" * 4096), "is not an ONNX model", _AGAIN),
    "an impossible length": (hostile.raw(b"\x3a\xff\xff\xff\xff\xff\xff\xff\xff\x7f"), "is not an ONNX model", _AGAIN),
    "nested beyond any depth": (hostile.deep, "is not an ONNX model", _AGAIN),
    "text": (hostile.raw(b"hello, world\n"), "is a text file", ".onnx"),
    "a name that is not printable": (
        hostile.raw(b"\x08", os.fsdecode(b"m\xff.onnx")),
        "that are not printable",
        "Rename",
    ),
    "a page": (hostile.raw(b"<!DOCTYPE html><html>Log in"), "is an HTML page", "Download it again"),
    "a Git LFS pointer": (
        hostile.raw(b"version https://git-lfs.github.com/spec/v1\noid sha256:12\nsize 9\n"),
        "is a Git LFS pointer",
        "git lfs pull",
    ),
    "an archive": (hostile.zipped, "is a ZIP archive", "Unpack it"),
    "a TensorFlow Lite model": (hostile.raw(b"\x1c\0\0\0TFL3\0\0"), "is a TensorFlow Lite model", "made from"),
    "a folder": (hostile.folder_called_model, "is a folder", "Give an ONNX file"),
    "a pipe": (hostile.pipe, "is not a regular file", "Give an ONNX file"),
    "a device": (hostile.endless_device, "is not a regular file", "Give an ONNX file"),
    "a loop of links": (hostile.loop_of_links, "cannot be read", "Give an ONNX file"),
    "larger than protobuf": (hostile.huge, "at most 2 GiB", "save_as_external_data=True"),
    "nothing": (lambda folder: folder / "none.onnx", "There is no file", "Check the path"),
    "a cycle": (hostile.changed(hostile.cyclic), "form a cycle through 'relu'", "export it again"),
    "out of order": (hostile.changed(hostile.unsorted), "not in the order in which they can run", "Sort them"),
    "missing weights": (hostile.changed(hostile.without_weights), "has no tensor 'kernel'", "export it again"),
    "a later opset": (hostile.changed(hostile.of_opset(999)), "uses opset 999", "pip install --upgrade onnx"),
    "a negative opset": (hostile.changed(hostile.of_opset(-4)), "is not an ONNX model", _AGAIN),
    "an invalid size": (hostile.changed(hostile.of_sizes(1, 3, 8, 2**40)), "invalid size", _AGAIN),
    "more values than memory": (
        hostile.changed(hostile.of_sizes(2**20, 3, 2**20, 2**20)), "of memory are available", "--shape"
    ),
    "a name that breaks the line": (hostile.changed(hostile.named("a\n\x1b[31mb")), "has no tensor 'a", "again"),
    "no inputs": (hostile.constant, "has no inputs: its outputs are always the same", "an input of the graph"),
    "no outputs": (
        hostile.graph_of([_IDENTITY], [hostile.value("x", ["N"])], []), "has no outputs", "Export it again"
    ),
    "complex numbers as input": (
        hostile.graph_of(
            [_IDENTITY],
            [hostile.value("x", ["N"], TensorProto.COMPLEX64)],
            [hostile.value("y", ["N"], TensorProto.COMPLEX64)],
        ),
        "'x' of",
        "works with real numbers",
    ),
    "a sequence as input": (hostile.of_type(helper.make_sequence_type_proto), "is a sequence", "tensors"),
    "an optional input": (hostile.of_type(helper.make_optional_type_proto), "is an optional", "tensors"),
    "a map as input": (
        hostile.of_type(lambda kind: helper.make_map_type_proto(TensorProto.INT64, kind)), "is a map", "tensors"
    ),
    "an unknown rank": (
        hostile.graph_of([_IDENTITY], [hostile.value("x", None)], [hostile.value("y", ["N"])]),
        "no known rank",
        "shape_inference",
    ),
    "a dynamic dimension": (
        hostile.graph_of([_IDENTITY], [hostile.value("x", ["N", "T"])], [hostile.value("y", ["N", "T"])]),
        "Input x of m needs a size for its dynamic dimension 'T'",
        "--shape T=128",
    ),
    "a dimension of zero": (
        hostile.graph_of([_IDENTITY], [hostile.value("x", [2, 0])], [hostile.value("y", [2, 0])]),
        "needs a size for its dynamic dimension",
        "--shape x_1=128",
    ),
    "weights at an absolute path": (hostile.with_external(location="/etc/passwd"), _OUTSIDE, "relative location"),
    "weights in the folder above": (hostile.with_external(location="../weights.bin"), _OUTSIDE, "relative location"),
    "weights in the runtime's memory": (
        hostile.with_external(location="*/_ORT_MEM_ADDR_/*"), "which no file can be called", "relative location"
    ),
    "weights behind a link": (
        hostile.with_external(
            lambda folder: (folder / "weights.bin").symlink_to((folder / "weights.bin").rename(folder.parent / "w"))
        ),
        "are a symbolic link to /",
        "hint: That is outside the model's folder. If it is what you want to read, make a copy without links: cp -rL",
    ),
    "weights behind a link within the folder": (
        hostile.with_external(
            lambda folder: (folder / "weights.bin").symlink_to((folder / "weights.bin").rename(folder / "w"))
        ),
        "are a symbolic link to",
        "hint: Make a copy without links: cp -rL",
    ),
    "weights behind a link to nothing": (
        hostile.with_external(
            lambda folder: ((folder / "weights.bin").unlink(), (folder / "weights.bin").symlink_to("/nowhere/w"))
        ),
        "are a symbolic link to /nowhere/w, which cannot be reached",
        "in place of the link",
    ),
    "weights that are a folder": (
        hostile.with_external(
            lambda folder: ((folder / "weights.bin").unlink(), (folder / "weights.bin").mkdir())
        ),
        "'weights.bin' are a folder",
        "in place of the folder",
    ),
    "weights that are a pipe": (
        hostile.with_external(
            lambda folder: ((folder / "weights.bin").unlink(), os.mkfifo(folder / "weights.bin"))
        ),
        "'weights.bin' are a pipe",
        "copy the file of weights there",
    ),
    "weights that are gone": (
        hostile.with_external(lambda folder: (folder / "weights.bin").unlink()),
        "'weights.bin' are missing",
        "Copy the file",
    ),
    "weights cut short": (
        hostile.with_external(lambda folder: os.truncate(folder / "weights.bin", 100)), "beyond the end", "truncated"
    ),
    "weights beyond the file": (hostile.with_external(offset="99999999999"), "beyond the end", "again"),
    "fewer weights than the shape": (hostile.with_external(length="4"), "4 of them are stored", _AGAIN),
    "an offset below zero": (hostile.with_external(offset="-8"), "is not a number of bytes: '-8'", _AGAIN),
}  # fmt: skip


@pytest.mark.parametrize(("build", "said", "hint"), REFUSED.values(), ids=REFUSED.keys())
def test_a_file_that_cannot_be_measured_is_one_line_and_its_remedy(
    tmp_path: Path, own_home: Path, build: hostile.Build, said: str, hint: str
) -> None:
    folder = tmp_path / "model"
    folder.mkdir()
    problem, remedy = hostile.refusal(irbench_here("run", build(folder), "--backends", "fake-a"))
    assert said in problem
    assert hint in remedy
    assert not (own_home / "results").exists()


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_of_somebody_elses_is_refused(tmp_path: Path) -> None:
    path = models.mlp(tmp_path).path
    path.chmod(0)
    problem, remedy = hostile.refusal(irbench("run", path, "--backends", "fake-a"))
    assert "Permission denied" in problem
    assert "is yours" in remedy


def test_a_size_of_zero_is_refused_where_it_is_asked_for(tmp_path: Path) -> None:
    path = models.two_inputs(tmp_path).path
    problem, remedy = hostile.refusal(irbench("run", path, "--backends", "fake-a", "--shape", "tokens=1x0"))
    assert "0" in problem
    assert remedy


@pytest.mark.ci
def test_what_the_hint_says_about_a_free_dimension_works(tmp_path: Path) -> None:
    called = run(models.two_inputs(tmp_path).path, "fake-a", "--shape", "tokens=1x128")
    assert called.code == 0, called.err


@pytest.mark.ci
def test_an_operator_that_a_runtime_does_not_know_is_a_row_with_its_reason(tmp_path: Path) -> None:
    path = hostile.changed(hostile.from_another_domain)(tmp_path)
    called = run(path, "ort,openvino")
    assert called.code == 3, called.err
    for backend in ("ort", "openvino"):
        row = cell(called, backend)
        assert row["state"] == "failed"
        assert "org.nobody" in row["failure"]["message"]


@pytest.mark.ci
def test_a_file_on_which_every_runtime_crashes_leaves_the_coordinator_alive(tmp_path: Path) -> None:
    path = models.mlp(tmp_path).path
    called = run(path, "fake-a", "--set", "fake-a.fault=crash", "--set", "fake-a.at=compile")
    assert called.code == 3, called.err
    assert "crashed with SIGSEGV" in cell(called, "fake-a")["failure"]["message"]


@pytest.mark.ci
def test_a_check_that_crashes_is_one_line_and_its_remedy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "onnx").mkdir()
    (tmp_path / "onnx" / "__init__.py").write_text("import os\nos.abort()\n")  # what a defect in native code does
    monkeypatch.setenv("PYTHONPATH", f"{tmp_path}{os.pathsep}{os.environ['PYTHONPATH']}")
    path = models.mlp(tmp_path / "model").path
    problem, remedy = hostile.refusal(irbench_process("run", path, "--backends", "ort"))
    assert "crashed with SIGABRT" in problem
    assert "export or download it again" in remedy


@pytest.mark.ci
def test_weights_in_a_file_of_their_own_are_measured(tmp_path: Path) -> None:
    called = run(hostile.with_external()(tmp_path), "ort")
    assert called.code == 0, called.err
    assert (tmp_path / "weights.bin").stat().st_nlink == 1


@pytest.mark.ci
def test_weights_with_several_names_are_measured(tmp_path: Path) -> None:
    path = hostile.with_external(lambda folder: os.link(folder / "weights.bin", folder / "again.bin"))(tmp_path)
    called = run(path, "ort,openvino")
    assert called.code == 0, called.err


@pytest.mark.ci
def test_a_file_that_shrinks_while_it_is_measured_is_a_row_with_its_reason(tmp_path: Path) -> None:
    path = hostile.changed(hostile.of_sizes(1, 3, 8, 8))(tmp_path)
    arguments = [sys.executable, "-m", "irbench", "run", str(path), "--backends", "ort,openvino", "--format", "json"]
    with subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as started:
        assert started.stderr is not None
        while "launch 1 done" not in (line := started.stderr.readline()):
            assert line, "it ended before its first launch"
        os.truncate(path, 100)
        out, err = started.communicate(timeout=240)
    called = Called(started.returncode, out, err)
    assert called.code == 3, err
    for backend in ("ort", "openvino"):
        assert cell(called, backend)["failure"]["message"]


@pytest.mark.slow
def test_weights_above_two_gigabytes_are_bound_verified_and_measured(tmp_path: Path) -> None:
    rows, columns = 36_000_000, 16  # 2.3 GB
    table = TensorProto(name="table", data_type=TensorProto.FLOAT, dims=(rows, columns))
    table.data_location = TensorProto.EXTERNAL
    table.external_data.add(key="location", value="weights.bin")
    node = helper.make_node("Gather", ["table", "x"], ["y"])
    inputs, outputs = [hostile.value("x", ["N"], TensorProto.INT64)], [hostile.value("y", ["N", columns])]
    path = hostile.graph_of([node], inputs, outputs, [table])(tmp_path)
    with (tmp_path / "weights.bin").open("wb") as file:
        file.truncate(rows * columns * 4)
    called = run(path, "ort,openvino", "--batch", "4")
    assert called.code == 0, called.err
    assert "unverified" not in called.out
    assert cell(called, "openvino")["output_error"]["max_rel"] == 0


def run(path: Path, backends: str, *arguments: object) -> Called:
    return irbench("run", path, "--backends", backends, "--format", "json", *FASTEST, *arguments)
