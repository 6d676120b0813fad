"""Convert NumPy extension types to ONNX Runtime values and back, without changing their bits."""

from __future__ import annotations

import ctypes
import math
from typing import Any

import ml_dtypes
import numpy as np

from irbench.spec import Artifact
from irbench.spi import Array

__all__ = ["holds_extensions", "to_array", "to_value"]

# TensorProto.DataType of each
_ELEMENTS = {"float8_e4m3fn": 17, "float8_e4m3fnuz": 18, "float8_e5m2": 19, "float8_e5m2fnuz": 20, "bfloat16": 16}
_NAMES = {element: name for name, element in _ELEMENTS.items()}


def holds_extensions(artifact: Artifact) -> bool:
    """Whether an input or output has a type whose arrays ONNX Runtime neither takes nor gives."""
    return any(spec.dtype in _ELEMENTS for spec in (*artifact.inputs, *artifact.outputs))


def to_value(array: Array) -> Any:
    """Return a value on the CPU that holds the array; one of an extended type reads it in place."""
    import onnxruntime

    element = _ELEMENTS.get(array.dtype.name)
    if element is None:
        return onnxruntime.OrtValue.ortvalue_from_numpy(array)
    bits = array.view(f"u{array.itemsize}")
    return onnxruntime.OrtValue.ortvalue_from_numpy_with_onnx_type(bits, element)


def to_array(value: Any) -> Any:
    """Return a copy of a value on the CPU in its own type."""
    name = _NAMES.get(value.element_type()) if value.is_tensor() else None
    if name is None:
        return value.numpy()
    dtype, shape = np.dtype(getattr(ml_dtypes, name)), tuple(value.shape())
    size = math.prod(shape) * dtype.itemsize
    bits = ctypes.string_at(value.data_ptr(), size) if size else b""
    return np.frombuffer(bytearray(bits), dtype).reshape(shape)
