"""Convert NumPy arrays to OpenVINO tensors and back, including types that are NumPy extensions."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import ml_dtypes
import numpy as np

from irbench.spi import Array

_NUMPYS_OWN = 1
_SHARED_KINDS = "biuf"
_ELEMENTS = {
    "bfloat16": "bf16",
    "float8_e4m3fn": "f8e4m3",
    "float8_e5m2": "f8e5m2",
    "float8_e8m0fnu": "f8e8m0",
    "int4": "i4",
    "uint4": "u4",
    "float4_e2m1fn": "f4e2m1",
}
_NAMES = {element: name for name, element in _ELEMENTS.items()}
_STAND_INS = "ebB"
"""Half, signed and unsigned byte, as which OpenVINO shows the bits of these types."""
_NIBBLE = 4


def to_tensor(array: Array) -> Any:
    """Return a tensor that reads the array in place; a copy of text and of what OpenVINO packs two to a byte.

    The array must live as long as the tensor.

    Raises:
        RuntimeError: OpenVINO has no such type.
    """
    import openvino

    if array.dtype.isbuiltin == _NUMPYS_OWN and array.dtype.kind in _SHARED_KINDS:
        return openvino.Tensor(array, shared_memory=True)
    element = _ELEMENTS.get(array.dtype.name)
    if element is None and array.dtype.kind == "O":
        return _text_tensor(array)
    if element is None:
        return openvino.Tensor(array, shared_memory=False)
    kind = getattr(openvino.Type, element)
    bits = array.view(f"u{array.itemsize}")
    if kind.bitwidth != _NIBBLE:
        return openvino.Tensor(bits, openvino.Shape(array.shape), kind)  # which always shares the array's memory
    tensor = openvino.Tensor(kind, array.shape)
    packed = _packed(bits)
    tensor.data.view(packed.dtype)[...] = packed
    return tensor


def to_array(tensor: Any) -> Array:
    """Return a copy of a tensor's values in their own type."""
    if tensor.element_type.to_string() == "string":
        return np.array(tensor.str_data, object)
    array = np.array(tensor.data)
    if array.dtype.char not in _STAND_INS:
        return array
    name = _NAMES.get(tensor.element_type.to_string())
    if name is None:
        return array
    if tensor.element_type.bitwidth == _NIBBLE:
        array = _unpacked(array.view(np.uint8), tuple(tensor.shape))
    return array.view(getattr(ml_dtypes, name))


def _text_tensor(array: Array) -> Any:
    """Return a tensor of strings; OpenVINO ends the process when it is given an empty array of them."""
    import openvino

    if array.size:
        return openvino.Tensor(array.astype(str), shared_memory=False)
    return openvino.Tensor(openvino.Type.string, openvino.Shape(array.shape))


def _packed(nibbles: Array) -> Array:
    """Return two elements in each byte, the first in the lower half, as both OpenVINO and ONNX have them."""
    low, high = np.append(nibbles, np.zeros(nibbles.size % 2, np.uint8)).reshape(-1, 2).T & 15
    packed: Array = low | high << _NIBBLE
    return packed


def _unpacked(packed: Array, shape: Sequence[int]) -> Array:
    return np.stack([packed & 15, packed >> _NIBBLE], axis=-1).ravel()[: math.prod(shape)].reshape(shape)
