"""Values of a process that nobody trusts, as bytes and back: plain data, arrays, and our own frozen dataclasses.

A pickle is a program for whoever reads it, and NumPy takes addresses from one. So such a process answers in JSON and
the bytes that its arrays consist of, which stand behind it, each once and in the order of their use. No code of the
values runs where they are read, fields have the types that their class says, and what is allocated is in proportion
to the answer.
"""

from __future__ import annotations

import json
import math
import re
import struct
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from enum import Enum
from fractions import Fraction
from functools import cache, lru_cache
from importlib import import_module
from pathlib import Path, PurePath
from typing import Any, TypeAlias

import numpy as np

from irbench.onnx.reading.element_types import numpy_dtype
from irbench.worker.field_types import field_checks

_LENGTH = struct.Struct("!Q")
_OWN_PACKAGE = "irbench."
_CONTAINERS: Mapping[str, Callable[[list[Any]], Any]] = {
    "tuple": tuple,
    "list": list,
    "set": set,
    "frozenset": frozenset,
}
_NUMBERS = frozenset(
    (
        *("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
        *("float16", "float32", "float64", "complex64", "complex128"),
        *("bfloat16", "int2", "int4", "uint2", "uint4", "float4_e2m1fn", "float6_e2m3fn", "float6_e3m2fn"),
        *("float8_e3m4", "float8_e4m3", "float8_e4m3b11fnuz", "float8_e4m3fn", "float8_e4m3fnuz"),
        *("float8_e5m2", "float8_e5m2fnuz", "float8_e8m0fnu"),
    )
)
"""Names of element types whose bytes are their value."""
_TEXTS = re.compile(r"[<>|][US][1-9]\d{0,8}")
"""Types of texts of one length."""
_MOST_AXES = 64

_Node: TypeAlias = Any
"""A value of JSON: nothing, a truth value, a number, a text, or a list of a kind and what belongs to it."""


class NotPlain(Exception):
    """Bytes that are no plain value, or damaged."""


def plain_bytes(value: object) -> bytes:
    """Return the bytes from which :func:`load_plain` makes a value again.

    Raises:
        TypeError: It, or something in it, is no plain value.
    """
    pieces: list[bytes] = []
    tree = json.dumps(_encoded(value, pieces), separators=(",", ":")).encode()
    return b"".join((_LENGTH.pack(len(tree)), tree, *pieces))


def load_plain(data: bytes) -> Any:
    """Return the value of bytes that anybody may have made: as :func:`plain_bytes` does, or not.

    Raises:
        NotPlain: They are something else.
    """
    try:
        (length,) = _LENGTH.unpack_from(data)
        start = _LENGTH.size + length
        reader = _Reader(memoryview(data)[start:])
        value = reader.value(json.loads(data[_LENGTH.size : start]))
    except NotPlain:
        raise
    except Exception as error:  # JSON, NumPy and Python have many for values that they do not like
        raise NotPlain(f"{type(error).__name__}: {error}") from error
    reader.require_end()
    return value


def _encoded(value: Any, pieces: list[bytes]) -> _Node:
    """Return a value as JSON, and put the bytes that belong to it behind the others."""
    kind = type(value)
    if value is None or kind in (bool, int, float, str):
        return value
    if isinstance(value, Enum):
        return ["member", _name_of(kind), value.name]
    if is_dataclass(kind):
        name, names = _class_and_fields(kind)
        return ["value", name, *(_encoded(getattr(value, field), pieces) for field in names)]
    if kind.__name__ in _CONTAINERS and kind.__module__ == "builtins":
        return [kind.__name__, *(_encoded(item, pieces) for item in value)]
    if isinstance(value, dict):
        return ["dict", *(_encoded(part, pieces) for item in value.items() for part in item)]
    if isinstance(value, np.ndarray | np.generic):
        return _encoded_array(value, pieces)
    return _encoded_leaf(value, pieces)


def _encoded_leaf(value: Any, pieces: list[bytes]) -> _Node:
    if isinstance(value, bytes | bytearray):
        pieces.append(bytes(value))
        return ["bytes", len(value)]
    if isinstance(value, PurePath):
        return ["path", str(value)]
    if isinstance(value, Fraction):
        return ["fraction", value.numerator, value.denominator]
    if isinstance(value, complex):
        return ["complex", value.real, value.imag]
    if isinstance(value, range):
        return ["range", value.start, value.stop, value.step]
    raise TypeError(f"{_name_of(type(value))} is no plain value.")


def _encoded_array(value: Any, pieces: list[bytes]) -> _Node:
    array = np.asarray(value)
    if array.dtype == object:
        return ["objects", list(array.shape), *(_encoded(item, pieces) for item in array.ravel())]
    array = array.astype(array.dtype.newbyteorder("="), copy=False)
    name = array.dtype.str if array.dtype.kind in "US" else array.dtype.name
    _require_type(name)
    pieces.append(array.tobytes())
    kind = "array" if isinstance(value, np.ndarray) else "scalar"
    return [kind, name, list(array.shape), len(pieces[-1])]


class _Reader:
    """Makes values of JSON, and of the bytes that stand behind it."""

    def __init__(self, data: memoryview) -> None:
        self._data = data
        self._used = 0

    def value(self, node: _Node) -> Any:
        if type(node) is str:
            return node
        if not isinstance(node, list):
            return node if not isinstance(node, dict) else self._refuse("an object of JSON")
        kind, *parts = node
        if kind in _CONTAINERS:
            return _CONTAINERS[kind]([self.value(part) for part in parts])
        if kind == "dict":
            inner = [self.value(part) for part in parts]
            return dict(zip(inner[::2], inner[1::2], strict=True))
        if kind == "value":
            return self._instance(*parts)
        return self._leaf(kind, *parts)

    def require_end(self) -> None:
        """Refuse bytes that nothing was made of."""
        if self._used != len(self._data):
            self._refuse("something with more bytes than belong to it")

    def _leaf(self, kind: str, *parts: Any) -> Any:
        if kind in ("array", "scalar"):
            array = self._array(*parts)
            return array if kind == "array" else array[()]
        if kind == "objects":
            return self._objects(*parts)
        if kind == "bytes":
            return bytes(self._take(*parts))
        if kind == "member":
            name, member = parts
            return _found(name, Enum).__members__[member]
        make, types = _LEAVES[kind]
        return make(*parts) if [type(part) for part in parts] == types else self._refuse(kind)

    def _instance(self, name: str, *nodes: _Node) -> Any:
        """Return an instance without calling its class, whose constructor may do anything."""
        kind = _value_class(name)
        made = object.__new__(kind)
        for (field, has_its_type), node in zip(field_checks(kind).items(), nodes, strict=True):
            value = self.value(node)
            if not has_its_type(value):
                self._refuse(f"{type(value).__name__} for {field} of {name}")
            object.__setattr__(made, field, value)
        return made

    def _array(self, name: str, shape: Sequence[int], length: int) -> Any:
        dtype = _require_type(name)
        sizes = _sizes(shape)
        if math.prod(sizes) * dtype.itemsize != length:
            self._refuse("an array of another size")
        return np.ndarray(sizes, dtype, bytearray(self._take(length)))

    def _objects(self, shape: Sequence[int], *nodes: _Node) -> Any:
        sizes = _sizes(shape)
        if math.prod(sizes) != len(nodes):
            self._refuse("an array of another size")
        flat = np.empty(len(nodes), object)
        for place, node in enumerate(nodes):
            flat[place] = self.value(node)
        return flat.reshape(sizes)

    def _take(self, length: int) -> memoryview:
        if type(length) is not int or not 0 <= length <= len(self._data) - self._used:
            self._refuse("something that is cut short")
        start, self._used = self._used, self._used + length
        return self._data[start : self._used]

    @staticmethod
    def _refuse(what: str) -> Any:
        raise NotPlain(f"{what} is no plain value.")


_LEAVES: Mapping[str, tuple[Callable[..., Any], list[type]]] = {
    "path": (Path, [str]),
    "fraction": (Fraction, [int, int]),  # of a text like 1e999999999 it would make a number of as many digits
    "complex": (complex, [float, float]),
    "range": (range, [int, int, int]),
}
"""By kind, what makes a value, and of what."""


def _name_of(kind: type) -> str:
    return f"{kind.__module__}:{kind.__qualname__}"


def _found(name: str, base: type) -> Any:
    """Return a class of irbench by its module and its name."""
    module, _, of_class = name.partition(":")
    if module.startswith(_OWN_PACKAGE):
        found = vars(import_module(module)).get(of_class)
        if isinstance(found, type) and issubclass(found, base):
            return found
    raise NotPlain(f"{name} is no plain value.")


@lru_cache(maxsize=1024)
def _value_class(name: str) -> Any:
    kind = _found(name, object)
    how_made = vars(kind).get("__dataclass_params__")
    if how_made is not None and how_made.frozen:
        return kind
    raise NotPlain(f"{name} is no plain value.")


@cache
def _class_and_fields(kind: type) -> tuple[str, tuple[str, ...]]:
    return _name_of(kind), tuple(field.name for field in fields(kind))


def _require_type(name: str) -> np.dtype[Any]:
    """Return an element type by its name, where its bytes are its value."""
    if name not in _NUMBERS and not _TEXTS.fullmatch(name):
        raise TypeError(f"An array of {name} is no plain value.")
    return numpy_dtype(name)


def _sizes(shape: Sequence[int]) -> tuple[int, ...]:
    if len(shape) > _MOST_AXES or any(type(size) is not int or size < 0 for size in shape):
        raise NotPlain("such a shape is no plain value.")
    return tuple(shape)
