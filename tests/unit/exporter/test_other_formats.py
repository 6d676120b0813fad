"""A file of another framework is refused with how its model is measured."""

from __future__ import annotations

from pathlib import Path

import pytest

from irbench.errors import IrbenchError
from irbench.exporter.build import validate
from irbench.exporter.foreign import refusal
from irbench.options.export import ExportOptions


@pytest.mark.parametrize(
    ("name", "way"),
    [
        ("m.pt", "returns (module, example_inputs)"),
        ("m.PTH", "irbench run file.py:function"),
        ("m.safetensors", "irbench run file.py:function"),
        ("m.h5", "keras.models.load_model('m.h5').save('m.keras')"),
        ("m.tflite", "m.tflite --output MODEL.onnx"),
    ],
)
def test_the_hint_is_what_makes_an_onnx_file(name: str, way: str, tmp_path: Path):
    (tmp_path / name).write_bytes(b"weights")
    with pytest.raises(IrbenchError, match="which irbench does not read") as caught:
        validate(str(tmp_path / name), ExportOptions())
    assert way in caught.value.hint


@pytest.mark.parametrize("name", ["resnet50", "m.keras", "m.onnx", "folder/", "package.module:function"])
def test_what_may_be_exported_is_not_refused_by_its_name(name: str):
    assert refusal(name) is None
