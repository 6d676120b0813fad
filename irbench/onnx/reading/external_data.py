"""External data of an ONNX file: found in its bytes, and checked before any runtime opens it.

A location is a string that the file's author chose. A runtime that follows it may read any file of the user's, or
beyond the end of one, so each is checked here first: it must be a regular file below the model's own folder, reached
without links, and long enough for the tensor that it holds.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

from irbench.errors import IrbenchError
from irbench.onnx.reading.element_types import NAMES, bits_of
from irbench.onnx.reading.node_labels import decoded
from irbench.onnx.reading.protobuf import DAMAGED, Entry, Field, Malformed, Tensor, fields, integers, mapped, text
from irbench.onnx.reading.weight_files import shortened, size_of_file

if TYPE_CHECKING:
    import onnx

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
    """One tensor whose bytes lie in another file.

    Attributes:
        location: Path relative to the model's folder, as the model gives it.
    """

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
    """Yield the tensors of a serialised model, its subgraphs and functions, whose bytes lie in other files.

    Raises:
        Malformed: The bytes are not a model.
        IrbenchError: The location, offset or length of a tensor is invalid.
    """
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
        found = tuple(external_tensors(data))
    sizes = {tensor.location: size_of_file(path.parent, tensor.location) for tensor in found}
    for spec in found:
        if spec.offset_bytes + spec.size_bytes > sizes[spec.location]:
            raise IrbenchError(
                f"The weights of '{shortened(spec.tensor)}' extend beyond the end of '{shortened(spec.location)}'.",
                hint="The file is truncated or belongs to another model: copy or download both files again.",
            )
    return sum(tensor.size_bytes for tensor in found)


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
    for node in _nodes(model):
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
            graphs += (attribute.g, *attribute.graphs) if attribute.HasField("g") else attribute.graphs
        nodes = [node for graph in graphs for node in graph.node]
        yield from (tensor for graph in graphs for tensor in graph.initializer)
        graphs = []


def _nodes(model: onnx.ModelProto) -> Iterator[onnx.NodeProto]:
    waiting = [*model.graph.node, *(node for function in model.functions for node in function.node)]
    while waiting:
        node = waiting.pop()
        yield node
        for attribute in node.attribute:
            graphs = (attribute.g, *attribute.graphs) if attribute.HasField("g") else attribute.graphs
            waiting += (inner for graph in graphs for inner in graph.node)


def _entries_of(tensor: onnx.TensorProto) -> dict[str, str]:
    return {entry.key: entry.value for entry in tensor.external_data}


def _described(data: memoryview, tensor: Field) -> _Described:
    found = _Described()
    for part in fields(data, tensor.start, tensor.end):
        if part.number == Tensor.NAME:
            found.name = text(data, part)
        elif part.number == Tensor.DATA_TYPE:
            found.element = part.value
        elif part.number == Tensor.DIMS:
            found.dims.extend(integers(data, part))
        elif part.number == Tensor.DATA_LOCATION:
            found.outside = part.value == _IN_OTHER_FILE
        elif part.number == Tensor.EXTERNAL_DATA:
            entry = {inner.number: text(data, inner) for inner in fields(data, part.start, part.end)}
            found.entries[entry.get(Entry.KEY, "")] = entry.get(Entry.VALUE, "")
    return found


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
