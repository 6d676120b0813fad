"""The file of one launch: a JSON header, then every series of int64 nanoseconds, compressed.

Layout, little-endian: ``IRBENCH1``; the header's length (uint32) and the header, which is the record as JSON
with the place of each series in place of its values; then for each series its compressed length
(uint32) and its bytes. The bytes of a series are shuffled (all first bytes, then all second ones, ...) before
compression, because neighbouring durations share their high bytes.
"""

from __future__ import annotations

import struct
import zlib
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from irbench.errors import IrbenchError
from irbench.result import LaunchRecord

__all__ = ["decode_launch", "encode_launch"]

_MAGIC = b"IRBENCH1"
_LENGTH = struct.Struct("<I")
_DAMAGED_HINT = "Take it from a backup, or remove the run: the other launches of the run are not affected."


def encode_launch(record: LaunchRecord) -> bytes:
    """Return the file's bytes; equal records give equal bytes."""
    series: list[bytes] = []

    def place(value: Any) -> int:
        if not isinstance(value, np.ndarray):
            raise TypeError(type(value).__name__)
        series.append(_pack(value))
        return len(series) - 1

    header = msgspec.json.encode(record, enc_hook=place)
    return b"".join((_MAGIC, _LENGTH.pack(len(header)), header, *(_LENGTH.pack(len(one)) + one for one in series)))


def decode_launch(data: bytes, name: str) -> LaunchRecord:
    """Return the record that :func:`encode_launch` wrote.

    Args:
        data: The file's bytes.
        name: What to call the file in an error.

    Raises:
        IrbenchError: The bytes are no launch, or are cut short or damaged.
    """
    if not data.startswith(_MAGIC):
        raise IrbenchError(f"{name} is not a file of samples.", hint=_DAMAGED_HINT)
    try:
        parts = _split(data[len(_MAGIC) :])
        series = [_unpack(part) for part in parts[1:]]
        return msgspec.json.decode(parts[0], type=LaunchRecord, dec_hook=lambda _, place: series[place])
    except (struct.error, zlib.error, msgspec.MsgspecError, ValueError, IndexError, TypeError):
        raise IrbenchError(f"{name} is damaged and cannot be read.", hint=_DAMAGED_HINT) from None


def _split(data: bytes) -> list[bytes]:
    parts: list[bytes] = []
    at = 0
    while at < len(data):
        (length,) = _LENGTH.unpack_from(data, at)
        at += _LENGTH.size
        if at + length > len(data):
            raise ValueError("cut short")
        parts.append(data[at : at + length])
        at += length
    return parts


def _pack(values: NDArray[Any]) -> bytes:
    little = np.ascontiguousarray(values, np.dtype("<i8"))
    return zlib.compress(little.view(np.uint8).reshape(-1, 8).T.tobytes(), 6)


def _unpack(data: bytes) -> NDArray[np.int64]:
    shuffled = np.frombuffer(zlib.decompress(data), np.uint8).reshape(8, -1)
    return np.ascontiguousarray(shuffled.T).view("<i8").reshape(-1).astype(np.int64)
