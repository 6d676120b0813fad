"""A graph of known length: how many layers each form has, and that all of them answer the same."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import onnx
import onnx_ir as ir
import onnxruntime
import pytest

from benchmarks.real_work.layers import (
    LAYERS,
    MANY_LAYERS,
    longer,
    one_percent,
    same,
    ten_percent,
    three_percent,
    twice,
    two_percent,
    write_model,
)
from irbench.core.output_check import compare, judge
from irbench.onnx.reading.check import check_file

FORMS = [(same, 40), (longer, 42), (twice, 80)]


@pytest.fixture(scope="module")
def shortest(tmp_path_factory):
    return write_model(tmp_path_factory.mktemp("real-work") / "layers.onnx")


def lengthened(path: Path, change) -> ir.Model:
    model = ir.load(path)
    assert change(model)
    return model


def answer(model: onnx.ModelProto):
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    (given,) = session.get_inputs()
    return session.run(None, {given.name: np.random.default_rng(0).random(given.shape, np.float32)})


@pytest.mark.parametrize(("change", "layers"), FORMS)
def test_every_form_is_a_chain_of_so_many_layers(shortest, change, layers):
    model = lengthened(shortest, change)
    assert Counter(node.op_type for node in model.graph) == {"MatMul": layers, "Relu": layers, "Add": layers}
    assert [tensor.name for tensor in model.graph.outputs] == ["y"]
    weights = [initializer.const_value.numpy().tobytes() for initializer in model.graph.initializers.values()]
    assert len(set(weights)) == layers


@pytest.mark.parametrize(
    ("change", "layers"), [(one_percent, 101), (two_percent, 102), (three_percent, 103), (ten_percent, 110)]
)
def test_forms_of_many_layers_differ_by_a_few_per_cent(tmp_path, change, layers):
    model = lengthened(write_model(tmp_path / "many.onnx", MANY_LAYERS), change)
    assert sum(node.op_type == "MatMul" for node in model.graph) == layers


def test_the_longer_form_is_a_twentieth_longer(shortest):
    assert len(lengthened(shortest, longer).graph) == pytest.approx(1.05 * len(ir.load(shortest).graph))
    assert len(ir.load(shortest).graph) == 3 * LAYERS


@pytest.mark.parametrize(("change", "layers"), FORMS)
def test_every_form_is_valid_and_answers_within_the_tolerance_of_fp32(shortest, tmp_path, change, layers):
    path = tmp_path / f"{layers}.onnx"
    ir.save(lengthened(shortest, change), path)
    check_file(path, shapes=True)
    error = compare(answer(onnx.load(path)), answer(onnx.load(shortest)), (), 1.0)
    assert judge(error, "fp32") is None
    assert error.max_rel < 1e-4


def test_what_is_added_is_computed_and_not_left_out_by_rounding(shortest):
    (short,), (long,) = answer(onnx.load(shortest)), answer(ir.to_proto(lengthened(shortest, longer)))
    assert np.mean(short != long) > 0.5


def test_a_runtime_keeps_every_layer_after_its_own_optimisations(shortest, tmp_path):
    options = onnxruntime.SessionOptions()
    options.optimized_model_filepath = str(tmp_path / "optimised.onnx")
    options.log_severity_level = 3  # it warns that the file is for this processor alone
    onnxruntime.InferenceSession(str(shortest), options, providers=["CPUExecutionProvider"])
    kept = Counter(node.op_type for node in onnx.load(tmp_path / "optimised.onnx").graph.node)
    assert sum(count for name, count in kept.items() if "MatMul" in name or "Gemm" in name) == LAYERS
