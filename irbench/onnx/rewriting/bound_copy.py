"""A copy of an ONNX file with another signature: planned by a walk over its bytes, and written piece by piece.

Only the signature is new; the weights are copied as bytes, so half a gigabyte costs no memory, and those that lie in
files of their own are linked where that is possible. Planning maps the file; writing only reads it, and trusts no plan,
so that a file of unknown origin is planned in a process that can harm nobody, and written in the coordinator.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import BinaryIO, TypeAlias

from irbench.errors import IrbenchError
from irbench.onnx.reading import external_data
from irbench.onnx.reading.protobuf import (
    DAMAGED,
    Field,
    Graph,
    Model,
    Value,
    encode_bytes,
    encode_integer,
    encode_length_delimited,
    fields,
    mapped,
    text,
)
from irbench.onnx.reading.weight_files import size_of_file
from irbench.spec import Artifact, Shape

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
    """Write a copy of ``source`` to ``target``, and put its weights beside it.

    Raises:
        IrbenchError: Weights lie where they must not, or the file is shorter than it was.
        OSError: The copy cannot be written.
    """
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
        if field.number in (Graph.INPUT, Graph.OUTPUT, Graph.VALUE_INFO):
            pieces += [(run_start, field.tag)] if field.tag > run_start else []
            run_start = field.end
            if field.number != Graph.VALUE_INFO:
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
        return _copied(data, field)
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
