from __future__ import annotations

import hashlib

import models
import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

from irbench.onnx.reading import external_data
from irbench.onnx.reading.check import check_file
from irbench.onnx.rewriting import detached_weights as detached_module
from irbench.onnx.rewriting.detached_weights import detach, opset_of, skeleton, used_names, write


def test_a_model_taken_apart_and_written_computes_the_same(tmp_path):
    path = models.mlp(tmp_path).path
    detached = detach(onnx.load(path), {})
    assert not detached.model.graph.initializer
    digest = write(detached, tmp_path / "again.onnx")
    onnx.checker.check_model(str(tmp_path / "again.onnx"), full_check=True)
    pixels = np.random.default_rng(0).random((2, 3, 8, 8), np.float32)
    before, after = (
        ReferenceEvaluator(str(item)).run(None, {"pixels": pixels}) for item in (path, tmp_path / "again.onnx")
    )
    assert np.array_equal(before[0], after[0])
    assert digest == hashlib.sha256((tmp_path / "again.onnx").read_bytes()).hexdigest()


def test_weights_given_as_inputs_become_initializers(tmp_path):
    graph = helper.make_graph(
        [helper.make_node("MatMul", ["x", "w"], ["y"])],
        "g",
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, [2, 2]) for name in ("x", "w")],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [2, 2])],
    )
    weight = np.array([[1, 2], [3, 4]], np.float32).T  # not contiguous: the order on disk must still be C
    detached = detach(helper.make_model(graph), {"w": weight})
    write(detached, tmp_path / "m.onnx")
    read = onnx.load(tmp_path / "m.onnx")
    assert [tensor.name for tensor in read.graph.input] == ["x"]
    assert np.array_equal(numpy_helper.to_array(read.graph.initializer[0]), weight)


@pytest.mark.parametrize(
    "value",
    [np.array(3, np.int64), np.zeros((0, 4), np.float32), np.array([True, False]), np.array([1.5], np.float16)],
    ids=["scalar", "empty", "bool", "half"],
)
def test_every_kind_of_weight_survives(value, tmp_path):
    graph = helper.make_graph(
        [helper.make_node("Identity", ["w"], ["y"])],
        "g",
        [],
        [helper.make_tensor_value_info("y", helper.np_dtype_to_tensor_dtype(value.dtype), value.shape)],
        [numpy_helper.from_array(value, "w")],
    )
    write(detach(helper.make_model(graph), {}), tmp_path / "m.onnx")
    back = numpy_helper.to_array(onnx.load(tmp_path / "m.onnx").graph.initializer[0])
    assert back.dtype == value.dtype
    assert np.array_equal(back, value)


def test_a_skeleton_is_valid_and_holds_no_large_weight(tmp_path):
    detached = detach(onnx.load(models.mlp(tmp_path).path), {})
    small = skeleton(detached)
    onnx.checker.check_model(small)
    assert {tensor.name for tensor in small.graph.input} == {"pixels", "dense"}
    assert {initializer.name for initializer in small.graph.initializer} == {"kernel", "kernel_bias", "dense_bias"} - {
        tensor.name for tensor in small.graph.input
    }
    assert opset_of(small) == 17


def test_names_used_inside_inner_graphs_count_as_used():
    inner = helper.make_graph(
        [helper.make_node("Identity", ["outer"], ["inner"])], "i", [], [helper.make_tensor_value_info("inner", 1, [1])]
    )
    node = helper.make_node("If", ["condition"], ["y"], then_branch=inner, else_branch=inner)
    graph = helper.make_graph([node], "g", [], [helper.make_tensor_value_info("y", 1, [1])])
    assert "outer" in set(used_names(graph))


def test_weights_that_one_message_cannot_hold_go_to_a_file_beside_it(tmp_path, monkeypatch):
    path = models.mlp(tmp_path).path
    monkeypatch.setattr(detached_module, "MAX_BYTES", 2000)
    digest = write(detach(onnx.load(path), {}), tmp_path / "large.onnx")
    assert digest == hashlib.sha256((tmp_path / "large.onnx").read_bytes()).hexdigest()
    assert (tmp_path / "large.onnx").stat().st_size < 2000
    check_file(tmp_path / "large.onnx", shapes=True)
    large = onnx.load(tmp_path / "large.onnx", load_external_data=False).graph.initializer
    outside = {item.name: {entry.key: entry.value for entry in item.external_data} for item in large}
    assert outside["dense"] == {"location": "large.onnx.data", "offset": "0", "length": "2560"}
    assert outside["dense_bias"] == {}, "small weights stay where shape inference sees them"
    pixels = np.random.default_rng(0).random((2, 3, 8, 8), np.float32)
    before, after = (
        ReferenceEvaluator(external_data.load(item)).run(None, {"pixels": pixels})
        for item in (path, tmp_path / "large.onnx")
    )
    assert np.array_equal(before[0], after[0])


def test_each_weight_beside_the_file_starts_at_a_page(tmp_path, monkeypatch):
    monkeypatch.setattr(detached_module, "MAX_BYTES", 2000)
    weights = {name: np.full(300, number, np.float32) for number, name in enumerate("abc")}
    graph = helper.make_graph(
        [helper.make_node("Sum", list("abc"), ["y"])],
        "g",
        [],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [300])],
    )
    write(detach(helper.make_model(graph), weights), tmp_path / "m.onnx")
    assert (tmp_path / "m.onnx.data").stat().st_size == 2 * 4096 + 1200
    read = {
        initializer.name: numpy_helper.to_array(initializer)
        for initializer in external_data.load(tmp_path / "m.onnx").graph.initializer
    }
    assert all(np.array_equal(read[name], value) for name, value in weights.items())
