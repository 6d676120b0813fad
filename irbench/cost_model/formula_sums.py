"""Formulas of groups of nodes, out of the coefficients of each node."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from irbench.cost_model.costs import ModelCost, NodeCost
from irbench.cost_model.polynomials import Polynomial, polynomial

if TYPE_CHECKING:
    from numpy.typing import NDArray

QUANTITIES = ("macs", "flops", "read_bytes", "written_bytes", "activation_bytes")


@dataclass(frozen=True)
class CostFormula:
    """What nodes cost together, in the units of :class:`~irbench.cost_model.NodeCost`; unknown costs are left out.

    Attributes:
        activation_bytes: Bytes read and written, without those of weights.
        without_macs: Nodes whose multiply-accumulates are unknown.
        without_flops: Nodes whose operations are unknown.
        without_bytes: Nodes whose bytes are unknown.
    """

    nodes: int
    macs: Polynomial
    flops: Polynomial
    read_bytes: Polynomial
    written_bytes: Polynomial
    activation_bytes: Polynomial
    parameters: int
    weight_bytes: int
    without_macs: int
    without_flops: int
    without_bytes: int


@dataclass(frozen=True)
class FormulaSums:
    """Formulas of groups of nodes, out of the coefficients of each node."""

    names: tuple[str, ...]
    example: ModelCost
    coefficients: NDArray[Any]

    def of(self, places: Sequence[int]) -> CostFormula:
        """Return what some nodes cost together."""
        summed = self.coefficients[..., list(places), :].sum(axis=-2)
        formulas = {name: polynomial(self.names, summed[..., column]) for column, name in enumerate(QUANTITIES)}
        nodes = [self.example.nodes[place] for place in places]
        return CostFormula(
            nodes=len(nodes),
            **formulas,
            parameters=sum(node.parameters for node in nodes),
            weight_bytes=sum(node.weight_bytes for node in nodes),
            without_macs=sum(node.macs is None for node in nodes),
            without_flops=sum(node.flops is None for node in nodes),
            without_bytes=sum(node.moved_bytes is None for node in nodes),
        )

    def by(self, key: Callable[[NodeCost], Any]) -> dict[Any, CostFormula]:
        """Return the sums of the nodes that have something in common."""
        groups: dict[Any, list[int]] = {}
        for place, node in enumerate(self.example.nodes):
            groups.setdefault(key(node), []).append(place)
        return {name: self.of(places) for name, places in groups.items()}

    def hold(self, sizes: Mapping[str, int], cost: ModelCost) -> bool:
        """Return whether every node has the cost that was counted at some sizes."""
        if pattern_of(cost) != pattern_of(self.example):
            return False
        return bool(np.all(self._at(sizes) == costs_of_nodes(cost)))

    def _at(self, sizes: Mapping[str, int]) -> NDArray[Any]:
        """Return the costs of all nodes at some sizes: nodes, then quantities."""
        found = self.coefficients
        for name in self.names:
            powers = np.array([sizes[name] ** power for power in range(len(found))], dtype=object)
            found = np.tensordot(powers, found, axes=1)
        return found


def costs_of_nodes(cost: ModelCost) -> NDArray[Any]:
    """Return an array of whole numbers: nodes, then quantities; an unknown cost is 0."""
    return np.array([[value or 0 for value in _quantities(node)] for node in cost.nodes], dtype=object).reshape(
        len(cost.nodes), len(QUANTITIES)
    )


def pattern_of(cost: ModelCost) -> tuple[Hashable, ...]:
    """Return what must be the same at every size: the nodes, and which of their costs are known."""
    return tuple((node.name, node.operator, *(value is None for value in _quantities(node))) for node in cost.nodes)


def _quantities(node: NodeCost) -> tuple[int | None, ...]:
    return node.macs, node.flops, node.read_bytes, node.written_bytes, node.activation_bytes
