"""Binding shapes: a copy of an ONNX file whose inputs have concrete sizes.

Runtimes choose faster kernels and plan memory for shapes they know, so every cell gets them. Only the
signature is rewritten; the weights are copied as bytes, so half a gigabyte costs no memory, and those that
lie in files of their own are linked where that is possible. The file is walked over and never parsed, so that one of
unknown origin needs no worker, and onnx is not imported.
"""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import BinaryIO

from irbench.errors import IrbenchError
from irbench.onnx.reading import external_data
from irbench.onnx.reading.protobuf import (
    Field,
    Graph,
    Malformed,
    Model,
    Value,
    encode_bytes,
    encode_integer,
    encode_length_delimited,
    fields,
    mapped,
    text,
)
from irbench.spec import Artifact, Shape, TensorSpec, names_in, shape_text

__all__ = ["bind", "is_rewritten", "link_or_copy", "with_sizes"]

_COPY_BYTES = 1 << 24
_TO_DIMENSIONS = (Value.TYPE, Value.TENSOR_OF_TYPE, Value.SHAPE_OF_TENSOR, Value.DIMENSION_OF_SHAPE)
"""Where an input or output holds its dimensions: a field in a field in a field."""


def bind(artifact: Artifact, sizes: Mapping[str, int], scratch: Path) -> Artifact:
    """Return the artifact with every dynamic input dimension made concrete.

    Args:
        artifact: Its path is absolute.
        sizes: A size for every dynamic dimension, by name.
        scratch: A folder for the rewritten file; equal requests share one file.

    Returns:
        For kind ``onnx`` an artifact whose file has concrete input dimensions and no stale shapes
        inside; the same file where no dimension was dynamic. For other kinds only the specs are bound. An
        output dimension that depends on the data keeps its name.

    Raises:
        IrbenchError: A dynamic input dimension has no size, the file is not a model that can be rewritten, or the copy
            cannot be written.
    """
    for spec in artifact.inputs:
        _require_sizes(spec, sizes)
    bound = with_sizes(artifact, sizes)
    if not is_rewritten(artifact):
        return bound
    folder = scratch / _key(artifact, sizes)
    path = folder / artifact.path.name
    if not path.exists():
        try:
            folder.mkdir(parents=True, exist_ok=True)
            _write_copy(artifact.path, path, bound)
        except OSError as error:
            raise IrbenchError(
                f"No copy of {artifact.path} with fixed shapes can be written: {error.strerror}.",
                hint=f"It is written into {scratch}, which needs as much room as the file.",
            ) from error
    return replace(bound, path=path, sha256="")


def with_sizes(artifact: Artifact, sizes: Mapping[str, int]) -> Artifact:
    """Return the artifact with tensors of these sizes, and a file that leaves them dynamic."""
    return replace(
        artifact,
        inputs=tuple(spec.bind(sizes) for spec in artifact.inputs),
        outputs=tuple(spec.bind(sizes) for spec in artifact.outputs),
    )


def is_rewritten(artifact: Artifact) -> bool:
    """Whether binding makes a new file: that of an ONNX model with dynamic input dimensions."""
    return artifact.kind == "onnx" and any(spec.dynamic_dimensions for spec in artifact.inputs)


def _require_sizes(spec: TensorSpec, sizes: Mapping[str, int]) -> None:
    shape = spec.bind(sizes).shape
    for name, size in zip(spec.shape, shape, strict=True):
        if isinstance(name, int):
            continue
        if isinstance(size, str):
            example = shape_text([128 if isinstance(size, str) else size for size in shape])
            free = next((part for part in names_in(name) if part not in sizes), name)
            raise IrbenchError(
                f"Input '{spec.name}' has a dynamic dimension '{name}' without a size.",
                hint=f"Give one, for example --shape {spec.name}={example}, or --shape {free}=128",
            )
        if size < 1:
            raise IrbenchError(
                f"Dimension '{name}' of input '{spec.name}' cannot be {size}.", hint="Use a size of at least 1."
            )


def _key(artifact: Artifact, sizes: Mapping[str, int]) -> str:
    """Return a folder name that is different for other files, other versions of a file and other sizes."""
    try:
        status = artifact.path.stat()
    except OSError as error:
        raise IrbenchError(
            f"{artifact.path} cannot be read: {error.strerror}.",
            hint="Do not move or delete the file during the run.",
        ) from error
    identity = (str(artifact.path), status.st_mtime_ns, status.st_size, sorted(sizes.items()))
    return hashlib.sha256(repr(identity).encode()).hexdigest()[:16]


def _write_copy(source: Path, target: Path, bound: Artifact) -> None:
    external_data.require_sound(source)
    unfinished = target.with_name(f"{target.name}.{os.getpid()}")
    with mapped(source) as data, source.open("rb") as origin, unfinished.open("wb") as file:
        for location in external_data.files_of(data):
            link_or_copy(source.parent, target.parent, location)
        for field in fields(data):
            if field.number == Model.GRAPH:
                _write_graph(file, _pieces(data, field, bound), origin)
            else:
                _copy_bytes(file, origin, field.tag, field.end)
    unfinished.replace(target)


def _pieces(data: memoryview, graph: Field, bound: Artifact) -> list[bytes | tuple[int, int]]:
    """Return the graph with a new signature: new bytes, and places in the file for all that stays as it is."""
    shapes = {spec.name: spec.shape for spec in (*bound.inputs, *bound.outputs)}
    pieces: list[bytes | tuple[int, int]] = []
    run_start = graph.start
    for field in fields(data, graph.start, graph.end):
        if field.number in (Graph.INPUT, Graph.OUTPUT, Graph.VALUE_INFO):
            pieces.append((run_start, field.tag))
            run_start = field.end
            if field.number != Graph.VALUE_INFO:
                pieces.append(_rewritten(data, field, shapes))
    return [*pieces, (run_start, graph.end)]


def _write_graph(file: BinaryIO, pieces: list[bytes | tuple[int, int]], origin: BinaryIO) -> None:
    size = sum(len(piece) if isinstance(piece, bytes) else piece[1] - piece[0] for piece in pieces)
    file.write(encode_length_delimited(Model.GRAPH, size))
    for piece in pieces:
        if isinstance(piece, bytes):
            file.write(piece)
        else:
            _copy_bytes(file, origin, *piece)


def _rewritten(data: memoryview, field: Field, shapes: Mapping[str, Shape]) -> bytes:
    """Return an input or output field with the shape known for its name; unchanged where none is.

    Sizes that stay unknown get the names that they have here: a file may call two of them ``?``, or -1.
    """
    names = [text(data, part) for part in fields(data, field.start, field.end) if part.number == Value.NAME]
    shape = shapes.get(names[-1] if names else "", ())
    stated = sum(1 for _ in _dimensions(data, field, _TO_DIMENSIONS))
    if stated != len(shape):  # where the signature states no rank, none is written
        return _copied(data, field)
    return _with_shape(data, field, _TO_DIMENSIONS, iter(shape))


def _dimensions(data: memoryview, field: Field, path: tuple[int, ...]) -> Iterator[Field]:
    """Yield the fields at the end of a path of field numbers."""
    if not path:
        yield field
        return
    for part in fields(data, field.start, field.end):
        if part.number == path[0]:
            yield from _dimensions(data, part, path[1:])


def _with_shape(data: memoryview, field: Field, path: tuple[int, ...], shape: Iterator[int | str]) -> bytes:
    """Return a field whose dimensions, at the end of a path of field numbers, have the sizes of a shape."""
    if not path:
        return encode_bytes(field.number, _dimension(data, field, next(shape)))
    parts = fields(data, field.start, field.end)
    payload = (
        _with_shape(data, part, path[1:], shape) if part.number == path[0] else _copied(data, part) for part in parts
    )
    return encode_bytes(field.number, b"".join(payload))


def _dimension(data: memoryview, field: Field, size: int | str) -> bytes:
    """Return the message of a dimension with this size or name, and what else it held."""
    stated = (
        encode_integer(Value.SIZE_OF_DIMENSION, size)
        if isinstance(size, int)
        else encode_bytes(Value.NAME_OF_DIMENSION, size.encode())
    )
    sizes = (Value.SIZE_OF_DIMENSION, Value.NAME_OF_DIMENSION)
    others = (_copied(data, part) for part in fields(data, field.start, field.end) if part.number not in sizes)
    return stated + b"".join(others)


def _copied(data: memoryview, field: Field) -> bytes:
    return bytes(data[field.tag : field.end])


def _copy_bytes(file: BinaryIO, origin: BinaryIO, start: int, end: int) -> None:
    """Copy what lies between two places of a file, which is read: one that shrinks while it is mapped ends a process.

    Raises:
        Malformed: The file ends before.
    """
    origin.seek(start)
    while start < end:
        piece = origin.read(min(_COPY_BYTES, end - start))
        if not piece:
            raise Malformed
        file.write(piece)
        start += len(piece)


def link_or_copy(source: Path, target: Path, location: str) -> None:
    """Put external weights beside the rewritten file: a hard link costs nothing, but needs one file system.

    Runtimes refuse symbolic links.
    """
    destination = target / location
    destination.parent.mkdir(parents=True, exist_ok=True)
    unfinished = destination.with_name(f"{destination.name}.{os.getpid()}")
    try:
        unfinished.hardlink_to(source / location)
    except OSError:
        shutil.copyfile(source / location, unfinished)
    unfinished.replace(destination)
