"""Walking over the bytes of a serialised ONNX model without parsing it.

A protobuf message is a sequence of fields, each with its number and its length, so the weights can be
stepped over where they lie in a mapped file: telling what a graph holds, or replacing the few bytes
of its signature, takes neither the time nor the memory that parsing half a gigabyte would. The
encoding is that of https://protobuf.dev/programming-guides/encoding/, the field numbers are those of
onnx.proto3. Nothing here imports onnx, so a runtime's worker does not pay for it.
"""

from __future__ import annotations

import mmap
import stat
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from shlex import quote

from irbench.errors import IrbenchError

_LOOK_BYTES = 256
_MAX_BYTES = 2**31 - 1
"""Protobuf's own limit for one message: https://protobuf.dev/programming-guides/encoding/."""

_AGAIN = "Download it again; a page in its place may ask for a login."
_STARTS: Mapping[bytes, tuple[str, str]] = {
    b"version https://git-lfs": ("a Git LFS pointer, not the model itself", "Fetch the model: git lfs pull"),
    b"PK\x03\x04": (
        "a ZIP archive",
        "Unpack it and name the .onnx file inside. A .keras file or a PyTorch checkpoint is exported first.",
    ),
    b"\x1f\x8b": ("compressed with gzip", "Unpack it: gunzip --stdout FILE > MODEL.onnx"),
    b"\x89HDF": ("an HDF5 file", "Save it as .keras and name that: irbench run FILE.keras"),
    b"<!doctype html": ("an HTML page", _AGAIN),
    b"<html": ("an HTML page", _AGAIN),
    b"<?xml": ("an XML file", "Name the ONNX file that it was made from."),
    b"{": ("a JSON file", "Name the .onnx file."),
}
_FOURTH_BYTE: Mapping[bytes, str] = {b"TFL3": "a TensorFlow Lite model", b"ORTM": "in ONNX Runtime's own format"}


def require_model_file(path: Path) -> None:
    """Refuse what cannot be an ONNX file, by its first bytes; a file that passes need not be one."""
    if not str(path).isprintable():
        raise IrbenchError(
            f"The name of {path} contains characters that are not printable, which runtimes refuse.",
            hint="Rename the file.",
        )
    start, size = _start_and_size(path)
    if not start:
        raise IrbenchError(f"{path} is empty.", hint="Export or download it again.")
    _refuse_other_formats(path, start)
    if size > _MAX_BYTES:
        raise IrbenchError(
            f"{path} has {size / 1e9:.1f} GB, and an ONNX file can have at most 2 GiB.",
            hint="Save the weights in a separate file: onnx.save(model, FILE, save_as_external_data=True)",
        )


def _start_and_size(path: Path) -> tuple[bytes, int]:
    try:
        status = path.stat()
        if not stat.S_ISREG(status.st_mode):
            kind = "a folder" if stat.S_ISDIR(status.st_mode) else "not a regular file"
            raise IrbenchError(f"{path} is {kind}.", hint="Give an ONNX file.")
        with path.open("rb") as file:
            return file.read(_LOOK_BYTES), status.st_size
    except FileNotFoundError:
        raise IrbenchError(f"There is no file {path}.", hint="Check the path.") from None
    except OSError as error:
        raise IrbenchError(
            f"{path} cannot be read: {error.strerror or error}.", hint="Give an ONNX file that you can read."
        ) from error


def _refuse_other_formats(path: Path, start: bytes) -> None:
    text = start.lstrip().lower()
    for sign, (what, hint) in _STARTS.items():
        if start.startswith(sign) or text.startswith(sign):
            raise IrbenchError(f"{path} is {what}.", hint=hint.replace("FILE", quote(str(path))))
    other = _FOURTH_BYTE.get(start[4:8])
    if other is not None:
        raise IrbenchError(f"{path} is {other}.", hint="Give the ONNX model that it was made from.")
    if start.isascii() and start.decode("ascii").replace("\n", " ").replace("\r", " ").replace("\t", " ").isprintable():
        raise IrbenchError(f"{path} is a text file.", hint="Give the binary .onnx file.")


DAMAGED = "Export or download it again."
"""The remedy for a file that breaks the standard."""

_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5
_MAX_VARINT = 2**64 - 1


class Model:
    """Field numbers of ModelProto."""

    IR_VERSION = 1
    PRODUCER_NAME = 2
    PRODUCER_VERSION = 3
    GRAPH = 7
    OPSET_IMPORT = 8
    FUNCTIONS = 25


class Opset:
    """Field numbers of OperatorSetIdProto."""

    DOMAIN = 1
    VERSION = 2


class GraphField:
    """Field numbers of GraphProto."""

    NODE = 1
    INITIALIZER = 5
    INPUT = 11
    OUTPUT = 12
    VALUE_INFO = 13


class Node:
    """Field numbers of NodeProto; FunctionProto keeps its nodes under ``OF_FUNCTION``."""

    INPUT = 1
    OUTPUT = 2
    NAME = 3
    OP_TYPE = 4
    ATTRIBUTE = 5
    DOMAIN = 7
    OF_FUNCTION = 7


class Attribute:
    """Field numbers of AttributeProto."""

    NAME = 1
    INTEGER = 3
    TENSOR = 5
    GRAPH = 6
    TENSORS = 10
    GRAPHS = 11


class Tensor:
    """Field numbers of TensorProto."""

    DIMS = 1
    DATA_TYPE = 2
    NAME = 8
    EXTERNAL_DATA = 13
    DATA_LOCATION = 14


class Entry:
    """Field numbers of StringStringEntryProto."""

    KEY = 1
    VALUE = 2


class Value:
    """Field numbers of ValueInfoProto, and of what it nests: its TypeProto, its Tensor, its shape, its dimensions."""

    NAME = 1
    TYPE = 2
    TENSOR_OF_TYPE = 1
    ELEMENT_OF_TENSOR = 1
    SHAPE_OF_TENSOR = 2
    DIMENSION_OF_SHAPE = 1
    SIZE_OF_DIMENSION = 1
    NAME_OF_DIMENSION = 2


@dataclass(frozen=True, slots=True)
class Field:
    """One field of a message.

    Attributes:
        value: Its value where it is a varint, otherwise 0.
    """

    number: int
    tag: int
    start: int
    end: int
    value: int


class Malformed(Exception):
    """The bytes cannot be an ONNX model; :func:`mapped` turns it into an error that names the file."""


@contextmanager
def mapped(path: Path) -> Iterator[memoryview]:
    """Map a model file into memory, read-only.

    A file that shrinks while it is mapped ends the process with SIGBUS: map files of unknown origin in workers.
    """
    require_model_file(path)
    with ExitStack() as stack:
        file = stack.enter_context(path.open("rb"))
        try:
            mapping = stack.enter_context(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
        except ValueError as error:  # it became empty a moment ago
            raise IrbenchError(f"{path} is empty.", hint=DAMAGED) from error
        view = memoryview(mapping)
        try:
            yield view
        except Malformed as error:
            raise IrbenchError(f"{path} is not an ONNX model, or is damaged.", hint=DAMAGED) from error
        finally:
            view.release()


def fields(data: memoryview, start: int = 0, end: int | None = None) -> Iterator[Field]:
    """Yield the fields of the message that lies at ``data[start:end]``."""
    position, end = start, len(data) if end is None else end
    while position < end:
        tag = position
        key = data[position]
        if key < 0x80:  # as almost all keys and sizes are, each of which would cost a call
            position += 1
        else:
            key, position = _varint(data, position, end)
        number, wire_type = key >> 3, key & 7
        value = 0
        payload = position
        if wire_type == _VARINT:
            value, position = _varint(data, position, end)
        elif wire_type == _BYTES:
            if position < end and data[position] < 0x80:
                size, payload = data[position], position + 1
            else:
                size, payload = _varint(data, position, end)
            position = payload + size
        elif wire_type in (_FIXED64, _FIXED32):
            position += 8 if wire_type == _FIXED64 else 4
        else:
            raise Malformed
        if position > end or number == 0:
            raise Malformed
        yield Field(number, tag, payload, position, value)


def integers(data: memoryview, field: Field) -> Iterator[int]:
    """Yield the values of a repeated integer field, packed into one payload or not."""
    if data[field.tag] & 7 == _VARINT:
        yield field.value
        return
    position = field.start
    while position < field.end:
        value, position = _varint(data, position, field.end)
        yield value


def text(data: memoryview, field: Field) -> str:
    """Return the payload of a string field."""
    return bytes(data[field.start : field.end]).decode("utf-8", "replace")


def encoded_field(data: memoryview, field: Field) -> bytes:
    """Return a whole field as it is encoded, its tag included."""
    return bytes(data[field.tag : field.end])


def encode_bytes(number: int, payload: bytes) -> bytes:
    """Return a whole field that holds a string or a message."""
    return encode_length_delimited(number, len(payload)) + payload


def encode_integer(number: int, value: int) -> bytes:
    """Return a whole field that holds an integer of at least 0."""
    return _encode_varint(number << 3 | _VARINT) + _encode_varint(value)


def encode_length_delimited(number: int, size: int) -> bytes:
    """Return the tag and length that stand before a payload of ``size`` bytes."""
    return _encode_varint(number << 3 | _BYTES) + _encode_varint(size)


def _encode_varint(value: int) -> bytes:
    encoded = bytearray()
    while value >= 0x80:
        encoded.append(value & 0x7F | 0x80)
        value >>= 7
    encoded.append(value)
    return bytes(encoded)


def _varint(data: memoryview, position: int, end: int) -> tuple[int, int]:
    value = shift = 0
    while position < end and shift < 70:
        byte = data[position]
        position += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value & _MAX_VARINT, position
        shift += 7
    raise Malformed
