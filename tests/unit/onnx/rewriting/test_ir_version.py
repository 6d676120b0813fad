"""A file's format version is lowered where nothing in the model needs it."""

from __future__ import annotations

from pathlib import Path

import models
import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper
from onnx.reference import ReferenceEvaluator

from irbench.errors import IrbenchError
from irbench.onnx.reading import external_data
from irbench.onnx.rewriting.ir_version import least_ir_version, lower_ir_version


def of_version(path: Path, version: int) -> Path:
    model = onnx.load(path)
    model.ir_version = version
    onnx.save(model, path)
    return path


def test_the_copy_has_another_version_and_the_same_content(tmp_path: Path):
    path = of_version(models.mlp(tmp_path).path, 14)
    (tmp_path / "lowered").mkdir()
    lowered = onnx.load(lower_ir_version(path, 11, tmp_path / "lowered"))
    assert lowered.ir_version == 11
    expected = onnx.load(path)
    expected.ir_version = 11
    assert lowered == expected


def test_weights_beside_the_file_come_along(tmp_path: Path):
    model = onnx.load(models.mlp(tmp_path).path)
    model.ir_version = 14
    path = tmp_path / "outside.onnx"
    onnx.save(model, path, save_as_external_data=True, location="weights.bin", size_threshold=0)
    (tmp_path / "lowered").mkdir()
    lowered = lower_ir_version(path, 13, tmp_path / "lowered")
    feed = {"pixels": np.ones((1, 3, 8, 8), np.float32)}
    found, expected = (ReferenceEvaluator(external_data.load(file)).run(None, feed) for file in (lowered, path))
    np.testing.assert_array_equal(found[0], expected[0])


def test_weights_in_another_folder_are_refused(tmp_path: Path):
    model = onnx.load(models.mlp(tmp_path).path)
    path = tmp_path / "outside.onnx"
    onnx.save(model, path, save_as_external_data=True, location="weights.bin", size_threshold=0)
    path.write_bytes(path.read_bytes().replace(b"weights.bin", b"../ghts.bin"))
    (tmp_path / "lowered").mkdir()
    with pytest.raises(IrbenchError):
        lower_ir_version(path, 13, tmp_path / "lowered")


@pytest.mark.parametrize(
    ("element", "least"),
    [
        (TensorProto.FLOAT, 8),
        (TensorProto.FLOAT8E5M2, 9),
        (TensorProto.INT4, 10),
        (TensorProto.FLOAT4E2M1, 11),
        (TensorProto.UINT2, 13),
    ],
)
def test_element_types_need_the_version_that_added_them(element: int, least: int, tmp_path: Path):
    x, y = (helper.make_tensor_value_info(name, kind, [2]) for name, kind in (("x", element), ("y", 1)))
    graph = helper.make_graph([helper.make_node("Cast", ["x"], ["y"], to=1)], "g", [x], [y])
    onnx.save(helper.make_model(graph, ir_version=14), tmp_path / "m.onnx")
    assert least_ir_version(tmp_path / "m.onnx") == least


def test_functions_need_the_version_that_lets_them_be_overloaded(tmp_path: Path):
    x, y = (helper.make_tensor_value_info(name, 1, [2]) for name in "xy")
    body = [helper.make_node("Neg", ["a"], ["b"])]
    function = helper.make_function("my", "Minus", ["a"], ["b"], body, [helper.make_opsetid("", 17)])
    graph = helper.make_graph([helper.make_node("Minus", ["x"], ["y"], domain="my")], "g", [x], [y])
    onnx.save(helper.make_model(graph, functions=[function], ir_version=14), tmp_path / "m.onnx")
    assert least_ir_version(tmp_path / "m.onnx") == 10
