"""Host arrays as OpenVINO's tensors and back, of types that NumPy knows by extension too."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np

from irbench.spi import Array

__all__ = ["to_array", "to_tensor"]

_NUMPYS_OWN = 1
_SHARED_KINDS = "biuf"
_BY_BITS = {"bfloat16": "bf16", "float8_e4m3fn": "f8e4m3", "float8_e5m2": "f8e5m2", "float8_e8m0fnu": "f8e8m0"}
_STAND_INS = "eB"
"""Types, half and byte, as which OpenVINO shows the bits of those that it does not know NumPy to have."""


def to_tensor(array: Array) -> Any:
    """Return a tensor that reads the array in place; a copy where OpenVINO cannot share the array's type."""
    import openvino

    if array.dtype.isbuiltin == _NUMPYS_OWN and array.dtype.kind in _SHARED_KINDS:
        return openvino.Tensor(array, shared_memory=True)
    name = _BY_BITS.get(array.dtype.name)
    if name is None:
        return openvino.Tensor(array.astype(str) if array.dtype.kind == "O" else array, shared_memory=False)
    tensor = openvino.Tensor(getattr(openvino.Type, name), array.shape)
    bits = np.dtype(f"u{array.itemsize}")
    tensor.data.view(bits)[...] = array.view(bits)
    return tensor


def to_array(tensor: Any) -> Array:
    """Return a copy of a tensor's values in their own type."""
    array = np.array(tensor.data)
    if array.dtype.char not in _STAND_INS:
        return array
    element = tensor.element_type.to_string()
    return next((array.view(getattr(ml_dtypes, name)) for name, one in _BY_BITS.items() if one == element), array)
