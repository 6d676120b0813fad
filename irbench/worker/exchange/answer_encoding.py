"""Answers of a process that nobody trusts, as it sends them: JSON, and behind it the bytes of arrays.

A pickle is a program for whoever reads it, and NumPy takes addresses from one. So such a process answers in JSON: a
message is a list of its name and its fields, another dataclass an object of its fields. An array is an object that says
its type and shape; its bytes stand behind the JSON, each array's once and in the order of their use. This module needs
no msgspec, which the environments of other interpreters lack; :mod:`irbench.worker.exchange.answer_decoding` reads with
it.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from enum import Enum
from fractions import Fraction
from functools import cache, partial
from pathlib import PurePath
from typing import Any

import numpy as np

LENGTH = struct.Struct("!Q")
"""Stands first: how long the JSON is."""
ARRAY, BYTES = "__array__", "__bytes__"
"""The only key of an object that stands for an array, or for bytes."""


def encoded(message: Any) -> bytes:
    """Return a message as bytes.

    Raises:
        TypeError: There is something else in it.
    """
    pieces: list[bytes] = []
    kind: type = type(message)
    parts = [kind.__name__, *(getattr(message, name) for name in _field_names(kind))]
    tree = json.dumps(parts, default=partial(_plain, pieces), separators=(",", ":"))
    head = tree.encode("ascii")
    return b"".join((LENGTH.pack(len(head)), head, *pieces))


def _plain(pieces: list[bytes], value: Any) -> Any:
    """Return what JSON has for a value, and put the bytes that belong to it behind the others."""
    if is_dataclass(value) and not isinstance(value, type):
        return {name: getattr(value, name) for name in _field_names(type(value))}
    if isinstance(value, np.ndarray):
        return {ARRAY: _plain_array(pieces, value)}
    if isinstance(value, bytes | bytearray):
        pieces.append(bytes(value))
        return {BYTES: len(value)}
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, set | frozenset):
        return list(value)
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, PurePath):
        return str(value)
    if isinstance(value, Fraction):
        return value.as_integer_ratio()
    if isinstance(value, Enum):
        return value.value
    raise TypeError(f"{type(value).__module__}:{type(value).__qualname__} is not a plain value.")


def _plain_array(pieces: list[bytes], array: np.ndarray[Any, Any]) -> tuple[Any, ...]:
    if array.dtype == object:
        return "object", array.shape, array.ravel().tolist()
    array = array.astype(array.dtype.newbyteorder("="), copy=False)
    name = array.dtype.str if array.dtype.kind in "US" else array.dtype.name
    pieces.append(array.tobytes())
    return name, array.shape, len(pieces[-1])


@cache
def _field_names(kind: type) -> tuple[str, ...]:
    return tuple(field.name for field in fields(kind))
