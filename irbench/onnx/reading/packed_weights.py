"""How many numbers a weight stands for that packs several of them into each byte."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeAlias

_DOMAIN = "com.microsoft"
_PACKED_TYPE = "uint8"
_BITS_OF_A_BYTE = 8
_DEFAULT_BITS = 4
IntAttribute: TypeAlias = Callable[[str, int], int]
"""Returns an attribute that is an integer, or the default."""
_Count: TypeAlias = Callable[[IntAttribute, int], int]
"""Returns the numbers in an input from the attributes and from its stored elements."""


def _matrix(attribute: IntAttribute, stored: int) -> int:
    """Count N x K: blocks are padded, so that bytes may hold more."""
    return attribute("N", 0) * attribute("K", 0) or stored


def _zero_points(attribute: IntAttribute, stored: int) -> int:
    rows, inner, block = attribute("N", 0), attribute("K", 0), attribute("block_size", 0)
    return rows * -(-inner // block) if rows and inner and block > 0 else stored


def _by_width(*names: str) -> _Count:
    """Return what counts as many numbers as fit into the bytes; the first attribute given says how wide they are."""

    def count(attribute: IntAttribute, stored: int) -> int:
        bits = next(filter(None, (attribute(name, 0) for name in names)), _DEFAULT_BITS)
        return stored * _BITS_OF_A_BYTE // bits if 0 < bits <= _BITS_OF_A_BYTE else stored

    return count


_EXPERTS = {place: f"fc{number}_expert_weight_bits" for number, place in ((1, 2), (2, 5), (3, 8))}
_EXPERT_ZERO_POINTS = {place: f"fc{number}_expert_weight_bits" for number, place in ((1, 11), (2, 12), (3, 13))}

_COUNTS: Mapping[str, Mapping[int, _Count]] = {
    "GatherBlockQuantized": {0: _by_width("bits"), 3: _by_width("bits")},
    "MatMulBnb4": {1: _matrix},
    "MatMulNBits": {1: _matrix, 3: _zero_points},
    "QMoE": {place: _by_width(name, "expert_weight_bits") for place, name in (_EXPERTS | _EXPERT_ZERO_POINTS).items()},
}
"""By operator and input, as ONNX Runtime describes them in docs/ContribOperators.md."""


def packs(domain: str, op_type: str) -> bool:
    """Return whether an operator may take packed weights."""
    return domain == _DOMAIN and op_type in _COUNTS


def unpacked_elements(op_type: str, place: int, dtype: str, stored: int, attribute: IntAttribute) -> int:
    """Return how many numbers a weight stands for.

    Args:
        op_type: The operator that reads it, one that :func:`packs`.
        place: Which of the operator's inputs it is.
        dtype: The element type in the file: types of 4 bits are not packed any further.
        stored: Elements in the file.
        attribute: The operator's attributes.
    """
    count = _COUNTS.get(op_type, {}).get(place)
    return count(attribute, stored) if count is not None and dtype == _PACKED_TYPE else stored
