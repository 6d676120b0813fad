"""ONNX files that irbench did not write, as bundles."""

from __future__ import annotations

import models
import numpy as np
import onnx
import pytest

from irbench import bundles
from irbench.errors import IrbenchError
from irbench.exporter import from_onnx_file


def test_a_foreign_file_is_a_bundle_without_a_reference(tmp_path):
    artifact = models.two_inputs(tmp_path)
    bundle = from_onnx_file(artifact.path)
    assert bundle.name == "two_inputs"
    assert [tensor.tensor for tensor in bundle.inputs] == list(artifact.inputs)
    assert [(tensor.low, tensor.high) for tensor in bundle.inputs] == [(0.0, 2.0), (0.0, 1.0)]
    assert bundle.reference is None
    assert bundle.artifacts[0].path == artifact.path
    assert bundles.reference_outputs(bundle) is None


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
