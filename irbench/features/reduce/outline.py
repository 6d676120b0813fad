"""A graph as a search sees it: which node reads what another one writes, without weights and attributes."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass


@dataclass(frozen=True)
class OutlineNode:
    """One node; what graphs inside it do belongs to it.

    Attributes:
        name: Its own, or its operator and first output where it has none.
        op_type: Its operator.
        domain: Where the operator is defined; empty for ONNX's own.
        reads: Values that it or a graph inside it reads.
        writes: Its outputs; those that are left out are not among them.
        weight_bytes: Size of the weights that it reads.
        is_static: Whether its outputs are the same whatever the inputs of the model hold.
    """

    name: str
    op_type: str
    domain: str
    reads: tuple[str, ...]
    writes: tuple[str, ...]
    weight_bytes: int = 0
    is_static: bool = False


@dataclass(frozen=True)
class Boundary:
    """Values at the edge of some nodes.

    Attributes:
        inputs: What they read from elsewhere.
        constants: Among what they read from elsewhere, values that are the same for all inputs of the model: shapes,
            for example. A runtime that finds them as inputs could not do what it does with the whole graph.
        outputs: What they write for others, or for nobody that is left.
    """

    inputs: tuple[str, ...]
    constants: tuple[str, ...]
    outputs: tuple[str, ...]


@dataclass(frozen=True)
class GraphOutline:
    """All nodes of a graph.

    Attributes:
        nodes: In the graph's order, in which each stands behind what it reads.
        inputs: Its inputs, weights not among them.
        outputs: Its outputs.
        weights: Names of its initializers.
    """

    nodes: tuple[OutlineNode, ...]
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    weights: frozenset[str]

    def boundary(self, kept: Collection[int]) -> Boundary:
        """Return what lies at the edge of some nodes.

        An output that a kept node reads stays inside, unless the model gives it: an additional output would keep a
        runtime from fusing the two. What no node of the whole graph reads is no output either.

        Args:
            kept: Places of nodes.
        """
        nodes = [self.nodes[place] for place in sorted(kept)]
        written = {name for node in nodes for name in node.writes}
        read = {name for node in nodes for name in node.reads}
        static = {name for node in self.nodes if node.is_static for name in node.writes}
        known = self._values()
        outside = dict.fromkeys(
            name for node in nodes for name in node.reads if name in known and name not in written | self.weights
        )
        return Boundary(
            inputs=tuple(name for name in outside if name not in static),
            constants=tuple(name for name in outside if name in static),
            outputs=tuple(self._outputs(nodes, read)),
        )

    def _outputs(self, nodes: Collection[OutlineNode], read: Collection[str]) -> Iterator[str]:
        needed = {name for node in self.nodes for name in node.reads}
        for node in nodes:
            for name in node.writes:
                if name in self.outputs or (name in needed and name not in read):
                    yield name

    def _values(self) -> frozenset[str]:
        """Return the names that are values of this graph, and not of one inside a node."""
        written = {name for node in self.nodes for name in node.writes}
        return frozenset(written | self.weights | set(self.inputs))

    @property
    def searched(self) -> tuple[int, ...]:
        """Places of the nodes that a search is about: those whose outputs depend on the inputs of the model."""
        return tuple(place for place, node in enumerate(self.nodes) if not node.is_static)
