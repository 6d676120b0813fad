"""ONNX files that irbench did not write, as bundles."""

from __future__ import annotations

import fake_runs
import models
import numpy as np
import onnx
import onnx.parser
import pytest
from front_door import irbench
from onnx import TensorProto, helper

from irbench.errors import IrbenchError
from irbench.exporter.foreign import from_onnx_file
from irbench.spec import RANDOM_DRAWS
from irbench.store import bundles


def test_a_foreign_file_is_a_bundle_without_a_reference(tmp_path):
    artifact = models.two_inputs(tmp_path)
    bundle = from_onnx_file(artifact.path)
    assert bundle.name == "two_inputs"
    assert [tensor.tensor for tensor in bundle.inputs] == list(artifact.inputs)
    assert [(tensor.low, tensor.high) for tensor in bundle.inputs] == [(0.0, 2.0), (0.0, 1.0)]
    assert bundle.reference is None
    assert bundle.artifacts[0].path == artifact.path
    assert bundles.reference_outputs(bundle) is None


def test_an_input_that_is_called_a_mask_is_drawn_as_one(tmp_path):
    names = ["x", "key_padding_mask"]
    inputs = [helper.make_tensor_value_info(name, TensorProto.INT64, ["batch", 4]) for name in names]
    output = helper.make_tensor_value_info("y", TensorProto.INT64, ["batch", 4])
    graph = helper.make_graph([helper.make_node("Mul", names, ["y"])], "masked", inputs, [output])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    onnx.save(model, tmp_path / "masked.onnx")
    read = from_onnx_file(tmp_path / "masked.onnx").inputs
    assert [(spec.is_mask, spec.marks_padding) for spec in read] == [(False, False), (True, True)]


def test_a_foreign_file_that_breaks_the_standard_is_refused(tmp_path):
    path = models.mlp(tmp_path).path
    model = onnx.load(path)
    model.graph.node[0].input[0] = "nobody_makes_this"
    onnx.save(model, path)
    with pytest.raises(IrbenchError, match="has no tensor 'nobody_makes_this', which node 'conv' reads"):
        from_onnx_file(path)


def test_external_data_outside_the_folder_of_a_foreign_file_is_refused(tmp_path):
    (tmp_path / "secret").write_bytes(np.zeros(2560, np.uint8).tobytes())
    (tmp_path / "in").mkdir()
    path = models.mlp(tmp_path / "in").path
    model = onnx.load(path)
    weight = next(initializer for initializer in model.graph.initializer if initializer.name == "dense")
    weight.ClearField("raw_data")
    weight.data_location = onnx.TensorProto.EXTERNAL
    weight.external_data.add(key="location", value="../secret")
    path.write_bytes(model.SerializeToString())
    with pytest.raises(IrbenchError, match=r"weights at '\.\./secret', outside its own folder"):
        from_onnx_file(path)


@pytest.fixture
def trains(tmp_path):
    """Return a file that an exporter left in training mode."""
    text = """<ir_version: 8, opset_import: ["" : 17]>
    g (float[batch, 8] x) => (float[batch, 8] y) <float r = {0.5}, bool mode = {1}> { y = Dropout(x, r, mode) }"""
    onnx.save(onnx.parser.parse_model(text), tmp_path / "trains.onnx")
    return tmp_path / "trains.onnx"


def test_what_a_foreign_file_draws_at_random_is_a_detail_of_its_bundle(trains):
    assert from_onnx_file(trains).details[RANDOM_DRAWS] == "Dropout in training mode"


@pytest.mark.ci
@pytest.mark.usefixtures("known_backends")
def test_outputs_that_are_drawn_at_random_are_not_called_wrong(trains):
    called = irbench("run", trains, "--backends", "ort", *fake_runs.FASTEST, "--format", "json")
    assert called.code == 0, called.err
    (table,) = called.document["groups"]
    assert [cell["state"] for cell in table["cells"]] == ["ok"]
    (unverified,) = [warning for warning in table["warnings"] if warning["code"] == "unverified"]
    assert "Dropout in training mode" in str(unverified)
