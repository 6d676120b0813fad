"""``irbench optimize`` and ``irbench run --optimize`` through their front door."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import models
import numpy as np
import onnx
import onnxruntime
import pytest
from fake_runs import FASTEST
from front_door import irbench, irbench_here

from irbench.errors import IrbenchError
from irbench.optimizer import LEVELS, Optimized
from irbench.runner import prepare
from irbench.spec import Bundle

pytestmark = pytest.mark.usefixtures("known_backends")


@pytest.fixture
def model(tmp_path: Path) -> Path:
    return models.mlp(tmp_path).path


@pytest.mark.ci
def test_each_pass_is_a_row_and_the_result_is_copied_where_it_is_wanted(model: Path, tmp_path: Path) -> None:
    better = tmp_path / "better.onnx"
    called = irbench("optimize", model, "--passes", "fake-idle,fake-harmless", "--batch", "1", "-o", better)
    assert called.code == 0, called.err
    title, _, original, harmless, idle, bound, checked, path = called.out.splitlines()
    assert title.split() == ["mlp", "custom:", "6", "to", "7", "nodes"]
    assert original.split()[:2] == ["original", "6"]
    assert idle == "no change by 1 pass: fake-idle"
    assert bound == "  fixed: batch 1"
    assert checked.startswith("  checked on ")
    assert called.err.splitlines() == [f"copied to {better}", f"measure it: irbench run {better}"]
    assert harmless.split() == ["fake-harmless", "7", "+1", "0", "+1", "Identity"]
    assert Path(path.strip()).read_bytes() == better.read_bytes()
    assert irbench("inspect", better, "--format", "json").document["graphs"][0]["operators"]["Identity"] == 1


@pytest.mark.ci
def test_lines_below_the_passes_keep_their_indentation_on_a_narrow_terminal(
    model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    called = irbench("optimize", model, "--passes", "fake-harmless")
    assert called.code == 0, called.err
    lines = called.out.splitlines()
    start = next(place for place, line in enumerate(lines) if line.startswith("  checked on "))
    assert len(lines) - start > 2
    assert all(line.startswith("  ") for line in lines[start:])


@pytest.mark.ci
def test_a_pass_that_breaks_the_model_is_one_line_and_its_remedy(model: Path) -> None:
    called = irbench("optimize", model, "--passes", "fake-harmless,fake-wrong")
    assert called.code == 2
    *_, problem, remedy = called.err.splitlines()
    assert problem.startswith("error: The pass fake-wrong breaks mlp: wrong outputs")
    assert remedy == "hint: Leave it out: --passes fake-harmless"


@pytest.mark.ci
def test_a_pass_in_which_the_process_crashes_is_left_out_and_told(model: Path, tmp_path: Path) -> None:
    called = irbench("optimize", model, "--passes", "fake-harmless,fake-crashing", "-o", tmp_path / "made.onnx")
    assert called.code == 0, called.err
    crashed = next(line for line in called.out.splitlines() if "fake-crashing" in line)
    assert crashed.split()[2] == "skipped"
    crash = "the runtime that checks its graph crashed with SIGSEGV; the graph stays as it was before fake-crashing"
    assert f"warning: mlp: {crash}" in called.err.splitlines()
    assert [node.op_type for node in onnx.load(tmp_path / "made.onnx").graph.node].count("Identity") == 1


@pytest.mark.parametrize(
    ("arguments", "said", "hint"),
    [
        (("--level", "most"), "'most'", "none, basic, extended, all"),
        (("--passes", "fake-armless"), "fake-armless", "fake-harmless"),
        (("--batch", "1,2"), "an integer", "irbench optimize --help"),
        (("another.onnx", "-o", "x.onnx"), "single file", "one model at a time"),
        (
            ("--passes", "fake-idle", "--level", "basic"),
            "--passes and --level cannot be combined",
            "--level or --passes",
        ),
    ],
)
def test_a_wrong_call_is_one_line_and_its_remedy(model: Path, arguments: tuple[str, ...], said: str, hint: str) -> None:
    called = irbench("optimize", model, *arguments)
    assert called.code == 2
    problem, remedy = called.err.strip().splitlines()
    assert said in problem
    assert hint in remedy


def test_the_graph_that_is_optimised_is_not_written_over(model: Path) -> None:
    before = model.read_bytes()
    called = irbench("optimize", model, "-o", model)
    assert called.code == 2
    assert "would overwrite the input graph" in called.err
    assert model.read_bytes() == before


@pytest.mark.ci
def test_a_run_measures_graphs_before_and_after_side_by_side(model: Path) -> None:
    called = irbench(
        "run", model, "--backends", "fake-a,fake-b", "--optimize", "none,basic", "--format", "json", *FASTEST
    )
    assert called.code == 0, called.err
    (group,) = called.document["groups"]
    made = {cell["label"]: cell["artifact"] for cell in group["cells"]}
    assert made == {"fake-a": "onnx", "fake-a+basic": "onnx+basic", "fake-b": "onnx", "fake-b+basic": "onnx+basic"}
    assert all(cell["state"] == "ok" for cell in group["cells"])


def test_levels_for_backends_that_read_no_onnx_are_a_wrong_call(model: Path) -> None:
    called = irbench_here("run", model, "--backends", "tf", "--optimize", "basic", "--dry-run")
    assert called.code == 2
    problem, remedy = called.err.strip().splitlines()
    assert problem == "error: --optimize applies to ONNX graphs, and none of the backends reads ONNX: tf."
    assert "Leave --optimize out" in remedy


@pytest.mark.ci
def test_an_optimisation_that_fails_is_told_in_its_row_and_the_others_are_measured(
    model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(LEVELS, "basic", ("fake-failing",))
    called = irbench_here(
        "run", model, "--backends", "fake-a", "--optimize", "none,basic", "--format", "json", *FASTEST
    )
    assert called.code == 3, called.err
    healthy, failed = called.document["groups"][0]["cells"]
    assert (healthy["label"], healthy["state"]) == ("fake-a", "ok")
    assert (failed["label"], failed["state"]) == ("fake-a+basic", "failed")
    assert failed["failure"]["message"].startswith("The pass fake-failing breaks mlp")


@pytest.mark.ci
def test_a_baseline_whose_optimisation_fails_is_replaced_and_the_table_says_so(
    model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(LEVELS, "basic", ("fake-failing",))
    asked = ("--backends", "fake-a", "--optimize", "none,basic", "--baseline", "fake-a+basic")
    called = irbench_here("run", model, *asked, "--format", "json", *FASTEST)
    assert called.code == 3, called.err
    (group,) = called.document["groups"]
    assert [cell["state"] for cell in group["cells"]] == ["ok", "failed"]
    assert "baseline-replaced" in {warning["code"] for warning in group["warnings"]}


@pytest.mark.ci
def test_a_model_whose_every_optimisation_fails_does_not_keep_another_from_being_measured(
    model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    optimize = prepare.optimize

    def optimize_others(bundle: Bundle, *rest: Any) -> Optimized:
        if bundle.name == "mlp":
            raise IrbenchError("The pass basic breaks mlp.", hint="Leave it out.")
        return optimize(bundle, *rest)

    monkeypatch.setattr(prepare, "optimize", optimize_others)
    other = shutil.copy(model, tmp_path / "other.onnx")
    asked = ("--backends", "fake-a,fake-b", "--optimize", "basic", "--apart")
    called = irbench_here("run", model, other, *asked, "--format", "json", *FASTEST)
    assert called.code == 3, called.err
    first, second = called.document["groups"]
    assert {cell["failure"]["stage"] for cell in first["cells"]} == {"optimize"}
    assert {cell["state"] for cell in second["cells"]} == {"ok"}


def turned(path: Path) -> Path:
    """Let the model at ``path`` take its images as NHWC and turn them into NCHW itself."""
    changed = onnx.load(path)
    pixels, conv = changed.graph.input[0], changed.graph.node[0]
    channels, rows, columns = (dim.dim_value for dim in list(pixels.type.tensor_type.shape.dim)[1:])
    for dimension, size in zip(list(pixels.type.tensor_type.shape.dim)[1:], (rows, columns, channels), strict=True):
        dimension.dim_value = size
    conv.input[0] = "turned"
    changed.graph.node.insert(0, onnx.helper.make_node("Transpose", ["pixels"], ["turned"], perm=[0, 3, 1, 2]))
    onnx.save(changed, path)
    return path


@pytest.mark.ci
def test_images_become_nchw_where_the_graph_turns_them_into_that(model: Path, tmp_path: Path) -> None:
    better = tmp_path / "better.onnx"
    called = irbench("optimize", turned(model), "--level", "none", "--layout", "nchw", "-o", better)
    assert called.code == 0, called.err
    title, _, _, step, *_ = called.out.splitlines()
    assert title.split() == ["mlp", "none-nchw:", "7", "to", "6", "nodes"]
    assert step.split() == ["inputs_to_nchw", "6", "-1", "0", "-1", "Transpose"]
    (graph,) = irbench("inspect", better, "--format", "json").document["graphs"]
    assert graph["inputs"][0]["shape"] == ["batch", 3, 8, 8]


@pytest.mark.ci
def test_a_layout_that_nothing_is_to_be_done_for_is_one_line_and_no_error(model: Path) -> None:
    called = irbench("optimize", model, "--level", "none", "--layout", "nchw")
    assert called.code == 0
    warning, nothing = called.err.splitlines()[-2:]
    assert warning == "warning: mlp+none-nchw: the layout is unchanged, because no input feeds a Transpose to NCHW"
    assert nothing == "mlp: nothing to simplify"


@pytest.mark.ci
def test_a_run_says_that_a_layout_changed_nothing_and_its_table_keeps_that(model: Path) -> None:
    asked = ("--backends", "fake-a,fake-b", "--optimize", "none,none-nchw", "--format", "json")
    called = irbench_here("run", model, *asked, *FASTEST)
    assert called.code == 0, called.err
    note = "mlp+none-nchw: the layout is unchanged, because no input feeds a Transpose to NCHW"
    assert note not in called.err  # the table says it
    kept = {"code": "layout-unchanged", "facts": {"model": "mlp", "variant": "none-nchw"}}
    assert called.document["groups"][0]["notes"].count(kept) == 1


@pytest.mark.slow
def test_an_exported_model_runs_with_its_images_turned(model: Path) -> None:
    assert irbench("export", "cnn_cifar10", "--layout", "keep").code == 0
    graphs = [
        irbench("optimize", "cnn_cifar10", "--layout", layout, "--format", "json").document["optimized"][0]
        for layout in ("keep", "nchw")
    ]
    before, after = (graph["steps"][-1]["operators"]["Transpose"] for graph in graphs)
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


@pytest.mark.ci
def test_a_pass_may_be_named_again(model: Path) -> None:
    called = irbench("optimize", model, "--passes", "fake-harmless,fake-idle,fake-harmless", "--format", "json")
    (graph,) = called.document["optimized"]
    assert [step["name"] for step in graph["steps"][1:]] == ["fake-harmless", "fake-idle", "fake-harmless"]


@pytest.mark.slow
def test_weights_above_two_gigabytes_lie_beside_the_result_and_its_copy(tmp_path: Path) -> None:
    rows, columns = 36_000_000, 16  # 2.3 GB
    table = onnx.TensorProto(name="table", data_type=1, dims=(rows, columns), data_location="EXTERNAL")
    table.external_data.add(key="location", value="sub/weights.bin")
    value, node = onnx.helper.make_tensor_value_info, onnx.helper.make_node
    nodes = [node("Gather", ["table", "x"], ["a"]), node("Identity", ["a"], ["b"]), node("Relu", ["b"], ["y"])]
    graph = onnx.helper.make_graph(nodes, "g", [value("x", 7, ["N"])], [value("y", 1, ["N", columns])], [table])
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 18)], ir_version=9)
    onnx.save(model, tmp_path / "large.onnx")
    (tmp_path / "sub").mkdir()
    with (tmp_path / "sub" / "weights.bin").open("wb") as file:
        file.truncate(rows * columns * 4)
    copy = tmp_path / "copy.onnx"
    called = irbench(
        "optimize", tmp_path / "large.onnx", "--passes", "remove_redundant", "--format", "json", "-o", copy
    )
    assert called.code == 0, called.err
    (one,) = called.document["optimized"]
    assert one["steps"][-1]["operators"] == {"Gather": 1, "Relu": 1}
    assert Path(one["path"]).with_name("model.onnx.data").stat().st_size == rows * columns * 4
    Path(one["path"]).with_name("model.onnx.data").unlink()
    session = onnxruntime.InferenceSession(copy, providers=["CPUExecutionProvider"])
    assert session.run(None, {"x": np.array([0, rows - 1])})[0].shape == (2, columns)
