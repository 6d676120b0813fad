"""Binding shapes: a copy of an ONNX file whose inputs have concrete sizes.

Runtimes choose faster kernels and plan memory for shapes they know, so every cell gets them. A copy is planned by a
walk over the bytes of the file, and written piece by piece.

Only the signature is new; the weights are copied as bytes, so half a gigabyte costs no memory, and those that lie in
files of their own are linked where that is possible. Planning maps the file; writing only reads it, and trusts no plan,
so that a file of unknown origin is planned in a process that can harm nobody, and written in the coordinator.
"""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import BinaryIO, TypeAlias

from irbench.errors import IrbenchError
from irbench.onnx.reading import external_data
from irbench.onnx.reading.external_data import size_of_file
from irbench.onnx.reading.protobuf import (
    DAMAGED,
    Field,
    GraphField,
    Model,
    Value,
    encode_bytes,
    encode_integer,
    encode_length_delimited,
    encoded_field,
    fields,
    mapped,
    text,
)
from irbench.spec import Artifact, Shape, TensorSpec
from irbench.spec.generation import GenerationArtifact
from irbench.spec.requested_sizes import example_sizes

_COPY_BYTES = 1 << 24
_TO_DIMENSIONS = (Value.TYPE, Value.TENSOR_OF_TYPE, Value.SHAPE_OF_TENSOR, Value.DIMENSION_OF_SHAPE)
"""Where an input or output holds its dimensions: a field in a field in a field."""

_Piece: TypeAlias = bytes | tuple[int, int]


@dataclass(frozen=True)
class BoundCopy:
    """What a copy consists of.

    Attributes:
        pieces: New bytes, and for all that stays as it is its beginning and its end in the file.
        locations: Files of weights that belong to it, relative to its folder.
    """

    pieces: tuple[_Piece, ...]
    locations: tuple[str, ...]


def plan_copy(source: Path, bound: Artifact) -> BoundCopy:
    """Return what a copy of a file consists of whose inputs and outputs have the shapes of an artifact."""
    external_data.require_sound(source)
    with mapped(source) as data:
        pieces: list[_Piece] = []
        for field in fields(data):
            pieces += _graph(data, field, bound) if field.number == Model.GRAPH else [(field.tag, field.end)]
        return BoundCopy(tuple(pieces), external_data.files_of(data))


def write_copy(copy: BoundCopy, source: Path, target: Path) -> None:
    """Write a copy of ``source`` to ``target``, and put its weights beside it."""
    if not _in_order(copy.pieces, source.stat().st_size):
        raise IrbenchError(f"{source} changed while it was read.", hint=DAMAGED)
    for location in copy.locations:
        size_of_file(source.parent, location)
        link_or_copy(source.parent, target.parent, location)
    unfinished = _unfinished(target)
    with source.open("rb") as origin, unfinished.open("wb") as file:
        for piece in copy.pieces:
            if isinstance(piece, bytes):
                file.write(piece)
            elif not _copy_bytes(file, origin, *piece):
                raise IrbenchError(f"{source} changed while it was read.", hint=DAMAGED)
    unfinished.replace(target)


def _in_order(pieces: Sequence[_Piece], size: int) -> bool:
    """Whether what stays of a file of ``size`` bytes lies within it, each piece behind the one before."""
    places = [place for piece in pieces if not isinstance(piece, bytes) for place in piece]
    return all(first <= second for first, second in pairwise([0, *places, size]))


def _graph(data: memoryview, graph: Field, bound: Artifact) -> list[_Piece]:
    shapes = {spec.name: spec.shape for spec in (*bound.inputs, *bound.outputs)}
    pieces: list[_Piece] = []
    run_start = graph.start
    for field in fields(data, graph.start, graph.end):
        if field.number in (GraphField.INPUT, GraphField.OUTPUT, GraphField.VALUE_INFO):
            pieces += [(run_start, field.tag)] if field.tag > run_start else []
            run_start = field.end
            if field.number != GraphField.VALUE_INFO:
                pieces.append(_rewritten(data, field, shapes))
    pieces.append((run_start, graph.end))
    size = sum(len(piece) if isinstance(piece, bytes) else piece[1] - piece[0] for piece in pieces)
    return [encode_length_delimited(Model.GRAPH, size), *pieces]


def _rewritten(data: memoryview, field: Field, shapes: Mapping[str, Shape]) -> bytes:
    """Return an input or output field with the shape known for its name; unchanged where none is.

    Sizes that stay unknown get the names that they have here: a file may call two of them ``?``, or -1.
    """
    names = [text(data, part) for part in fields(data, field.start, field.end) if part.number == Value.NAME]
    shape = shapes.get(names[-1] if names else "", ())
    stated = sum(1 for _ in _dimensions(data, field, _TO_DIMENSIONS))
    if stated != len(shape):  # where the signature states no rank, none is written
        return encoded_field(data, field)
    return _with_shape(data, field, _TO_DIMENSIONS, iter(shape))


def _dimensions(data: memoryview, field: Field, path: tuple[int, ...]) -> Iterator[Field]:
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
        _with_shape(data, part, path[1:], shape) if part.number == path[0] else encoded_field(data, part)
        for part in parts
    )
    return encode_bytes(field.number, b"".join(payload))


def _dimension(data: memoryview, field: Field, size: int | str) -> bytes:
    stated = (
        encode_integer(Value.SIZE_OF_DIMENSION, size)
        if isinstance(size, int)
        else encode_bytes(Value.NAME_OF_DIMENSION, size.encode())
    )
    sizes = (Value.SIZE_OF_DIMENSION, Value.NAME_OF_DIMENSION)
    others = (encoded_field(data, part) for part in fields(data, field.start, field.end) if part.number not in sizes)
    return stated + b"".join(others)


def _copy_bytes(file: BinaryIO, origin: BinaryIO, start: int, end: int) -> bool:
    origin.seek(start)
    while start < end:
        piece = origin.read(min(_COPY_BYTES, end - start))
        if not piece:
            return False
        file.write(piece)
        start += len(piece)
    return True


def link_or_copy(source: Path, target: Path, location: str) -> None:
    """Put external weights beside the rewritten file: a hard link costs nothing, but needs one file system.

    Runtimes refuse symbolic links.
    """
    destination = target / location
    destination.parent.mkdir(parents=True, exist_ok=True)
    unfinished = _unfinished(destination)
    try:
        unfinished.hardlink_to(source / location)
    except OSError:
        shutil.copyfile(source / location, unfinished)
    unfinished.replace(destination)


def _unfinished(path: Path) -> Path:
    """Return where a file is written before it gets its name, which may be as long as names can be."""
    return path.with_name(f".{os.getpid()}.unfinished")


def bind(
    artifact: Artifact, sizes: Mapping[str, int], scratch: Path, plan: Callable[[Path, Artifact], BoundCopy] = plan_copy
) -> Artifact:
    """Return the artifact with every dynamic input dimension made concrete.

    Args:
        artifact: Its path is absolute.
        sizes: A size for every dynamic dimension, by name.
        scratch: A folder for the rewritten file; equal requests share one file.
        plan: Walks over the file; the coordinator has this done in a process of its own.

    Returns:
        For kind ``onnx`` an artifact whose file has concrete input dimensions and no stale shapes
        inside; the same file where no dimension was dynamic. For other kinds only the specs are bound. An
        output dimension that depends on the data keeps its name.
    """
    for spec in artifact.inputs:
        _require_sizes(spec, artifact, sizes)
    bound = with_sizes(artifact, sizes)
    if not is_rewritten(artifact):
        return bound
    key = _key(artifact, sizes)
    path = scratch / key / artifact.path.name
    if not path.exists():
        _write(plan(artifact.path, bound), artifact.path, path)
        if _key(artifact, sizes) != key:
            path.unlink()
            raise IrbenchError(f"{artifact.path} changed while it was read.", hint="Wait until it is written in full.")
    return replace(bound, path=path, sha256="")


def _write(copy: BoundCopy, origin: Path, path: Path) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_copy(copy, origin, path)
    except OSError as error:
        raise IrbenchError(
            f"No copy of {origin} with fixed shapes can be written: {error.strerror}.",
            hint=f"It is written into {path.parent.parent}, which needs as much room as the file.",
        ) from error


def with_sizes(artifact: Artifact, sizes: Mapping[str, int]) -> Artifact:
    """Return the artifact with tensors of these sizes, and a file that leaves them dynamic."""
    return replace(
        artifact,
        inputs=tuple(spec.bind(sizes) for spec in artifact.inputs),
        outputs=tuple(spec.bind(sizes) for spec in artifact.outputs),
    )


def is_rewritten(artifact: Artifact) -> bool:
    """Whether binding makes a new file: that of an ONNX model with dynamic input dimensions, none of which grows."""
    if isinstance(artifact, GenerationArtifact):
        return False
    return artifact.kind == "onnx" and any(spec.dynamic_dimensions for spec in artifact.inputs)


def _require_sizes(spec: TensorSpec, artifact: Artifact, sizes: Mapping[str, int]) -> None:
    shape = spec.bind(sizes).shape
    for name, size in zip(spec.shape, shape, strict=True):
        if isinstance(name, int):
            continue
        if isinstance(size, str):
            raise IrbenchError(
                f"Input '{spec.name}' has a dynamic dimension '{name}' without a size.",
                hint=f"Add a size, for example: {example_sizes(artifact.inputs, sizes)}",
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
            f"{artifact.path} cannot be read: {error.strerror}.", hint="Do not move or delete the file during the run."
        ) from error
    identity = (str(artifact.path), status.st_mtime_ns, status.st_size, sorted(sizes.items()))
    return hashlib.sha256(repr(identity).encode()).hexdigest()[:16]
