"""The two names of ONNX's own operator set: few tools understand the one that is spelled out, ``ai.onnx``."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from irbench.onnx.reading.protobuf import Field, Graph, Model, Node, fields, mapped, text

if TYPE_CHECKING:
    import onnx

SPELLED_OUT, _SHORT = "ai.onnx", ""


def spells_own_domain(path: Path) -> bool:
    """Return whether a node of the graph names the domain; nodes in bodies of others follow the same exporter."""
    with mapped(path) as data:
        graphs = [field for field in fields(data) if field.number == Model.GRAPH]
        nodes = (node for graph in graphs for node in _inside(data, graph) if node.number == Graph.NODE)
        parts = (part for node in nodes for part in _inside(data, node) if part.number == Node.DOMAIN)
        return any(text(data, part) == SPELLED_OUT for part in parts)


def shorten_own_domain(model: onnx.ModelProto) -> None:
    """Give nodes, functions and imports the short name, in place."""
    _shorten(model.opset_import)
    _shorten_nodes(model.graph.node)
    for function in model.functions:
        _shorten(function.opset_import)
        _shorten_nodes(function.node)


def _shorten_nodes(nodes: Iterable[onnx.NodeProto]) -> None:
    for node in nodes:
        _shorten([node])
        for attribute in node.attribute:
            for graph in (*attribute.graphs, *([attribute.g] if attribute.HasField("g") else [])):
                _shorten_nodes(graph.node)


def _shorten(named: Iterable[onnx.NodeProto | onnx.OperatorSetIdProto]) -> None:
    for message in named:
        if message.domain == SPELLED_OUT:
            message.domain = _SHORT


def _inside(data: memoryview, outer: Field) -> Iterator[Field]:
    return fields(data, outer.start, outer.end)
