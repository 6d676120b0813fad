"""``irbench optimize --precision`` and the rows it makes in ``irbench run``, through their front door."""

from __future__ import annotations

from pathlib import Path

import models
import numpy as np
import onnx
import onnx.parser
import onnxruntime
import pytest
from fake_runs import FASTEST
from front_door import irbench, irbench_here

from irbench.system.host import int8_weight_bits
from irbench_openvino import runtime

pytestmark = pytest.mark.usefixtures("known_backends")

SMALL = ("--level", "none", "--calibrate", "16", "--format", "json")


@pytest.fixture
def model(tmp_path: Path) -> Path:
    return models.mlp(tmp_path).path


@pytest.mark.ci
def test_what_a_conversion_costs_is_the_last_line_before_its_path(model: Path, tmp_path: Path) -> None:
    made = tmp_path / "int8.onnx"
    called = irbench("optimize", model, "--level", "none", "--precision", "int8", "-o", made)
    assert called.code == 0, called.err
    title, _, _, step, cost, elsewhere, _ = called.out.splitlines()
    assert title.startswith("mlp  none-int8: 6 to ")
    assert step.split()[0] == "quantize_static"
    assert cost.startswith(
        "  int8 compared with fp32 on 64 generated inputs (uniform in [0, 1), calibrated on 64 others) and at 2 other"
        " sizes, computed by ort: max abs "
    )
    assert ", top-1 agreement " in cost  # its outputs are probabilities
    assert elsewhere.startswith("  on 16 generated inputs, ")
    assert ", the worst of 2 other distributions: max err " in elsewhere
    (warning,) = [line for line in called.err.splitlines() if line.startswith("warning: ")]
    assert warning.startswith(
        "warning: mlp+none-int8 was calibrated on generated values of pixels (uniform in [0, 1)):"
    )
    assert warning.endswith("Calibrate on real inputs: --data")
    assert "fold_shapes" not in called.err
    assert onnxruntime.InferenceSession(made, providers=["CPUExecutionProvider"]).get_inputs()[0].name == "pixels"
    assert runtime.core().read_model(made).inputs[0].get_any_name() == "pixels"


@pytest.mark.ci
@pytest.mark.parametrize("precision", ["fp16", "bf16", "int8"])
def test_programs_get_the_figures(model: Path, precision: str) -> None:
    settings = SMALL if precision == "int8" else (*SMALL[:2], *SMALL[4:])
    called = irbench("optimize", model, "--precision", precision, *settings)
    assert called.code == 0, called.err
    (graph,) = called.document["optimized"]
    assert graph["recipe"]["conversion"]["precision"] == precision
    assert graph["agreement"]["samples"] == 64
    assert 0 < graph["agreement"]["error"]["max_rel"] < 0.1
    assert graph["agreement"]["is_recognised"]  # nobody says that the model is a classifier, its outputs look so
    assert 0 < graph["agreement"]["error"]["top1_agreement"] <= 1
    assert [other["drawn"] for other in graph["agreement"]["elsewhere"]] == (
        ["symmetric", "normal"] if precision == "int8" else []
    )


@pytest.mark.ci
def test_inputs_of_another_distribution_calibrate_and_judge(model: Path) -> None:
    called = irbench("optimize", model, "--precision", "int8", "--distribution", "normal", *SMALL)
    assert called.code == 0, called.err
    (graph,) = called.document["optimized"]
    agreement = graph["agreement"]
    assert (agreement["drawn"], agreement["calibrated_on"]) == ("normal", 16)
    assert [other["drawn"] for other in agreement["elsewhere"]] == ["uniform", "symmetric"]
    assert agreement["error"]["max_rel"] < 0.2  # its ranges are those of such inputs
    assert "measure it as a file: add -o FILE" in called.err  # a run would calibrate it on others


@pytest.mark.ci
def test_what_was_calibrated_on_samples_is_not_warned_of(model: Path, tmp_path: Path) -> None:
    data = tmp_path / "pixels.npy"
    np.save(data, np.random.default_rng(3).normal(size=(8, 3, 8, 8)).astype(np.float32))
    called = irbench("optimize", model, "--precision", "int8", "--data", data, "--level", "none")
    assert called.code == 0, called.err
    assert "of data (calibrated on " in called.out
    assert "other distributions" not in called.out
    assert "warning" not in called.err


@pytest.mark.parametrize(
    ("arguments", "said", "hint"),
    [
        (("--calibrate", "8"), "--calibrate applies to int8", "--precision int8"),
        (("--quantize", "static", "--precision", "fp16"), "--quantize applies to int8", "--precision int8"),
        (
            ("--quantize", "dynamic", "--precision", "int8", "--calibrate", "8"),
            "needs no calibration",
            "--quantize dynamic",
        ),
    ],
)
def test_a_wrong_call_is_one_line_and_its_remedy(model: Path, arguments: tuple[str, ...], said: str, hint: str) -> None:
    called = irbench("optimize", model, *arguments)
    assert called.code == 2
    problem, remedy = called.err.strip().splitlines()
    assert said in problem
    assert hint in remedy


@pytest.mark.ci
def test_a_graph_that_was_converted_is_not_converted_again(model: Path, tmp_path: Path) -> None:
    made = tmp_path / "narrow.onnx"
    assert irbench("optimize", model, "--level", "none", "--precision", "fp16", "-o", made).code == 0
    called = irbench("optimize", made, "--level", "none", "--precision", "int8")
    assert called.code == 2
    *_, problem, remedy = called.err.splitlines()
    assert problem == "error: narrow is already fp16 and cannot be converted to int8."
    assert remedy == "hint: Use the fp32 graph it was made from."


def test_a_dry_run_says_the_precision_that_a_file_was_converted_to(tmp_path: Path) -> None:
    narrow = models.mlp(tmp_path, "float16").path
    asked = ("run", narrow, "--backends", "fake-a", "--dry-run")
    assert " · fp16 · " in irbench_here(*asked).out
    assert " · fp32 · " in irbench_here(*asked, "--precision", "fp32").out


@pytest.mark.ci
def test_a_converted_file_runs_in_its_own_precision(model: Path, tmp_path: Path) -> None:
    made = tmp_path / "int8.onnx"
    assert irbench("optimize", model, *SMALL, "--precision", "int8", "-o", made).code == 0
    called = irbench("run", made, "--backends", "ort,openvino", "--format", "json", *FASTEST)
    assert called.code == 0, called.err
    (group,) = called.document["groups"]
    assert [cell["effective"]["precision"] for cell in group["cells"]] == ["int8", "int8"]
    assert not [
        note for note in group["notes"] if note["code"] == "native-precision" and note["facts"]["backend"] == "ort"
    ]


def test_a_precision_that_a_graph_does_not_hold_is_answered_with_what_works(model: Path) -> None:
    called = irbench("run", model, "--backends", "ort", "--precision", "fp16", *FASTEST)
    assert called.code == 2
    hint = called.err.splitlines()[-1]
    assert hint.endswith(": --optimize fp16") or hint.startswith("hint: Choose another with --precision")


@pytest.mark.ci
@pytest.mark.parametrize(
    ("element", "precision"),
    [("float16", "fp16"), ("double", "fp64")],
)
def test_a_file_that_is_not_fp32_runs_as_it_is_on_every_backend(element: str, precision: str, tmp_path: Path) -> None:
    held = tmp_path / "held.onnx"
    text = f"({element}[batch,4] x) => ({element}[batch,2] y) <{element}[4,2] w = {{1,2,3,4,5,6,7,8}}>"
    graph = f"{text} {{ y = MatMul(x, w) }}"
    onnx.save(onnx.parser.parse_model(f'<ir_version: 9, opset_import: ["" : 17]> tiny {graph}'), held)
    called = irbench("run", held, "--backends", "ort,openvino", "--format", "json", *FASTEST)
    assert called.code == 0, called.err
    (group,) = called.document["groups"]
    assert [cell["state"] for cell in group["cells"]] == ["ok", "ok"]
    assert {cell["graph_precision"] for cell in group["cells"]} == {precision}


@pytest.mark.ci
def test_a_run_compares_a_converted_graph_with_its_original_and_marks_the_difference(model: Path) -> None:
    called = irbench(
        *("run", model, "--backends", "ort,openvino", "--optimize", "none,none-int8", "--format", "json", *FASTEST)
    )
    assert called.code == 0, called.err
    (group,) = called.document["groups"]
    assert "fold_shapes" not in called.err
    done = [line for line in called.err.splitlines() if line.startswith("mlp: optimised as ")]
    assert [line.partition(":")[2].split(":")[0] for line in done] == [" optimised as none-int8-static"]
    (note,) = [note for note in group["notes"] if note["code"] == "calibrated-on-generated"]
    assert (note["facts"]["variant"], note["facts"]["ranges"]) == ("none-int8-static", {"pixels": [0.0, 1.0]})
    cells = {cell["label"]: cell for cell in group["cells"]}
    assert set(cells) == {"ort", "ort+none-int8-static", "openvino", "openvino+none-int8-static"}
    for label, cell in cells.items():
        assert cell["state"] == "ok"
        assert cell["effective"]["precision"] == ("int8" if "int8" in label else "fp32")
        mixed = [mark["facts"]["precision"] for mark in cell["marks"] if mark["code"] == "other-precision"]
        assert mixed == (["int8"] if "int8" in label else [])
        assert cell["speedup"] is not None or label == "ort"


@pytest.mark.ci
def test_int8_that_answers_numbers_where_fp32_answers_none_is_called_its_worst_loss(tmp_path: Path) -> None:
    path = tmp_path / "root.onnx"
    weights = ",".join(str(0.01 * number) for number in range(1, 65))
    graph = f"tiny (float[1,8] x) => (float[1,8] y) <float[8,8] w = {{{weights}}}> {{ z = MatMul(x, w) y = Sqrt(z) }}"
    onnx.save(onnx.parser.parse_model(f'<ir_version: 9, opset_import: ["" : 17]> {graph}'), path)
    asked = ("--precision", "int8", "--quantize", "static", "-o", tmp_path / "int8.onnx")
    called = irbench("optimize", path, "--level", "none", *asked)
    assert called.code == 0, called.err
    said = " ".join(f"{called.out} {called.err}".split())
    assert "the worst of 2 other distributions: answers are not finite in one precision" in said
    assert ", answers are not finite in one precision where they are " in said


@pytest.mark.ci
def test_two_files_that_are_named_are_compared_and_marked_whatever_precisions_they_hold(
    model: Path, tmp_path: Path
) -> None:
    quantised = tmp_path / "int8.onnx"
    assert irbench("optimize", model, "--precision", "int8", "-o", quantised, "--calibrate", "8").code == 0
    called = irbench("run", model, quantised, "--backends", "ort", "--format", "json", *FASTEST)
    assert called.code == 0, called.err
    (group,) = called.document["groups"]
    by_precision = {cell["effective"]["precision"]: cell for cell in group["cells"]}  # rows lie by their speed
    assert set(by_precision) == {"fp32", "int8"}
    int8 = by_precision["int8"]
    assert int8["speedup"]["reason"]["facts"] == {"precision": "int8", "baseline_precision": "fp32"}
    assert [mark["code"] for mark in int8["marks"]] == ["other-precision"]
    assert int8["output_error"]["max_rel"] > 0  # its answers were compared with those of the first file


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "most_error", "least_agreement"),
    [
        pytest.param("resnet50", 0.05, 0.7, marks=pytest.mark.zoo),
        ("mobilenet_v2", 0.08, 0.75),
        ("lstm_ptb_1", 0.03, 0.9),
    ],
)
def test_int8_of_the_zoo_stays_near_fp32(name: str, most_error: float, least_agreement: float) -> None:
    called = irbench("optimize", name, "--level", "none", "--precision", "int8", "--format", "json")
    assert called.code == 0, called.err
    error = called.document["optimized"][0]["agreement"]["error"]
    wider = 2 ** (8 - int8_weight_bits())  # a bit less doubles the steps of weights
    assert error["max_rel"] < most_error * wider
    assert error["cosine"] > 0.999
    assert error["top1_agreement"] >= 1 - (1 - least_agreement) * wider
    assert ("answers differently from fp32" in called.err) == (error["top1_agreement"] < 0.9)


@pytest.mark.ci
@pytest.mark.parametrize(("scale", "is_beyond"), [(200.0, False), (2000.0, True)])
def test_what_no_runtime_computed_in_fp16_is_estimated_from_ranges(
    tmp_path: Path, scale: float, is_beyond: bool
) -> None:
    text = f"""<ir_version: 8, opset_import: ["" : 20]>
    g (float[1,3,64,64] image) => (float[1,3,1,1] y, float[1,3,1,1] m)
    <float scale = {{{scale}}}> {{ c = Mul(image, scale)  d = Mul(c, scale)  m = GlobalAveragePool(d)  y = Sqrt(m) }}"""
    onnx.save(onnx.parser.parse_model(text), tmp_path / "mean.onnx")
    called = irbench("optimize", tmp_path / "mean.onnx", "--level", "none", "--precision", "fp16", "--format", "json")
    assert called.code == 0, called.err
    (graph,) = called.document["optimized"]
    agreement, (*_, step) = graph["agreement"], graph["steps"]
    assert (agreement["computed_in"], step["max_rel_error"]) == ("fp32", None)
    assert agreement["narrow_range"]["beyond"] == (2 if is_beyond else 0)
    assert ("above 65504" in called.err) == is_beyond
    assert {value["name"] for value in agreement["narrow_range"]["largest"]} == ({"d", "m"} if is_beyond else set())
