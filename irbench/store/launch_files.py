"""The file of one launch: a JSON header, then every series of int64 nanoseconds, compressed.

Layout, little-endian::

    IRBENCH1                       8 bytes, the digit is the format's version
    SHA-256 of all that follows   32 bytes
    length, header                uint32 and JSON: the record, with the number of a series in place of its values
    length, series                uint32 and zlib, once for each series

The bytes of a series are shuffled (all lowest bytes, then all second ones, ...) before they are compressed, because
durations share their high bytes with their neighbours. Infinity and NaN are written as Python's ``json`` does.
"""

from __future__ import annotations

import hashlib
import json
import struct
import zlib
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from irbench.core.record import CellLaunch, LaunchRecord, ServedLoad
from irbench.errors import IrbenchError
from irbench.system.document_damage import damage_text
from irbench.system.installation import upgrade_hint
from irbench.system.prepared_types import prepared

_FAMILY = b"IRBENCH"
_MAGIC = _FAMILY + b"1"
_DIGEST_BYTES = hashlib.sha256().digest_size
_LENGTH = struct.Struct("<I")
_INT64 = np.dtype("<i8")
LARGEST_BYTES = 1 << 28
"""Of all series of a launch together: 16 million samples, far more than any budget allows."""

_NO_VALUES = (ValueError, IndexError, TypeError, RecursionError)
_DAMAGED_HINT = "Restore it from a copy, or delete the run's folder; other runs are not affected."


def encode_launch(record: LaunchRecord) -> bytes:
    """Return the file's bytes; equal records give equal bytes."""
    series: list[bytes] = []

    def place(value: Any) -> int:
        if not isinstance(value, np.ndarray):
            raise TypeError(f"a launch holds a {type(value).__name__}, which its file has no form for")
        series.append(_pack(value))
        return len(series) - 1

    header = json.dumps(msgspec.to_builtins(record, enc_hook=place), separators=(",", ":")).encode()
    body = b"".join(_LENGTH.pack(len(part)) + part for part in (header, *series))
    return _MAGIC + hashlib.sha256(body).digest() + body


def decode_launch(data: bytes, name: str) -> LaunchRecord:
    """Return the record that :func:`encode_launch` wrote."""
    body = _checked_body(data, name)
    try:
        header, *series = _split(body)
        values = _unpack_all(series)
        record = msgspec.convert(json.loads(header), prepared(LaunchRecord), dec_hook=lambda _, number: values[number])
        _require_sense(record)
    except (struct.error, zlib.error, msgspec.MsgspecError, *_NO_VALUES) as error:
        raise IrbenchError(f"{name} cannot be read: {damage_text(error)}.", hint=_DAMAGED_HINT) from error
    return record


def _require_sense(record: LaunchRecord) -> None:
    """Refuse what the types allow and no launch has, so that readers may rely on it."""
    for cell in record.cells:
        paced = () if cell.paced is None else (cell.paced,)
        for window in (*cell.rounds, *paced):
            _require_window(window.issue_ns, window.completion_ns)
        _require_parts(cell)
        for load in cell.served:
            _require_requests(cell.cell, load)
        if min(cell.streams, cell.calls_per_sample) < 1:
            raise ValueError(f"{cell.cell} has {cell.streams} streams and {cell.calls_per_sample} calls per sample")
    for alone in record.sustained:
        if min(alone.completions, alone.wall_ns) < 1:
            raise ValueError(f"{alone.cell} made {alone.completions} inferences in {alone.wall_ns} ns")


def _require_parts(cell: CellLaunch) -> None:
    """Refuse calls of unequal numbers of parts, and parts that were complete before those they follow."""
    lengths: set[int] = set()
    for round_ in cell.rounds:
        if not round_.part_ns.size:  # of which calls need no number that an array could have
            lengths.add(0)
            continue
        calls = round_.issue_ns.size * max(1, cell.calls_per_sample)
        if round_.part_ns.size % calls:
            raise ValueError(f"{cell.cell} has {round_.part_ns.size} parts of {calls} calls")
        moments = round_.part_ns.reshape(calls, -1)
        lengths.add(moments.shape[1])
        if moments[:, 0].min() < 0 or (np.diff(moments, axis=1) < 0).any():
            raise ValueError(f"{cell.cell} has parts that were complete before those they follow")
    if len(lengths) > 1:
        raise ValueError(f"{cell.cell} has calls of unequal numbers of parts")


def _require_requests(cell: str, load: ServedLoad) -> None:
    sizes = {load.due_ns.size, load.start_ns.size, load.end_ns.size, load.slot.size}
    if sizes != {load.offered.requests} or load.offered.requests < 1 or min(load.slots, load.batch) < 1:
        raise ValueError(f"{cell} has a load of {load.offered.requests} requests and {sorted(sizes)} times")
    answered = load.slot >= 0
    if ((load.end_ns < load.start_ns) | (load.start_ns < load.due_ns))[answered].any() or (
        np.diff(load.due_ns) < 0
    ).any():
        raise ValueError(f"{cell} has requests that were answered before they were due")


def _require_window(issue_ns: NDArray[np.int64], completion_ns: NDArray[np.int64]) -> None:
    if not 0 < issue_ns.size == completion_ns.size:
        raise ValueError("a round lacks times")
    if (completion_ns < issue_ns).any():
        raise ValueError("a round has calls that completed before they were issued")
    if completion_ns.max() < 1:
        raise ValueError("a round took no time")


def _checked_body(data: bytes, name: str) -> bytes:
    if not data.startswith(_FAMILY):
        raise IrbenchError(f"{name} is not a file of samples.", hint=_DAMAGED_HINT)
    if not data.startswith(_MAGIC):
        raise IrbenchError(
            f"{name} was written by another version of irbench in an unknown format.",
            hint=upgrade_hint(),
        )
    digest, body = data[len(_MAGIC) :][:_DIGEST_BYTES], data[len(_MAGIC) + _DIGEST_BYTES :]
    if hashlib.sha256(body).digest() != digest:
        raise IrbenchError(f"{name} is damaged: its content does not match its checksum.", hint=_DAMAGED_HINT)
    return body


def _split(data: bytes) -> list[bytes]:
    parts: list[bytes] = []
    at = 0
    while at < len(data):
        (length,) = _LENGTH.unpack_from(data, at)
        at += _LENGTH.size
        parts.append(data[at : at + length])
        at += length
    return parts


def _pack(values: NDArray[Any]) -> bytes:
    little = np.asarray(values, _INT64, order="C")
    return zlib.compress(little.view(np.uint8).reshape(-1, _INT64.itemsize).T.tobytes(), 6)


def _unpack_all(series: list[bytes]) -> list[NDArray[np.int64]]:
    values: list[NDArray[np.int64]] = []
    left = LARGEST_BYTES
    for part in series:
        values.append(_unpack(part, left))
        left -= values[-1].nbytes
    return values


def _unpack(data: bytes, most_bytes: int) -> NDArray[np.int64]:
    shuffled = np.frombuffer(_inflate(data, most_bytes), np.uint8).reshape(_INT64.itemsize, -1)
    return np.asarray(shuffled.T, order="C").view(_INT64).reshape(-1).astype(np.int64)


def _inflate(data: bytes, most_bytes: int) -> bytes:
    """Return what was compressed; a file from elsewhere may claim more than fits into memory."""
    inflater = zlib.decompressobj()
    inflated = inflater.decompress(data, most_bytes + 1)  # a limit of 0 would be none
    if not inflater.eof or len(inflated) > most_bytes:
        raise ValueError("a series is cut short, or the launch longer than any can be")
    return inflated
