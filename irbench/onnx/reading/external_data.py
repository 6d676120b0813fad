"""External data of an ONNX file: found in its bytes, and checked before any runtime opens it.

A location is a string that the file's author chose. A runtime that follows it may read any file of the user's, or
beyond the end of one, so each is checked here first: it must be a regular file below the model's own folder, reached
without links, and long enough for the tensor that it holds.
"""

from __future__ import annotations

import errno
import math
import os.path
import stat
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path, PurePosixPath
from shlex import quote
from typing import TYPE_CHECKING

from irbench.errors import IrbenchError
from irbench.onnx.reading.element_types import NAMES, bits_of
from irbench.onnx.reading.inventory import decoded
from irbench.onnx.reading.protobuf import (
    DAMAGED,
    Entry,
    Field,
    GraphField,
    Malformed,
    Model,
    Tensor,
    encode_length_delimited,
    encoded_field,
    fields,
    integers,
    mapped,
    text,
)

if TYPE_CHECKING:
    import onnx

_FROM_MEMORY = "*/_ORT_MEM_ADDR_/*"
"""At this location ONNX Runtime takes the offset for an address in its own memory."""

_LONGEST = 80
_SAVE_AGAIN = "save the model again with a relative location."


def size_of_file(folder: Path, location: str) -> int:
    """Return the size in bytes of a file of weights."""
    if invalid := _invalid_location(folder, location):
        raise invalid
    origin, shown = folder / PurePosixPath(location), shortened(location)
    _refuse_links(folder, origin, location)
    try:
        status = origin.stat()
    except (FileNotFoundError, NotADirectoryError) as error:
        raise IrbenchError(f"The model's weights '{shown}' are missing.", hint=f"Copy the file to {origin}.") from error
    except OSError as error:  # a closed folder, or a name too long for any file
        hint = f"Copy the file to {folder}, and see that you can read it."
        if error.errno == errno.ENAMETOOLONG:
            hint = "Save the model again with a shorter location."
        raise IrbenchError(
            f"The model's weights '{shown}' cannot be opened: {error.strerror or error}.", hint=hint
        ) from error
    if not stat.S_ISREG(status.st_mode):
        raise _not_regular(origin, shown, status.st_mode)
    return status.st_size


def shortened(text: str) -> str:
    """Return a text of a model as errors quote it: its beginning where it is longer than any name in use."""
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}... ({len(text):,} characters)"


def _invalid_location(folder: Path, location: str) -> IrbenchError | None:
    parts = PurePosixPath(location)
    if not location:
        return IrbenchError(
            "The model says that weights are in another file, and not in which: their location is empty.",
            hint=f"Export the model again, or {_SAVE_AGAIN}",
        )
    if "\0" in location or location.startswith(_FROM_MEMORY):
        return IrbenchError(
            f"The model refers to weights at '{shortened(location)}', which no file can be called.",
            hint=f"Export the model again, or {_SAVE_AGAIN}",
        )
    if not parts.is_absolute() and ".." not in parts.parts:
        return None
    return _crooked_location(folder.absolute(), location)


def _crooked_location(folder: Path, location: str) -> IrbenchError:
    parts = PurePosixPath(location)
    within = os.path.relpath(os.path.normpath(folder / parts), os.path.normpath(folder))
    if PurePosixPath(within).parts[:1] == ("..",):
        return IrbenchError(
            f"The model refers to weights at '{shortened(location)}', outside its own folder.",
            hint=f"Move the file next to the model, and {_SAVE_AGAIN}",
        )
    form = "an absolute path" if parts.is_absolute() else "a path with '..' in it"
    return IrbenchError(
        f"The model refers to weights at '{shortened(location)}', which is {form}.",
        hint=f"Runtimes refuse that. Save the model again with the location '{shortened(within)}'."
        if within != "."
        else f"That is a folder. Export the model again, or {_SAVE_AGAIN}",
    )


def _not_regular(origin: Path, shown: str, mode: int) -> IrbenchError:
    if stat.S_ISDIR(mode):
        return IrbenchError(
            f"The model's weights '{shown}' are a folder.",
            hint=f"Save the model again with the location of a file, or put the file of weights where {origin} is, "
            "in place of the folder.",
        )
    kind = "a pipe" if stat.S_ISFIFO(mode) else "no file"
    return IrbenchError(
        f"The model's weights '{shown}' are {kind}.", hint=f"Remove {origin}, and copy the file of weights there."
    )


def _refuse_links(folder: Path, origin: Path, location: str) -> None:
    """Refuse weights that are reached over a link, which may lead to any file of the user's."""
    try:
        inside, target = folder.resolve(), origin.resolve()
    except (OSError, RuntimeError):  # a loop of links, or a name too long; opening it says which
        return
    if target == inside / PurePosixPath(location):
        return
    shown = shortened(location)
    if not _is_there(target):
        raise IrbenchError(
            f"The model's weights '{shown}' are a symbolic link to {target}, which cannot be reached.",
            hint=f"Copy the file that is meant to {origin}, in place of the link.",
        )
    copy = f"ake a copy without links: cp -rL {quote(str(folder))} COPY"
    leads_out = not target.is_relative_to(inside)
    raise IrbenchError(
        f"The model's weights '{shown}' are a symbolic link to {target}, which runtimes refuse.",
        hint=f"That is outside the model's folder. If it is what you want to read, m{copy}"
        if leads_out
        else f"M{copy}",
    )


def _is_there(path: Path) -> bool:
    try:
        return path.exists()
    except OSError:  # a folder around it is closed
        return False


_INSIDE: Mapping[str, Mapping[int, str]] = {
    "model": {7: "graph", 20: "training", 25: "function"},
    "training": {1: "graph", 2: "graph"},
    "graph": {1: "node", 5: "tensor", 15: "sparse"},
    "function": {7: "node", 11: "attribute"},
    "node": {5: "attribute"},
    "attribute": {5: "tensor", 6: "graph", 10: "tensor", 11: "graph", 22: "sparse", 23: "sparse"},
    "sparse": {1: "tensor", 2: "tensor"},
}
"""Which field of which message holds which message, wherever tensors can be: onnx.proto3."""

_IN_OTHER_FILE = 1
_MAX_RANK = 32
_MAX_DIGITS = 19


@dataclass(frozen=True)
class External:
    """One tensor whose bytes lie in another file."""

    tensor: str
    location: str
    offset_bytes: int
    size_bytes: int


@dataclass
class _Described:
    name: str = ""
    element: int = 0
    outside: bool = False
    dims: list[int] = field(default_factory=list[int])
    entries: dict[str, str] = field(default_factory=dict[str, str])


def external_tensors(data: memoryview) -> Iterator[External]:
    """Yield the tensors of a serialised model, its subgraphs and functions, whose bytes lie in other files."""
    waiting = [("model", 0, len(data))]
    while waiting:
        kind, start, end = waiting.pop()
        for part in fields(data, start, end):
            inner = _INSIDE[kind].get(part.number)
            if inner == "tensor":
                described = _described(data, part)
                if described.outside or described.entries:
                    yield _external(described)
            elif inner is not None:
                waiting.append((inner, part.start, part.end))


def require_sound(path: Path) -> int:
    """Refuse a model whose external data lies where it must not, and return how many bytes it has."""
    with mapped(path) as data:
        tensors = tuple(external_tensors(data))
    sizes = {tensor.location: size_of_file(path.parent, tensor.location) for tensor in tensors}
    for spec in tensors:
        if spec.offset_bytes + spec.size_bytes > sizes[spec.location]:
            raise IrbenchError(
                f"The weights of '{shortened(spec.tensor)}' extend beyond the end of '{shortened(spec.location)}'.",
                hint="The file is truncated or belongs to another model: copy or download both files again.",
            )
    return sum(tensor.size_bytes for tensor in tensors)


def files_of(data: memoryview) -> tuple[str, ...]:
    """Return the locations of a model's external files, sorted; raises as :func:`external_tensors` does."""
    return tuple(sorted({external_tensor.location for external_tensor in external_tensors(data)}))


def files_of_model(path: Path) -> tuple[str, ...]:
    """Return what :func:`files_of` does, of a file; raises as :func:`external_tensors` does."""
    with mapped(path) as data:
        return files_of(data)


def load(path: Path) -> onnx.ModelProto:
    """Read a whole model, its external weights too, which may have several hard links here.

    Names of nodes that are not UTF-8 are made so: nothing refers to them, and a model that has one cannot be written.
    """
    import onnx

    require_sound(path)
    model = onnx.load(path, load_external_data=False)
    for node in every_node(model):
        if isinstance(node.name, bytes):
            node.name = decoded(node.name)
    for tensor in _tensors(model):
        if tensor.external_data:
            external = _external(
                _Described(tensor.name, tensor.data_type, True, list(tensor.dims), _entries_of(tensor))
            )
            with (path.parent / external.location).open("rb") as file:
                file.seek(external.offset_bytes)
                tensor.raw_data = file.read(external.size_bytes)
            tensor.ClearField("external_data")
            tensor.ClearField("data_location")
    return model


def _tensors(model: onnx.ModelProto) -> Iterator[onnx.TensorProto]:
    graphs, nodes = [model.graph], [node for function in model.functions for node in function.node]
    while graphs or nodes:
        for attribute in chain.from_iterable(node.attribute for node in nodes):
            yield from (attribute.t, *attribute.tensors)
            graphs += graphs_in(attribute)
        nodes = [node for graph in graphs for node in graph.node]
        yield from (tensor for graph in graphs for tensor in graph.initializer)
        graphs = []


def graphs_in(attribute: onnx.AttributeProto) -> tuple[onnx.GraphProto, ...]:
    """Return the bodies that an attribute holds."""
    return (attribute.g, *attribute.graphs) if attribute.HasField("g") else tuple(attribute.graphs)


def every_node(model: onnx.ModelProto) -> Iterator[onnx.NodeProto]:
    """Yield the nodes of a model, of its functions and of the bodies in all of them."""
    waiting = [*model.graph.node, *(node for function in model.functions for node in function.node)]
    while waiting:
        node = waiting.pop()
        yield node
        waiting += (inner for attribute in node.attribute for graph in graphs_in(attribute) for inner in graph.node)


def _entries_of(tensor: onnx.TensorProto) -> dict[str, str]:
    return {entry.key: entry.value for entry in tensor.external_data}


def _described(data: memoryview, tensor: Field) -> _Described:
    description = _Described()
    for part in fields(data, tensor.start, tensor.end):
        if part.number == Tensor.NAME:
            description.name = text(data, part)
        elif part.number == Tensor.DATA_TYPE:
            description.element = part.value
        elif part.number == Tensor.DIMS:
            description.dims.extend(integers(data, part))
        elif part.number == Tensor.DATA_LOCATION:
            description.outside = part.value == _IN_OTHER_FILE
        elif part.number == Tensor.EXTERNAL_DATA:
            entry = {inner.number: text(data, inner) for inner in fields(data, part.start, part.end)}
            description.entries[entry.get(Entry.KEY, "")] = entry.get(Entry.VALUE, "")
    return description


def _external(tensor: _Described) -> External:
    if len(tensor.dims) > _MAX_RANK or any(size >= 1 << 63 for size in tensor.dims):
        raise Malformed
    needed = -(-math.prod(tensor.dims) * bits_of(NAMES.get(tensor.element, "")) // 8)
    length = _number(tensor, "length", needed)
    if length < needed:
        raise IrbenchError(
            f"'{shortened(tensor.name)}' takes {needed} bytes, and the model says that {length} of them are stored.",
            hint=DAMAGED,
        )
    return External(tensor.name, tensor.entries.get("location", ""), _number(tensor, "offset", 0), length)


def _number(tensor: _Described, key: str, default: int) -> int:
    text_value = tensor.entries.get(key)
    if text_value is None:
        return default
    if not (text_value.isascii() and text_value.isdecimal() and len(text_value) <= _MAX_DIGITS):
        raise IrbenchError(
            f"The {key} of the weights of '{shortened(tensor.name)}' is not a number of bytes: "
            f"'{shortened(text_value)}'.",
            hint=DAMAGED,
        )
    return int(text_value)


_SMALL_BYTES = 1024
"""Sizes and axes, which shapes are computed from, are smaller than this; weights that are not are left out."""


def read_outline(path: Path) -> onnx.ModelProto:
    """Return a model whose large initializers have a type and a shape, and no content."""
    import onnx
    from google.protobuf.message import DecodeError

    with mapped(path) as data:
        pieces = [
            _graph(data, field) if field.number == Model.GRAPH else encoded_field(data, field) for field in fields(data)
        ]
        try:
            outline: onnx.ModelProto = onnx.ModelProto.FromString(b"".join(pieces))
        except DecodeError as error:
            raise Malformed from error
    return outline


def _graph(data: memoryview, graph: Field) -> bytes:
    inside = fields(data, graph.start, graph.end)
    return _framed(
        Model.GRAPH,
        [
            _weight(data, field) if field.number == GraphField.INITIALIZER else encoded_field(data, field)
            for field in inside
        ],
    )


def _weight(data: memoryview, tensor: Field) -> bytes:
    inside = fields(data, tensor.start, tensor.end)
    return _framed(
        GraphField.INITIALIZER,
        [encoded_field(data, field) for field in inside if field.end - field.start <= _SMALL_BYTES],
    )


def _framed(number: int, pieces: list[bytes]) -> bytes:
    content = b"".join(pieces)
    return encode_length_delimited(number, len(content)) + content
