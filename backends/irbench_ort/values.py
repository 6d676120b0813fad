"""Convert NumPy extension types to ONNX Runtime values and back, without changing their bits."""

from __future__ import annotations

import ctypes
import math
from typing import Any

import ml_dtypes
import numpy as np

from irbench.onnx.reading.element_types import STRING
from irbench.spec import Artifact
from irbench.spi import Array

# TensorProto.DataType of each
_ELEMENTS = {"float8_e4m3fn": 17, "float8_e4m3fnuz": 18, "float8_e5m2": 19, "float8_e5m2fnuz": 20, "bfloat16": 16}
_PACKED = {"uint4": 21, "int4": 22}
_NAMES = {element: name for name, element in (_ELEMENTS | _PACKED).items()}
_NIBBLE = 4


def holds_extensions(artifact: Artifact) -> bool:
    """Whether an input or output has a type whose arrays ONNX Runtime neither takes nor gives."""
    return any(spec.dtype in _ELEMENTS | _PACKED for spec in (*artifact.inputs, *artifact.outputs))


def holds_strings(artifact: Artifact) -> bool:
    """Whether an input or output holds strings, of which the runtime takes and gives arrays, and makes no values."""
    return any(spec.dtype == STRING for spec in (*artifact.inputs, *artifact.outputs))


def to_value(array: Array) -> Any:
    """Return a value on the CPU that holds the array; one of whole bytes of an extended type reads it in place."""
    import onnxruntime

    element = (_ELEMENTS | _PACKED).get(array.dtype.name)
    if element is None:
        return onnxruntime.OrtValue.ortvalue_from_numpy(array)
    bits = array.view(f"u{array.itemsize}")
    if element in _PACKED.values():
        bits = _packed(bits)
    return onnxruntime.OrtValue.ortvalue_from_numpy_with_onnx_type(bits, element)


def to_array(value: Any) -> Any:
    """Return a copy of a value on the CPU in its own type."""
    name = _NAMES.get(value.element_type()) if value.is_tensor() else None
    if name is None:
        return value.numpy()
    dtype, shape = np.dtype(getattr(ml_dtypes, name)), tuple(value.shape())
    elements = math.prod(shape)
    size = (elements + 1) // 2 if name in _PACKED else elements * dtype.itemsize
    content = np.frombuffer(bytearray(ctypes.string_at(value.data_ptr(), size) if size else b""), np.uint8)
    if name in _PACKED:
        content = np.stack([content & 15, content >> _NIBBLE], axis=-1).ravel()[:elements]
    return content.view(dtype).reshape(shape)


def _packed(nibbles: Array) -> Array:
    """Return an array of the same shape that begins with two elements in each byte, the first in the lower half.

    The runtime takes the shape of the array for that of the tensor, and reads as many bytes as it needs.
    """
    low, high = np.append(nibbles, np.zeros(nibbles.size % 2, np.uint8)).reshape(-1, 2).T & 15
    packed: Array = np.zeros(nibbles.size, np.uint8)
    packed[: low.size] = low | high << _NIBBLE
    return packed.reshape(nibbles.shape)
