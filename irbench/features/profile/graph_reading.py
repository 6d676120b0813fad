"""The nodes of an ONNX file as a profile's document holds them: names, classes, shapes and work."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from irbench.cost_model.counting import model_cost
from irbench.features.profile.record import GraphNode
from irbench.onnx.operator_classes import operator_class
from irbench.onnx.reading.counterparts import ContainedNodes
from irbench.onnx.reading.difference import name_stems
from irbench.onnx.reading.external_data import read_outline
from irbench.onnx.reading.inventory import Inventory, NodeEntry, node_label, take_inventory
from irbench.onnx.reading.value_shapes import dtype_of, inferred_at, shape_of
from irbench.spec import TensorSpec
from irbench.spi.profiling import TensorShape

if TYPE_CHECKING:
    import onnx


def origins(optimized: Inventory, exported: Inventory) -> Mapping[str, tuple[str, ...]]:
    """Return, by the name of each node of an optimised graph, the exported nodes that it stands for.

    A node of the same name stands for itself. Besides, a node stands for what lies, in the exported graph, between its
    outputs and those of the nodes before it. Tensors are the same if they have the same name, or one to which something
    was added, as passes do that write ``scores_reshape`` in the place of ``scores``. A node for which nothing is left
    belongs to those that took it. Nodes that stand for nothing are left out.
    """
    labels = {node.label for node in exported.nodes}
    kept = {node.label for node in optimized.nodes if node.label in labels}
    graph = ContainedNodes(exported.nodes, (weight.name for weight in exported.weights), kept)
    found: dict[str, tuple[str, ...]] = {}
    for node in optimized.nodes:
        tensors = tuple(_known(node, graph))
        claimed = graph.claim(tensors, node.label) or _taken(node, graph, tensors, kept)
        if claimed:
            found[node.label] = claimed
    return found


def _taken(node: NodeEntry, graph: ContainedNodes, tensors: Collection[str], kept: Collection[str]) -> tuple[str, ...]:
    """Return the makers of a node's tensors, which another node has claimed already."""
    if node.label in kept:
        return (node.label,)
    return tuple(maker.label for tensor in tensors if (maker := graph.maker(tensor)) is not None)


def _known(node: NodeEntry, graph: ContainedNodes) -> Iterator[str]:
    """Yield the tensors of the exported graph that a node's outputs are, or are named after."""
    for output in node.outputs:
        names = (name for name in (output, *name_stems(output)) if graph.maker(name) is not None)
        yield from list(names)[:1]


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
