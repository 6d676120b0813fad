"""What the constants of a graph claim to hold: TensorFlow fills memory with as many values as a shape says.

A constant of equal values stores one of them, so a file of a few bytes may ask for any amount of memory.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

MOST_BYTES = 1 << 31
"""What constants may claim beyond what is stored of them: as much as a file of TensorFlow can hold."""
_STRING, _TEXT_BYTES = 7, 24
"""``DT_STRING`` in TensorFlow's types.proto, and what each text takes besides its letters."""


def claimed_bytes(nodes: Iterable[Any]) -> int:
    """Return how many bytes the tensors in the attributes of nodes would take beyond those that are stored.

    Args:
        nodes: As in a ``GraphDef``; what they claim is counted up to twice :data:`MOST_BYTES` each.
    """
    return sum(
        max(0, _whole_bytes(tensor) - tensor.ByteSize())
        for node in nodes
        for attribute in node.attr.values()
        for tensor in (attribute.tensor, *attribute.list.tensor)
        if tensor.dtype
    )


def _whole_bytes(tensor: Any) -> int:
    sizes = [dimension.size for dimension in tensor.tensor_shape.dim]
    if tensor.tensor_shape.unknown_rank or any(size <= 0 for size in sizes):  # empty, or refused by TensorFlow
        return 0
    size_bytes: int = _element_bytes(tensor.dtype)
    for size in sizes:
        size_bytes *= size
        if size_bytes > 2 * MOST_BYTES:
            return 2 * MOST_BYTES + int(tensor.ByteSize())
    return size_bytes


def _element_bytes(type_: int) -> int:
    from tensorflow.python.framework import dtypes  # the package itself would import all of TensorFlow and Keras

    if type_ == _STRING:
        return _TEXT_BYTES
    try:
        return max(1, int(dtypes.as_dtype(type_).size))
    except TypeError:  # no type of TensorFlow's, which refuses it
        return 1
