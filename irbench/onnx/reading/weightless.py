"""Load an ONNX model without its large weights, in little memory, to infer shapes."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from irbench.onnx.reading.protobuf import Field, Graph, Malformed, Model, encode_length_delimited, fields, mapped

if TYPE_CHECKING:
    import onnx

_SMALL_BYTES = 1024
"""Sizes and axes, which shapes are computed from, are smaller than this; weights that are not are left out."""


def read_outline(path: Path) -> onnx.ModelProto:
    """Return a model whose large initializers have a type and a shape, and no content."""
    import onnx
    from google.protobuf.message import DecodeError

    with mapped(path) as data:
        pieces = [_graph(data, field) if field.number == Model.GRAPH else _bytes(data, field) for field in fields(data)]
        try:
            outline: onnx.ModelProto = onnx.ModelProto.FromString(b"".join(pieces))
        except DecodeError as error:
            raise Malformed from error
    return outline


def _graph(data: memoryview, graph: Field) -> bytes:
    inside = fields(data, graph.start, graph.end)
    return _framed(
        Model.GRAPH,
        [_weight(data, field) if field.number == Graph.INITIALIZER else _bytes(data, field) for field in inside],
    )


def _weight(data: memoryview, tensor: Field) -> bytes:
    inside = fields(data, tensor.start, tensor.end)
    return _framed(
        Graph.INITIALIZER, [_bytes(data, field) for field in inside if field.end - field.start <= _SMALL_BYTES]
    )


def _framed(number: int, pieces: list[bytes]) -> bytes:
    content = b"".join(pieces)
    return encode_length_delimited(number, len(content)) + content


def _bytes(data: memoryview, field: Field) -> bytes:
    return bytes(data[field.tag : field.end])
