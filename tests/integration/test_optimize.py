"""``irbench optimize`` and ``irbench run --optimize`` through their front door."""

from __future__ import annotations

from pathlib import Path

import models
import onnx
import pytest
from fake_runs import FASTEST
from front_door import irbench


@pytest.fixture
def model(tmp_path: Path) -> Path:
    return models.mlp(tmp_path).path


def test_each_pass_is_a_row_and_the_result_is_copied_where_it_is_wanted(model: Path, tmp_path: Path) -> None:
    better = tmp_path / "better.onnx"
    called = irbench("optimize", model, "--passes", "fake-idle,fake-harmless", "--batch", "1", "-o", better)
    assert called.code == 0, called.err
    title, _, original, idle, harmless, path = called.out.splitlines()
    assert title.split() == ["mlp", "custom:", "6", "to", "7", "nodes"]
    assert original.split()[:2] == ["original", "6"]
    assert "nothing to do" in idle
    assert harmless.split() == ["fake-harmless", "7", "+1", "0", "+1", "Identity"]
    assert Path(path.strip()).read_bytes() == better.read_bytes()
    assert irbench("inspect", better, "--format", "json").document["graphs"][0]["operators"]["Identity"] == 1


def test_a_pass_that_breaks_the_model_is_one_line_and_its_remedy(model: Path) -> None:
    called = irbench("optimize", model, "--passes", "fake-harmless,fake-wrong")
    assert called.code == 2
    *_, problem, remedy = called.err.splitlines()
    assert problem.startswith("error: The pass fake-wrong breaks mlp: wrong outputs")
    assert remedy == "hint: Leave it out: --passes fake-harmless"


@pytest.mark.parametrize(
    ("arguments", "said", "hint"),
    [
        (("--level", "most"), "'most'", "none, basic, extended, all"),
        (("--passes", "fake-armless"), "fake-armless", "fake-harmless"),
        (("--batch", "1,2"), "one size", "in turn"),
        (("another.onnx", "-o", "x.onnx"), "one file", "one model at a time"),
    ],
)
def test_a_wrong_call_is_one_line_and_its_remedy(model: Path, arguments: tuple[str, ...], said: str, hint: str) -> None:
    called = irbench("optimize", model, *arguments)
    assert called.code == 2
    problem, remedy = called.err.strip().splitlines()
    assert said in problem
    assert hint in remedy


@pytest.mark.slow
def test_a_run_measures_graphs_before_and_after_side_by_side(model: Path) -> None:
    called = irbench(
        "run", model, "--backends", "fake-a,fake-b", "--optimize", "none,basic", "--format", "json", *FASTEST
    )
    assert called.code == 0, called.err
    (group,) = called.document["groups"]
    labels = [cell["label"] for cell in group["cells"]]
    assert labels == ["fake-a", "fake-a+basic", "fake-b", "fake-b+basic"]
    assert [cell["artifact"] for cell in group["cells"]] == ["onnx", "onnx+basic"] * 2
    assert all(cell["state"] == "ok" for cell in group["cells"])


def turned(path: Path) -> Path:
    """Let the model at ``path`` take its images as NHWC and turn them into NCHW itself."""
    changed = onnx.load(path)
    pixels, conv = changed.graph.input[0], changed.graph.node[0]
    channels, rows, columns = (one.dim_value for one in list(pixels.type.tensor_type.shape.dim)[1:])
    for dimension, size in zip(list(pixels.type.tensor_type.shape.dim)[1:], (rows, columns, channels), strict=True):
        dimension.dim_value = size
    conv.input[0] = "turned"
    changed.graph.node.insert(0, onnx.helper.make_node("Transpose", ["pixels"], ["turned"], perm=[0, 3, 1, 2]))
    onnx.save(changed, path)
    return path


def test_images_become_nchw_where_the_graph_turns_them_into_that(model: Path, tmp_path: Path) -> None:
    better = tmp_path / "better.onnx"
    called = irbench("optimize", turned(model), "--level", "none", "--layout", "nchw", "-o", better)
    assert called.code == 0, called.err
    title, _, _, step, _ = called.out.splitlines()
    assert title.split() == ["mlp", "none-nchw:", "7", "to", "6", "nodes"]
    assert step.split() == ["inputs_to_nchw", "6", "-1", "0", "-1", "Transpose"]
    (graph,) = irbench("inspect", better, "--format", "json").document["graphs"]
    assert graph["inputs"][0]["shape"] == ["batch", 3, 8, 8]


def test_a_layout_that_nothing_is_to_be_done_for_is_one_line_and_no_error(model: Path) -> None:
    called = irbench("optimize", model, "--level", "none", "--layout", "nchw")
    assert called.code == 0
    assert called.err.splitlines()[-1] == "mlp: no input leads into a Transpose to NCHW, so the layout stays as it is"


@pytest.mark.slow
def test_an_exported_model_runs_with_its_images_turned(model: Path) -> None:
    assert irbench("export", "cnn_cifar10", "--layout", "keep").code == 0
    graphs = [
        irbench("optimize", "cnn_cifar10", "--layout", layout, "--format", "json").document["optimized"][0]
        for layout in ("keep", "nchw")
    ]
    before, after = (one["steps"][-1]["operators"]["Transpose"] for one in graphs)
    assert after == before - 1
    called = irbench(
        "run",
        "cnn_cifar10",
        "--backends",
        "ort,openvino",
        "--optimize",
        "none,basic-nchw",
        "--format",
        "json",
        *FASTEST,
    )
    assert called.code == 0, called.err
    cells = called.document["groups"][0]["cells"]
    assert {cell["label"] for cell in cells} == {"ort", "ort+basic-nchw", "openvino", "openvino+basic-nchw"}
    assert all(cell["output_error"]["max_rel"] < 1e-4 for cell in cells)
