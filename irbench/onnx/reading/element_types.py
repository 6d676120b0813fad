"""Element types of tensors, by their numbers in ONNX."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np

STRING = "string"
"""What specs call tensors of strings, which NumPy has as arrays of objects."""

NAMES: Mapping[int, str] = dict(
    enumerate(
        (
            *("undefined", "float32", "uint8", "int8", "uint16", "int16", "int32", "int64", "string", "bool"),
            *("float16", "float64", "uint32", "uint64", "complex64", "complex128", "bfloat16"),
            *("float8e4m3fn", "float8e4m3fnuz", "float8e5m2", "float8e5m2fnuz", "uint4", "int4", "float4e2m1"),
            *("float8e8m0", "uint2", "int2", "float6e2m3", "float6e3m2"),
        )
    )
)
"""Names in NumPy and ml_dtypes, by TensorProto.DataType: onnx.proto3."""


_SHAPE_TYPES = frozenset({"int32", "int64", "bool", "string"})
"""Types of sizes, axes, masks and strings: constants of this kind are not parameters."""


@cache
def bits_of(dtype: str) -> int:
    """Return how many bits an element takes; 0 for strings, whose size depends on their content."""
    width = re.search(r"\d+", dtype)
    return int(width[0]) if width else 8 * (dtype == "bool")


def is_parameter_type(dtype: str) -> bool:
    """Return whether constants of this type are numbers that training would find, and not sizes, axes or masks."""
    return dtype not in _SHAPE_TYPES


def numpy_dtype(name: str) -> np.dtype[Any]:
    """Return the dtype of a spec's name, also of types that ml_dtypes adds to NumPy, such as bfloat16 and int4."""
    import ml_dtypes
    import numpy as np

    if name == STRING:
        return np.dtype(object)
    return np.dtype(getattr(ml_dtypes, name, name))


def spec_dtype(element: int) -> str:
    """Return what specs call an element type of ONNX.

    Raises:
        KeyError: The installed onnx does not know it.
    """
    from onnx import TensorProto, helper

    return STRING if element == TensorProto.STRING else helper.tensor_dtype_to_np_dtype(element).name
