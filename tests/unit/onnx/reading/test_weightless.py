"""A model is read without its weights, but for those that shapes are computed from."""

import numpy as np
import onnx
import onnx.parser
import pytest
from onnx import numpy_helper

from irbench.errors import IrbenchError
from irbench.onnx.reading.external_data import read_outline


@pytest.fixture
def path(tmp_path):
    model = onnx.parser.parse_model(
        '<ir_version: 10, opset_import: ["" : 23]> g (float[6] x) => (float[a,b] y) '
        "{ r = Reshape (x, s)  y = MatMul (r, w) }"
    )
    weights = {"s": np.array([2, 3]), "w": np.ones((3, 500), np.float32)}
    model.graph.initializer.extend(numpy_helper.from_array(value, name) for name, value in weights.items())
    onnx.save(model, tmp_path / "m.onnx")
    return tmp_path / "m.onnx"


def test_large_weights_keep_their_type_and_shape_alone(path):
    small, large = read_outline(path).graph.initializer
    assert (large.name, list(large.dims), large.data_type) == ("w", [3, 500], onnx.TensorProto.FLOAT)
    assert not large.raw_data
    assert numpy_helper.to_array(small).tolist() == [2, 3]


def test_everything_else_is_as_it_was(path):
    outline, whole = read_outline(path), onnx.load(path)
    del outline.graph.initializer[:], whole.graph.initializer[:]
    assert outline == whole


def test_what_is_no_model_is_refused(tmp_path):
    (tmp_path / "m.onnx").write_bytes(b"\x3a\x05\x0a\x03abc")
    with pytest.raises(IrbenchError, match="not an ONNX model"):
        read_outline(tmp_path / "m.onnx")
