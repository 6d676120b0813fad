"""Which nodes of a graph an operator contains that a runtime made of them: what lies between its tensors.

Runtimes fuse nodes under names of their own, but keep the names of the tensors that leave the fused operator.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Sequence

from irbench.onnx.reading.inventory import NodeEntry

_STATIC = frozenset({"Constant", "Shape", "Size"})
"""Operators whose outputs are known once shapes are."""


class ContainedNodes:
    """A graph whose nodes are claimed by the operators that compute them.

    Operators claim in the order in which they are executed: a node belongs to the first one whose outputs depend on it.

    Args:
        nodes: Of the original graph, in an order in which they can be executed; those of bodies and functions may be
            among them. Of tensors that two nodes make under one name, in the branches of an ``If`` for example, the
            first is meant.
        weights: Names of its initialisers.
        kept: Labels of nodes that are operators of their own, and so are part of no other.
    """

    def __init__(
        self, nodes: Sequence[NodeEntry], weights: Iterable[str] = (), kept: Container[str] = frozenset()
    ) -> None:
        self._nodes = tuple(nodes)
        self._kept = kept
        self._places: dict[str, int] = {}
        self._makers: dict[str, int] = {}
        self._users: dict[str, list[int]] = {}
        self._claimed: set[int] = set()
        for place, node in enumerate(self._nodes):
            self._places.setdefault(node.label, place)
            for name in filter(None, node.outputs):
                self._makers.setdefault(name, place)
            for name in filter(None, node.inputs):
                self._users.setdefault(name, []).append(place)
        self._folded = self._find_folded(set(weights))

    def maker(self, tensor: str) -> NodeEntry | None:
        """Return the node that has this output; ``None`` where there is none."""
        place = self._makers.get(tensor)
        return None if place is None else self._nodes[place]

    def node(self, label: str) -> NodeEntry | None:
        """Return the node that is called so; ``None`` where there is none."""
        place = self._places.get(label)
        return None if place is None else self._nodes[place]

    def only_user(self, tensor: str) -> NodeEntry | None:
        """Return the node that alone reads a tensor; ``None`` where none or several do."""
        users = self._users.get(tensor, ())
        return self._nodes[users[0]] if len(users) == 1 else None

    def claim(self, tensors: Iterable[str], label: str = "") -> tuple[str, ...]:
        """Claim what makes tensors, back to what was claimed before, and return the labels in the graph's order.

        Nodes that only prepare constants are claimed where they are asked for themselves: a runtime folds them when it
        compiles.

        Args:
            tensors: What an operator gives, by the names of the original graph; names that it lacks are ignored.
            label: Of a node that the operator computes in any case.
        """
        asked = [place for name in tensors if (place := self._makers.get(name)) is not None]
        if label in self._places:
            asked.append(self._places[label])
        found: set[int] = set()
        waiting = [place for place in asked if place not in self._claimed]
        while waiting:
            place = waiting.pop()
            if place not in found:
                found.add(place)
                waiting.extend(self._unclaimed_before(place))
        self._claimed |= found
        return tuple(self._nodes[place].label for place in sorted(found))

    def _unclaimed_before(self, place: int) -> Iterator[int]:
        for name in self._nodes[place].inputs:
            maker = self._makers.get(name)
            if maker is not None and self._may_be_part(maker):
                yield maker

    def _may_be_part(self, place: int) -> bool:
        return place not in self._claimed and place not in self._folded and self._nodes[place].label not in self._kept

    def _find_folded(self, constants: set[str]) -> set[int]:
        folded: set[int] = set()
        for place, node in enumerate(self._nodes):
            if node.op_type in _STATIC or all(name in constants for name in node.inputs if name):
                folded.add(place)
                constants.update(node.outputs)
        return folded
