"""The nodes of an ONNX file as a profile's document holds them: names, classes, shapes and work."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from irbench.cost_model import model_cost
from irbench.onnx.operator_classes import operator_class
from irbench.onnx.reading.inventory import take_inventory
from irbench.onnx.reading.node_labels import node_label
from irbench.onnx.reading.value_shapes import dtype_of, inferred_at, shape_of
from irbench.onnx.reading.weightless import read_outline
from irbench.profiling.origins import origins
from irbench.profiling.record import GraphNode
from irbench.spec import TensorSpec
from irbench.spi.profiling import TensorShape

if TYPE_CHECKING:
    import onnx


def read_graph(path: Path, inputs: Sequence[TensorSpec], exported: Path | None = None) -> tuple[GraphNode, ...]:
    """Return the nodes of an ONNX file in topological order, those of bodies behind the node that has them.

    ONNX's own code reads what is in the file: call this in a worker.

    Args:
        path: The file; its weights are not read.
        inputs: Its inputs with bound sizes.
        exported: The file that it was made from by optimising; ``None`` where it is the exported one itself.

    Raises:
        IrbenchError: The file is missing or not an ONNX model.
    """
    outline = read_outline(path)
    flops = {node.name: node.flops for node in model_cost(outline, inputs).nodes}
    stands_for = {} if exported is None else origins(take_inventory(path), take_inventory(exported))
    found: dict[str, GraphNode] = {}
    for node in _nodes(inferred_at(outline, inputs).graph, {}):
        found.setdefault(node.name, replace(node, flops=flops.get(node.name), original=stands_for.get(node.name, ())))
    return tuple(found.values())


def _nodes(graph: onnx.GraphProto, outer: dict[str, TensorShape]) -> Iterator[GraphNode]:
    shapes = {**outer, **{value.name: _shape(value) for value in (*graph.input, *graph.value_info, *graph.output)}}
    for node in graph.node:
        yield GraphNode(
            name=node_label(node.name, node.op_type, node.output),
            op_type=node.op_type,
            domain=node.domain,
            operator_class=operator_class(node.domain, node.op_type),
            inputs=tuple(node.input),
            outputs=tuple(node.output),
            shapes=tuple(shapes[name] for name in node.output if name in shapes),
        )
        for attribute in node.attribute:
            for body in (attribute.g, *attribute.graphs) if attribute.HasField("g") or attribute.graphs else ():
                yield from _nodes(body, shapes)


def _shape(value: onnx.ValueInfoProto) -> TensorShape:
    shape = shape_of(value) if value.type.tensor_type.HasField("shape") else ("?",)
    known = tuple(size for size in shape if isinstance(size, int))
    return TensorShape(dtype_of(value), known if len(known) == len(shape) else None)
