"""What the exporter makes of layers: the operations that runtimes are fast at, and the agreement with the original."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx.reference import ReferenceEvaluator

from irbench.exporter.build import export
from irbench.options.export import ExportOptions
from irbench.store import bundles
from irbench.worker import call_in_worker
from irbench_openvino import runtime

QUIET = {"TF_CPP_MIN_LOG_LEVEL": "3", "CUDA_VISIBLE_DEVICES": "-1"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the converted models are written."""
    return tmp_path_factory.mktemp("converted")


@pytest.fixture(scope="module")
def converted(folder: Path) -> Mapping[str, Any]:
    """Convert every tiny model in one worker: importing TensorFlow takes longer than all of them."""
    found: Mapping[str, Any] = call_in_worker("export_checks:conversions", folder, deadline_s=300, environment=QUIET)
    return found


@pytest.mark.ci
@pytest.mark.parametrize(
    ("case", "present", "absent"),
    [
        ("recurrent", {"LSTM": 2}, {"Loop", "Scan", "If"}),
        ("exact gelu", {"Erf": 1, "Div": 1, "Add": 1, "Mul": 2}, {"Erfc", "Sub", "Neg"}),
        ("erfc", {"Erf": 1, "Sub": 1}, {"Erfc"}),
        ("cache update", {"Concat": 2, "Reshape": 2}, {"ScatterND"}),
        ("cache update of any length", {"Concat": 1, "Reshape": 1}, {"ScatterND"}),
        ("hard sigmoid", {"Transpose": 2, "Conv": 2}, {"Add"}),
        ("grouped convolution", {"Conv": 1}, set()),
        ("free length", {"MatMul": 2}, {"Einsum"}),
        ("wide dense", {"MatMul": 1}, {"Einsum"}),
        ("mixing tokens", {"DFT": 2}, {"Concat"}),
        ("spectrum and back", {"DFT": 2}, set()),
        ("spectrogram", {"DFT": 1, "Slice": 2}, set()),
        ("spectrum of any length", {"DFT": 2}, set()),
        ("padded spectrum", {"DFT": 1}, set()),
        ("spectral convolution", {"DFT": 3}, set()),
        ("turned by angles", {"Atan": 1}, set()),
        ("greatest length", {}, set()),
        ("seeded noise", {}, {"RandomNormal", "RandomUniform"}),
    ],
)
def test_is_converted_to_the_operations_that_runtimes_are_fast_at(case, present, absent, converted):
    operations, error, _ = converted[case]
    assert {name: operations.get(name) for name in present} == present
    assert absent.isdisjoint(operations)
    assert error < 1e-5


@pytest.mark.ci
@pytest.mark.usefixtures("converted")
@pytest.mark.parametrize(
    ("case", "shape"),
    [
        ("mixing tokens", (3, 7, 12)),
        ("spectrum and back", (3, 5, 16)),
        ("spectrogram", (3, 64)),
        ("spectrum of any length", (3, 6, 11)),
        ("padded spectrum", (3, 5, 15)),
    ],
)
def test_openvino_reads_a_fourier_transform_as_onnx_defines_it(case: str, shape: tuple[int, ...], folder: Path):
    path = folder / f"{case}.onnx"
    signal = np.random.default_rng(0).normal(size=shape).astype(np.float32)
    (expected,) = ReferenceEvaluator(str(path)).run(None, {"signal": signal})
    (answer,) = runtime.load().compile_model(path, "CPU", {"INFERENCE_PRECISION_HINT": "f32"})([signal]).values()
    np.testing.assert_allclose(answer, expected, rtol=0, atol=1e-4)


@pytest.mark.ci
@pytest.mark.usefixtures("converted")
@pytest.mark.parametrize("case", ["squeezed row", "cache update"])
def test_openvino_knows_the_axes_that_are_left_and_the_length_of_what_is_joined(case: str, folder: Path):
    (output,) = runtime.core().read_model(folder / f"{case}.onnx").outputs
    assert output.partial_shape.rank.is_static
    assert all(size.is_static for size in list(output.partial_shape)[1:])


@pytest.mark.ci
def test_a_reshape_is_kept_before_one_that_copies_a_size():
    left = {(0, 12): 2, (0, -1): 2, (2, 12): 1, (-1, 3): 1}
    found = call_in_worker("export_checks:joined_reshapes", tuple(left), deadline_s=120, environment=QUIET)
    assert found == [(count, True) for count in left.values()]


@pytest.mark.ci
def test_an_operation_without_a_counterpart_is_named_with_what_to_do(converted):
    assert "Betainc" in converted["without counterpart"]
    assert "other operations" in converted["without counterpart"]
    assert "holds complex numbers" in converted["complex output"]
    assert "imaginary part" in converted["complex output"]


@pytest.mark.ci
@pytest.mark.parametrize(("case", "drawing"), [("noise", "RandomNormalLike"), ("noisy dropout", "RandomUniformLike")])
def test_random_numbers_of_keras_are_drawn_by_the_graph(case: str, drawing: str, converted: Mapping[str, Any]):
    operations, error, _ = converted[case]
    assert operations[drawing] == 1
    assert math.isnan(error), "answers differ, so that none were compared"


@pytest.mark.ci
def test_a_draw_without_a_counterpart_is_no_constant(converted: Mapping[str, Any]):
    assert "StatelessRandomGamma" in converted["gamma noise"]


@pytest.mark.ci
def test_the_keys_of_a_dictionary_are_the_names_of_the_outputs(converted: Mapping[str, Any]):
    *_, outputs = converted["named outputs"]
    assert [spec.name for spec in outputs] == ["logits", "states_all_0", "states_all_1", "states_last"]


@pytest.mark.ci
def test_outputs_need_not_begin_with_the_batch(converted: Mapping[str, Any]):
    *_, error, outputs = converted["outputs without leading batch"]
    assert {spec.name: spec.shape for spec in outputs} == {
        "rows": ("3*batch", 2),
        "table": (3, 2),
        "time_first": ("sequence", "batch", 4),
    }
    assert error < 1e-5


@pytest.mark.ci
def test_a_model_is_probed_below_its_greatest_length(converted: Mapping[str, Any]):
    *_, (output,) = converted["greatest length"]
    assert output.shape == ("batch", "sequence", 4)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "present"),
    [
        ("transformer_base", {"Erf": 6, "Softmax": 6}),
        ("lstm_ptb_2", {"LSTM": 2}),
        ("mobilenet_v2", {"Conv": 52}),
        ("cnn_cifar10", {}),
    ],
)
def test_a_zoo_model_has_no_einsum_and_no_loop(name, present):
    bundle = bundles.load(export(name, ExportOptions(), lambda _: None))
    graph = bundle.artifact(("onnx",))
    assert graph is not None
    operations = [node.op_type for node in onnx.load(graph.path).graph.node]
    assert {"Einsum", "Loop", "Scan", "Erfc", "BatchNormalization"}.isdisjoint(operations)
    assert {operation: operations.count(operation) for operation in present} == present
