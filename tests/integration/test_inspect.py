"""``irbench inspect`` through its front door."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import hostile_files as hostile
import models
import onnx
import pytest
from front_door import irbench, irbench_here
from written_graphs import graph, ones

from irbench.spec import Bundle
from irbench.store.card import Card, write_card
from irbench.system.file_states import digest


@pytest.fixture
def model(tmp_path: Path) -> Path:
    return models.mlp(tmp_path).path


def test_a_graph_is_described_to_a_reader(model: Path) -> None:
    called = irbench("inspect", model)
    assert called.code == 0, called.err
    title, _, _, given, made, *_ = called.out.splitlines()
    assert title.startswith("mlp  6 nodes · 869 parameters")
    assert given.split(maxsplit=3) == ["input", "pixels", "float32", "batch x 3 x 8 x 8"]
    assert made.split(maxsplit=3) == ["output", "scores", "float32", "batch x 5"]
    assert "14.5 kMACs for pixels 1x3x8x8" in called.out.splitlines()
    assert ["Conv", "1", "17", "%"] in [line.split() for line in called.out.splitlines()]


def test_a_graph_is_described_to_a_program(model: Path) -> None:
    called = irbench("inspect", model, "--format", "json")
    (found,) = called.document["graphs"]
    assert found["nodes"] == 6
    assert found["operators"]["Conv"] == 1
    assert found["parameters"] == 869
    assert found["opsets"] == {"ai.onnx": 17}
    assert found["dynamic_dimensions"] == ["batch"]
    assert found["inputs"][0]["shape"] == ["batch", 3, 8, 8]
    assert found["passes"] is None
    convolution, dense = 8 * 8 * 8 * 3 * 3 * 3, 8 * 4 * 4 * 5
    assert found["work"] == {"macs": convolution + dense, "inputs": {"pixels": [1, 3, 8, 8]}, "uncounted": []}


def test_arithmetic_is_not_guessed_where_a_size_is_unknown(tmp_path: Path) -> None:
    graph = models.two_inputs(tmp_path).path
    (found,) = irbench("inspect", graph, "--format", "json").document["graphs"]
    assert found["work"] is None
    assert "MACs for" not in irbench("inspect", graph).out


def test_a_product_that_cannot_be_counted_is_told(model: Path) -> None:
    changed = onnx.load(model)
    dense = next(node for node in changed.graph.node if node.op_type == "Gemm")
    dense.op_type, dense.domain = "FusedMatMul", "somebody"
    changed.opset_import.append(onnx.helper.make_opsetid("somebody", 1))
    onnx.save(changed, model)
    assert "at least 13.8 kMACs for pixels 1x3x8x8; 1 node could not be counted" in irbench("inspect", model).out


def test_two_graphs_are_compared_by_the_names_of_their_nodes(model: Path, tmp_path: Path) -> None:
    changed = onnx.load(model)
    relu = next(node for node in changed.graph.node if node.name == "relu")
    relu.op_type = "Sigmoid"
    onnx.save(changed, tmp_path / "other.onnx")
    called = irbench("inspect", "--diff", model, tmp_path / "other.onnx")
    assert called.code == 0, called.err
    assert "relu (Relu to Sigmoid)" in called.out
    document = irbench("inspect", "--diff", model, tmp_path / "other.onnx", "--format", "json").document
    assert document["operators"] == {"Relu": {"before": 1, "after": 0}, "Sigmoid": {"before": 0, "after": 1}}
    assert [item["after"]["operator"] for item in document["changed"]] == ["Sigmoid"]


def test_equal_graphs_are_said_to_be_equal(model: Path) -> None:
    assert "The nodes are the same." in irbench("inspect", "--diff", model, model).out


def test_a_graph_that_irbench_cannot_run_is_still_described(model: Path) -> None:
    changed = onnx.load(model)
    changed.graph.input[0].type.tensor_type.elem_type = onnx.TensorProto.COMPLEX64
    onnx.save(changed, model)
    called = irbench("inspect", model)
    assert called.code == 0
    assert called.err.startswith("warning: 'pixels'")
    assert "6 nodes" in called.out


@pytest.mark.parametrize(
    ("arguments", "said", "hint"),
    [
        (("nobody.onnx",), "no file nobody.onnx", "path"),
        (("resnet50",), "not been exported", "irbench export resnet50"),
        (("my.package:build",), "not been exported", "irbench export my.package:build"),
        (("--diff", "a.onnx"), "compares two graphs", "--diff A B"),
    ],
)
def test_what_is_not_there_is_one_line_and_its_remedy(arguments: tuple[str, ...], said: str, hint: str) -> None:
    called = irbench("inspect", *arguments)
    assert called.code == 2
    problem, remedy = called.err.strip().splitlines()
    assert said in problem
    assert hint in remedy


def test_a_damaged_file_is_refused_once(model: Path) -> None:
    model.write_bytes(model.read_bytes()[:1000])
    called = irbench_here("inspect", model)
    assert called.code == 2
    assert called.err.splitlines() == [
        f"error: {model} is not an ONNX model, or is damaged.",
        "hint: Export or download it again.",
    ]


@pytest.mark.parametrize(
    ("break_it", "said"),
    [
        (lambda folder: (folder / "weights.bin").unlink(), "The model's weights 'weights.bin' are missing."),
        (lambda folder: os.truncate(folder / "weights.bin", 100), "extend beyond the end of 'weights.bin'."),
    ],
    ids=["missing", "short"],
)
def test_weights_that_are_not_there_are_told_and_the_graph_is_described_all_the_same(
    tmp_path: Path, break_it: Callable[[Path], object], said: str
) -> None:
    path = hostile.with_external(break_it)(tmp_path)
    called = irbench_here("inspect", path, "--format", "json")
    assert called.code == 2
    assert said in called.err.splitlines()[0]
    assert len(called.err.splitlines()) == 2
    (graph,) = called.document["graphs"]
    assert said in graph["weights_problem"]
    assert graph["nodes"] > 0
    counted = irbench_here("cost", path, "--batch", "1", "--format", "json")
    assert (counted.code, counted.err) == (2, called.err)
    assert counted.document["nodes"]


def test_sound_weights_in_other_files_are_no_problem(tmp_path: Path) -> None:
    called = irbench_here("inspect", hostile.with_external()(tmp_path), "--format", "json")
    assert (called.code, called.err) == (0, "")
    assert called.document["graphs"][0]["weights_problem"] is None


def test_a_file_of_another_kind_is_said_to_be_no_onnx_file(tmp_path: Path) -> None:
    (tmp_path / "notes.md").write_text("notes")
    called = irbench_here("inspect", tmp_path / "notes.md")
    assert called.code == 2
    assert called.err.splitlines() == [
        f"error: {tmp_path / 'notes.md'} is not an ONNX file.",
        "hint: Give a file that ends with .onnx, or an exported model.",
    ]


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a bundle of which the optimiser made three graphs."""
    tmp_path = tmp_path_factory.mktemp("bundle")
    artifact = models.mlp(tmp_path / "source")
    folder = tmp_path / "mlp"
    folder.mkdir()
    artifact.path.rename(folder / "model.onnx")
    described = Bundle("mlp", models.logical_inputs(artifact), (replace(artifact, path=Path("model.onnx")),))
    write_card(Card(described, "key", "2026-01-01", {"model.onnx": digest(folder / "model.onnx")}), folder)
    for arguments in (("--level", "none"), ("--level", "none", "--batch", "2"), ("--passes", "fake-vendors")):
        assert irbench("optimize", folder, *arguments).code == 0
    return folder


@pytest.mark.ci
def test_optimised_graphs_are_listed_found_by_name_and_compared(bundle: Path) -> None:
    listed = irbench("inspect", bundle).out.splitlines()
    free, bound, named, vendors = listed[-4:]
    assert free.split()[:4] == ["none", "-", "-", "6"]
    assert bound.split()[:4] == ["none", "batch=2", "-", "6"]
    assert named.split()[:4] == ["custom", "-", "fake-vendors", "6"]
    assert vendors == "custom: uses operators of com.microsoft, which only some runtimes support"
    called = irbench("inspect", f"{bundle}+custom")
    assert called.out.startswith("mlp+custom  6 nodes")
    assert "passes: fake-vendors" in called.out
    assert "com.microsoft.FusedConv" in irbench("inspect", "--diff", bundle, f"{bundle}+custom").out
    assert irbench("inspect", f"{bundle}+none").out.startswith("mlp+none  6 nodes")
    found = irbench("inspect", f"{bundle}+none:batch=2", "--format", "json").document["graphs"][0]
    assert found["lineage"]["sizes"] == {"batch": 2}
    assert "fixed: batch=2" in irbench("inspect", found["path"]).out.splitlines()


def test_a_name_of_no_optimised_graph_is_one_line_and_its_remedy(bundle: Path) -> None:
    refused = {
        "none:batch=3": ("was not made for batch=3", f"{bundle}+none:batch=2"),
        "int8": ("has not been optimised as basic-int8 yet", "--level basic --precision int8"),
        "extended-nchw": (
            "not been optimised as extended-nchw yet",
            f"irbench optimize {bundle} --level extended --layout",
        ),
        "costum": ("has no graph costum", "Did you mean custom? Made from it: custom, none."),
    }
    for name, (said, hint) in refused.items():
        called = irbench_here("inspect", f"{bundle}+{name}")
        problem, remedy = called.err.strip().splitlines()
        assert (called.code, said in problem, hint in remedy) == (2, True, True), called.err


def test_a_graph_is_shown_at_the_sizes_asked_for(model: Path) -> None:
    lines = irbench("inspect", model, "--batch", 4).out.splitlines()
    assert ["input", "pixels", "float32", "4x3x8x8"] in [line.split() for line in lines]
    assert "57.9 kMACs for pixels 4x3x8x8" in lines
    (found,) = irbench("inspect", model, "--shape", "pixels=2x3x8x8", "--format", "json").document["graphs"]
    assert found["sizes"] == {"batch": 2}
    assert found["outputs"][0]["shape"] == [2, 5]
    (convolution,) = [value for value in found["values"] if value["operator"] == "Conv"]
    assert convolution == {"name": "convolved", "operator": "Conv", "dtype": "float32", "shape": [2, 8, 8, 8]}


def test_a_dimension_that_gets_no_size_stays_as_it_is(tmp_path: Path) -> None:
    graph = models.two_inputs(tmp_path).path
    (found,) = irbench("inspect", graph, "--shape", "length=7", "--format", "json").document["graphs"]
    assert [spec["shape"] for spec in found["inputs"]] == [[1, 7], [1, 4]]
    (found,) = irbench("inspect", graph, "--batch", 2, "--format", "json").document["graphs"]
    assert found["inputs"][0]["shape"] == [2, "length"]
    assert found["work"] is None


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--shape", "pixel=1x3x8x8"), "Did you mean pixels?"),
        (("--shape", "pixels=1x3x8x9"), "has 9 where the model needs 8"),
        (("--diff", "--batch", "2"), "--diff compares"),
    ],
)
def test_sizes_that_do_not_fit_are_refused(model: Path, options: tuple[str, ...], said: str) -> None:
    called = irbench("inspect", model, *(model,) * ("--diff" in options), *options)
    assert called.code == 2
    assert said in called.err


@pytest.mark.ci
@pytest.mark.parametrize(("command", "said"), [("inspect", ("reading", "counting what")), ("cost", ("counting what",))])
def test_a_terminal_is_told_what_is_done_and_a_pipe_nothing(model: Path, command: str, said: tuple[str, ...]) -> None:
    ours, theirs = pty.openpty()
    arguments = [sys.executable, "-m", "irbench", command, str(model)]
    shown = subprocess.run(
        arguments,
        stdout=subprocess.PIPE,
        stderr=theirs,
        env={**os.environ, "TERM": "xterm", "COLUMNS": "300"},
        check=True,
    )
    os.close(theirs)
    told = os.read(ours, 2**16).decode()
    os.close(ours)
    for words in said:
        assert f"{words} {model}" in told
    piped = subprocess.run(arguments, capture_output=True, check=True)
    assert piped.stderr == b""
    assert piped.stdout.splitlines()[0] == shown.stdout.splitlines()[0]


def test_a_cost_that_onnx_cannot_infer_is_said_to_be_left_out(tmp_path: Path) -> None:
    lacking = graph("(float[1,3] x) => (float[1,5] y) { z = own.Foo (x)  y = MatMul (z, w) }", w=ones(3, 5))
    del lacking.opset_import[-1]
    onnx.save(lacking, tmp_path / "lacking.onnx")
    called = irbench_here("inspect", tmp_path / "lacking.onnx")
    assert called.code == 0
    assert "warning: The cost is left out: ONNX cannot infer the shapes of " in called.err
    assert called.out.startswith("lacking  2 nodes")
