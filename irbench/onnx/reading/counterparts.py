"""Which nodes of an ONNX graph belong to an operator of another graph: one that a runtime or a framework made.

Runtimes fuse nodes under names of their own, but keep the names of the tensors that leave the fused operator: it
contains what lies between its tensors.

Exporters keep names: an ONNX node or tensor is called as the framework's node, with a suffix where it has become
several nodes. What they rewrite further has names of its own, and is found by where it lies: between nodes that kept
theirs.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Container, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from irbench.onnx.operator_classes import OperatorClass
from irbench.onnx.reading.inventory import Inventory, NodeEntry

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
        places = [place for name in tensors if (place := self._makers.get(name)) is not None]
        if label in self._places:
            places.append(self._places[label])
        claimed: set[int] = set()
        waiting = [place for place in places if place not in self._claimed]
        while waiting:
            place = waiting.pop()
            if place not in claimed:
                claimed.add(place)
                waiting.extend(self._unclaimed_before(place))
        self._claimed |= claimed
        return tuple(self._nodes[place].label for place in sorted(claimed))

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


_SUFFIX = re.compile(r"__\d+$")
_REWRITTEN = re.compile(r"(?P<scope>(?:.*/)?)[A-Za-z]+Optimizer/[A-Za-z]+_(?P<rest>[^/]+)$")
"""What TensorFlow's rewriter calls nodes: ``x/ArithmeticOptimizer/AddOpsRewrite_Leaf_1_Add`` is a part of ``x/Add``."""
_LOOP = re.compile(r"(?:.*?/)?while(?:_\d+)?(?=/|$)")
"""The scope of a loop, in the names of the nodes in it."""
_PRODUCT = re.compile("Conv|Einsum|Gemm|MatMul|Attention")
_RECURRENT = frozenset({"GRU", "LSTM", "Loop", "RNN", "Scan"})
_OWN_SCOPE = re.compile(r"(einsum|Tensordot|convolution)(_\d+)?/[^/]*$")
_FRAMEWORK_PRODUCT = re.compile("conv|dot|einsum|matmul", re.IGNORECASE)
"""Part of the kind of a product, where its backend tells no class of it."""


@dataclass(frozen=True)
class FrameworkOperator:
    """An operator as the framework executed it.

    Attributes:
        nodes: Names of the nodes of the framework's graph in it; none where they are unknown.
        operator_class: The class of its kind, a value of :class:`irbench.onnx.operator_classes.OperatorClass`; empty
            where its backend tells none.
    """

    kind: str
    nodes: tuple[str, ...]
    operator_class: str = ""

    @property
    def is_product(self) -> bool:
        """Whether it is a product or a convolution."""
        if self.operator_class:
            return self.operator_class == OperatorClass.MATRIX
        return _FRAMEWORK_PRODUCT.search(self.kind) is not None

    @property
    def loop(self) -> str:
        """The scope of the loop that it is a part of; empty where it is part of none."""
        loops = (_LOOP.match(name) for name in self.nodes)
        return next((match[0] for match in loops if match is not None), "")

    @property
    def scopes(self) -> tuple[str, ...]:
        """The scopes of its nodes; a product's own is left out, such as that of ``query/einsum/Einsum``."""
        return tuple(_OWN_SCOPE.sub("", name).rpartition("/")[0] for name in self.nodes)


def onnx_counterparts(operators: Iterable[FrameworkOperator], exported: Inventory) -> tuple[tuple[str, ...], ...]:
    """Return, for each operator, the labels of the ONNX nodes that compute the same; none where they are unknown.

    An operator that computes a part of a node beside its product has that node as well: an exporter folds a scale and
    a bias behind a convolution into it, which the framework computes apart.
    """
    executed = tuple(operators)
    search = _CounterpartSearch(exported)
    for place, operator in enumerate(executed):
        search.add(place, operator)
    products = {
        label for place, operator in enumerate(executed) if operator.is_product for label in search.labels(place)
    }
    return tuple(
        tuple(label for label in search.labels(place) if operator.is_product or not search.is_taken(label, products))
        or search.parts(place, products)
        for place, operator in enumerate(executed)
    )


class _CounterpartSearch:
    """Walks along the order of execution, and shares out what lies between nodes of the same name."""

    def __init__(self, exported: Inventory) -> None:
        self._graph = ContainedNodes(exported.nodes, (weight.name for weight in exported.weights))
        self._of_names: dict[str, dict[str, None]] = defaultdict(dict)
        self._of_operators: dict[int, dict[str, None]] = defaultdict(dict)
        self._added: list[FrameworkOperator] = []
        self._waiting: list[int] = []
        self._parts: dict[int, list[str]] = {}

    def add(self, place: int, operator: FrameworkOperator) -> None:
        names = tuple(map(self._exported_name, operator.nodes))
        operator = replace(operator, nodes=names)
        self._added.append(operator)
        tensors = {f"{name}:0": name for name in names} | {name: name for name in names}
        makers = {maker.label: name for tensor, name in tensors.items() if (maker := self._graph.maker(tensor))}
        same = [name for name in names if self._graph.node(name) is not None]
        if not makers and not same:
            self._waiting.append(place)
            return
        claimed = [*self._graph.claim(tensors), *(label for name in same for label in self._graph.claim((), name))]
        shared: list[str] = []
        for label in claimed:
            owner = makers.get(label, _SUFFIX.sub("", label))
            if owner in names and (operator.is_product or not self._is_product(label)):
                self._of_names[owner][label] = None
            else:
                shared.append(label)
        if makers and not claimed and not operator.is_product:
            self._add_parts(list(makers), place)
        self._share(shared, place)

    def labels(self, place: int) -> tuple[str, ...]:
        of_names = (label for name in self._added[place].nodes for label in self._of_names[name])
        return tuple(dict.fromkeys((*self._of_operators[place], *of_names)))

    def _exported_name(self, name: str) -> str:
        """Return the name that a node was exported with: it may have another since its framework rewrote the graph."""
        rewritten = _REWRITTEN.match(name)
        if rewritten is None or self._is_exported(name):
            return name
        words = rewritten["rest"].split("_")
        candidates = (rewritten["scope"] + "_".join(words[first:]) for first in range(len(words)))
        return next(filter(self._is_exported, candidates), name)

    def _is_exported(self, name: str) -> bool:
        tensors = (f"{name}:0", name)
        return self._graph.node(name) is not None or any(self._graph.maker(tensor) is not None for tensor in tensors)

    def parts(self, place: int, products: Collection[str]) -> tuple[str, ...]:
        return tuple(label for label in self._parts.get(place, ()) if label in products)

    def _add_parts(self, labels: list[str], place: int) -> None:
        """Note that an operator makes the tensors of nodes that were claimed before; what waits in its scope helps."""
        scopes = self._added[place].scopes
        helpers = [
            waiting
            for waiting in self._waiting
            if not self._added[waiting].is_product and set(self._added[waiting].scopes) & set(scopes)
        ]
        self._waiting = [waiting for waiting in self._waiting if waiting not in helpers]
        self._parts.update(dict.fromkeys((*helpers, place), labels))

    def is_taken(self, label: str, products: Collection[str]) -> bool:
        """Whether a node is a product that an operator computes which is one: others only lay it out."""
        return self._is_product(label) and label in products

    def _share(self, labels: Sequence[str], behind: int) -> None:
        """Share nodes out among the operators that wait and the one behind them.

        Each recurrent node goes to all operators of a loop, and each product, with what comes before it, to a product;
        the operator behind has what is left.
        """
        shared = self._share_loops(labels)
        left = [label for label in labels if label not in shared]
        products = sum(map(self._is_product, left))
        takers = self._takers(behind, products) or [behind]
        self._waiting = [place for place in self._waiting if place not in takers]
        at = 0
        for label in left:
            self._of_operators[takers[at]][label] = None
            if self._is_product(label):
                at = min(at + 1, len(takers) - 1)

    def _share_loops(self, labels: Sequence[str]) -> Collection[str]:
        """Give recurrent nodes to the loops that wait, the last to the last, and return what was given.

        The axis that a recurrent node's output has for its direction goes with it.
        """
        recurrent = [label for label in labels if self._op_type(label) in _RECURRENT]
        loops: dict[str, list[int]] = defaultdict(list)
        for place in self._waiting:
            if self._added[place].loop:
                loops[self._added[place].loop].append(place)
        shared: set[str] = set()
        for label, places in zip(reversed(recurrent), reversed(loops.values()), strict=False):
            self._waiting = [place for place in self._waiting if place not in places]
            parts = [label, *(part for part in self._squeezed(label) if part in labels)]
            shared.update(parts)
            for place in places:
                self._of_operators[place].update(dict.fromkeys(parts))
        return shared

    def _squeezed(self, label: str) -> Iterator[str]:
        node = self._graph.node(label)
        users = (self._graph.only_user(output) for output in (() if node is None else node.outputs))
        yield from (user.label for user in users if user is not None and user.op_type == "Squeeze")

    def _takers(self, behind: int, count: int) -> list[int]:
        """Return so many of the products that wait, and the operator behind them if it is one: the last ones.

        Only those in its scope are meant where they are enough: others run beside them.
        """
        products = [place for place in (*self._waiting, behind) if self._added[place].is_product]
        near = [place for place in products if self._is_near(place, behind)]
        return (near if len(near) >= count else products)[-count:] if count else []

    def _is_near(self, place: int, behind: int) -> bool:
        operator, around = self._added[place], self._added[behind].scopes
        near = (f"{outer}/".startswith(f"{scope}/") for scope in operator.scopes for outer in around)
        return place == behind or not operator.nodes or any(near)

    def _is_product(self, label: str) -> bool:
        return _PRODUCT.search(self._op_type(label)) is not None

    def _op_type(self, label: str) -> str:
        node = self._graph.node(label)
        return "" if node is None else node.op_type
