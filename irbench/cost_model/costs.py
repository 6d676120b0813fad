"""What a graph costs: arithmetic, parameters and bytes of its nodes, and their sums."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeVar

from irbench.onnx.operator_classes import OperatorClass
from irbench.spec import TensorSpec

_Key = TypeVar("_Key")

UncountedReason = Literal["no-rule", "unknown-shape", "unknown-trip-count"]
UNCOUNTED_TEXTS: Mapping[UncountedReason, str] = {
    "no-rule": "no rule for the operator",
    "unknown-shape": "a shape is unknown",
    "unknown-trip-count": "the number of iterations of the loop is unknown",
}


@dataclass(frozen=True)
class NodeCost:
    """What one node costs in one inference, all its executions together.

    Attributes:
        name: Its name, or ``{op_type} of {first output}`` where it has none.
        domain: The operator set it comes from; empty for ONNX's own.
        macs: Multiply-accumulates of products, convolutions and recurrences; 0 for other operators, ``None`` where
            they are unknown.
        flops: Arithmetic operations, 2 for each multiply-accumulate among them; ``None`` where no rule exists or a
            shape is unknown.
        parameters: Elements of its weights; those of a weight that several nodes use count for the first of them.
        read_bytes: Bytes that it reads, of weights and of activations; ``None`` where a shape is unknown. An operator
            that only renames a tensor, such as ``Reshape``, reads and writes none.
        written_bytes: Bytes of the outputs that it writes; ``None`` where a shape is unknown.
        executions: How often it is executed: more than once in the body of a loop, 0 where nobody knows how often.
        activation_bytes: Bytes that it reads and writes without those of weights; ``None`` where a shape is unknown.
        dtype: Element type of its first input, or of its first output where it has no input; empty where it is unknown.
    """

    name: str
    op_type: str
    domain: str
    operator_class: OperatorClass
    macs: int | None
    flops: int | None
    parameters: int
    weight_bytes: int
    read_bytes: int | None
    written_bytes: int | None
    executions: int = 1
    activation_bytes: int | None = None
    dtype: str = ""

    @property
    def operator(self) -> str:
        """The operator with its domain, as ``com.microsoft.Gelu``; the bare name for ONNX's own."""
        return f"{self.domain}.{self.op_type}" if self.domain else self.op_type

    @property
    def moved_bytes(self) -> int | None:
        """Bytes that it reads and writes, weights included."""
        if self.read_bytes is None or self.written_bytes is None:
            return None
        return self.read_bytes + self.written_bytes

    @property
    def intensity(self) -> float | None:
        """Arithmetic intensity: operations for each byte read or written; ``None`` where either is unknown."""
        return None if self.flops is None or not self.moved_bytes else self.flops / self.moved_bytes


@dataclass(frozen=True)
class CostSum:
    """What several nodes cost together, in the units of :class:`NodeCost`; unknown costs are left out.

    Attributes:
        activation_bytes: Bytes read and written, without those of weights.
        without_macs: Nodes whose multiply-accumulates are unknown.
        without_flops: Nodes whose operations are unknown.
        without_bytes: Nodes whose bytes are unknown.
    """

    nodes: int = 0
    macs: int = 0
    flops: int = 0
    parameters: int = 0
    weight_bytes: int = 0
    read_bytes: int = 0
    written_bytes: int = 0
    activation_bytes: int = 0
    without_macs: int = 0
    without_flops: int = 0
    without_bytes: int = 0

    @property
    def moved_bytes(self) -> int:
        """Bytes read and written, weights included."""
        return self.read_bytes + self.written_bytes

    @property
    def intensity(self) -> float | None:
        """Operations for each byte read or written; ``None`` where a node's are unknown, or nothing is moved."""
        if self.without_flops or self.without_bytes or not self.moved_bytes:
            return None
        return self.flops / self.moved_bytes


@dataclass(frozen=True)
class UncountedNode:
    """A node whose operations could not be counted.

    Attributes:
        reason: ``no-rule`` for an operator that is not known, ``unknown-shape``, or ``unknown-trip-count`` for a loop
            whose body is then counted nowhere.
        lacks_macs: Whether it may hold multiply-accumulates that are missing from the sum.
    """

    name: str
    operator: str
    reason: UncountedReason
    lacks_macs: bool


@dataclass(frozen=True)
class ModelCost:
    """What one inference of a model costs at one size of its inputs.

    Attributes:
        nodes: Every node that is executed, in the order of the graph, the nodes of bodies behind the node that holds
            them. Of the branches of an ``If`` the dearer one is taken.
        activation_types: Bytes of activations that are read and written, by element type.
        uncounted: Nodes whose operations are unknown, also those of branches that are not taken.
        empty: Names of nodes of the main graph that make tensors without elements of such that have some: at these
            sizes an input is shorter than a window, for example.
    """

    nodes: tuple[NodeCost, ...]
    inputs: tuple[TensorSpec, ...] = ()
    weight_types: Mapping[str, int] = field(default_factory=dict[str, int])
    activation_types: Mapping[str, int] = field(default_factory=dict[str, int])
    uncounted: tuple[UncountedNode, ...] = ()
    empty: tuple[str, ...] = ()

    @property
    def total(self) -> CostSum:
        """All nodes together."""
        return _sum_of(self.nodes)

    @property
    def macs(self) -> int:
        """Multiply-accumulates; a lower bound where ``uncounted`` has a node that lacks them."""
        return self.total.macs

    @property
    def flops(self) -> int:
        """Arithmetic operations; a lower bound where ``uncounted`` is not empty."""
        return self.total.flops

    @property
    def parameters(self) -> int:
        """Elements of the weights that nodes use, each weight once."""
        return self.total.parameters

    @property
    def weight_bytes(self) -> int:
        """Bytes of these weights."""
        return self.total.weight_bytes

    @property
    def activation_bytes(self) -> int:
        """Bytes of activations that nodes read and write."""
        return self.total.activation_bytes

    @property
    def intensity(self) -> float | None:
        """Operations for each byte read or written, where all are known."""
        return self.total.intensity

    @property
    def without_macs(self) -> tuple[str, ...]:
        """Names of nodes whose multiply-accumulates are missing from the sum."""
        return tuple(node.name for node in self.uncounted if node.lacks_macs)

    @property
    def unknown_operators(self) -> tuple[str, ...]:
        """Operators that no rule exists for, sorted."""
        return tuple(sorted({node.operator for node in self.uncounted if node.reason == "no-rule"}))

    def by_class(self) -> Mapping[OperatorClass, CostSum]:
        """Return the sums of the classes that occur, in the order of :class:`OperatorClass`."""
        sums = _sums(self.nodes, lambda node: node.operator_class)
        return {operators: sums[operators] for operators in OperatorClass if operators in sums}

    def by_operator(self) -> Mapping[str, CostSum]:
        """Return the sums by operator with its domain, that with the most operations first."""
        sums = _sums(self.nodes, lambda node: node.operator)
        return dict(sorted(sums.items(), key=lambda entry: (-entry[1].flops, -entry[1].moved_bytes, entry[0])))


def _sums(nodes: Iterable[NodeCost], key: Callable[[NodeCost], _Key]) -> dict[_Key, CostSum]:
    groups: dict[_Key, list[NodeCost]] = {}
    for node in nodes:
        groups.setdefault(key(node), []).append(node)
    return {name: _sum_of(members) for name, members in groups.items()}


def _sum_of(nodes: Iterable[NodeCost]) -> CostSum:
    members = tuple(nodes)
    return CostSum(
        nodes=len(members),
        macs=sum(node.macs or 0 for node in members),
        flops=sum(node.flops or 0 for node in members),
        parameters=sum(node.parameters for node in members),
        weight_bytes=sum(node.weight_bytes for node in members),
        read_bytes=sum(node.read_bytes or 0 for node in members),
        written_bytes=sum(node.written_bytes or 0 for node in members),
        activation_bytes=sum(node.activation_bytes or 0 for node in members),
        without_macs=sum(node.macs is None for node in members),
        without_flops=sum(node.flops is None for node in members),
        without_bytes=sum(node.moved_bytes is None for node in members),
    )
