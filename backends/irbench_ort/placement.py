"""Which execution provider got which node of a graph, as a session remembers it."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from irbench.onnx.operator_classes import PRODUCTS, OperatorClass, operator_class
from irbench.onnx.reading.inventory import Inventory, NodeEntry, take_inventory
from irbench.spec import Scalar, Shape, TensorSpec

CPU_PROVIDER = "CPUExecutionProvider"
_FEW_ELEMENTS = 1024
"""More than any shape has, and copied in no time."""
_HEAVY = (*PRODUCTS, OperatorClass.NORMALISATION)
_SIMPLE = (OperatorClass.ELEMENTWISE, OperatorClass.MOVEMENT)
"""Of these the counters and conditions of loops are made; sizes are unknown within a body."""
_MOST_OP_TYPES = 5


@dataclass(frozen=True)
class AssignedNode:
    """A node of the graph when it was divided among providers.

    Attributes:
        name: Its name in the ONNX graph; empty where it has none.
    """

    name: str
    op_type: str
    provider: str


def assigned_nodes(session: Any) -> tuple[AssignedNode, ...] | None:
    """Return every node with the provider that runs it; ``None`` where this version of the runtime does not tell.

    Args:
        session: One that was asked to remember: ``session.record_ep_graph_assignment_info``.
    """
    remembered = getattr(session, "get_provider_graph_assignment_info", None)
    if remembered is None:
        return None
    return tuple(
        AssignedNode(node.name, node.op_type, part.ep_name) for part in remembered() for node in part.get_nodes()
    )


def placement_facts(nodes: Sequence[AssignedNode] | None, provider: str) -> dict[str, Scalar]:
    """Return how many nodes a provider was asked to run, and how many run elsewhere, with their commonest operators."""
    if nodes is None:
        return {}
    elsewhere = Counter(node.op_type for node in nodes if node.provider != provider)
    facts: dict[str, Scalar] = {"nodes": len(nodes), "nodes_elsewhere": elsewhere.total()}
    if elsewhere:
        facts["operators_elsewhere"] = ",".join(op_type for op_type, _ in elsewhere.most_common(_MOST_OP_TYPES))
    return facts


def heavy_nodes(nodes: Sequence[AssignedNode], path: Path, inputs: Sequence[TensorSpec]) -> Counter[str]:
    """Return the operators of the nodes that compute more than shapes, with how many nodes have each.

    ONNX Runtime runs what computes shapes on the CPU, in whole numbers or not: that is what reads sizes of tensors
    and constants alone, and computes few elements as far as is known. What reads and computes few elements costs as
    little. Products and normalisations never do.

    Args:
        nodes: Nodes beside the device, as they are called in the graph or in what ONNX Runtime made of it.
        path: The graph.
        inputs: Of the graph, with their sizes.
    """
    inventory = take_inventory(path)
    light = frozenset(_light_nodes(inventory, _sizes(path, inputs)))
    named = {node.name: node in light for node in inventory.nodes if node.name}
    # of nodes without a name, or with a new one, there may be as many as the graph has light ones of their operator
    found = [node for node in nodes if named.get(node.name)]
    others = Counter(node.op_type for node in nodes if node.name not in named)
    heavy = Counter(node.op_type for node in nodes if named.get(node.name) is False)
    free = Counter(node.op_type for node in light) - Counter(node.op_type for node in found)
    return heavy + (others - free)


def nodes_reading_values(nodes: Sequence[AssignedNode], path: Path, inputs: Sequence[TensorSpec]) -> Counter[str]:
    """Return the operators of the nodes that read more than sizes and constants, with how many nodes have each.

    Args are those of :func:`heavy_nodes`. A node that the graph does not have counts too.
    """
    inventory = take_inventory(path)
    names = {node.name for node in _shape_nodes(inventory, _sizes(path, inputs)) if node.name}
    return Counter(node.op_type for node in nodes if node.name not in names)


def _sizes(path: Path, inputs: Sequence[TensorSpec]) -> dict[str, int | None]:
    """Return how many elements the values of a graph have, as far as that is known."""
    from irbench.onnx.reading.value_shapes import shapes_of_file  # NumPy, which listing backends does without

    sizes = {spec.name: _elements(spec.shape) for spec in inputs}
    return sizes | {value.name: _elements(value.shape) for value in shapes_of_file(path, inputs)}


def _shape_nodes(inventory: Inventory, sizes: Mapping[str, int | None]) -> Iterator[NodeEntry]:
    """Yield the nodes that read sizes of tensors and constants alone."""
    of_shapes = {weight.name for weight in inventory.weights}
    for node in inventory.nodes:
        reads_shapes = node.op_type in ("Shape", "Size") or all(name in of_shapes for name in node.inputs if name)
        # a weight that is unpacked on the CPU is copied to the GPU for each inference
        if reads_shapes and all((sizes.get(name) or 0) <= _FEW_ELEMENTS for name in node.outputs):
            of_shapes.update(node.outputs)
            yield node


def _light_nodes(inventory: Inventory, sizes: Mapping[str, int | None]) -> Iterator[NodeEntry]:
    weights = {weight.name for weight in inventory.weights}
    of_shapes = frozenset(_shape_nodes(inventory, sizes))
    for node in inventory.nodes:
        kind = operator_class(node.domain, node.op_type)
        values = {name for name in (*node.inputs, *node.outputs) if name} - weights
        is_few = (node.inner and kind in _SIMPLE) or all(_is_few(sizes.get(name)) for name in values)
        if kind not in _HEAVY and (node in of_shapes or is_few):
            yield node


def _is_few(elements: int | None) -> bool:
    return elements is not None and elements <= _FEW_ELEMENTS


def _elements(shape: Shape) -> int | None:
    known = [size for size in shape if isinstance(size, int)]
    return math.prod(known) if len(known) == len(shape) else None
