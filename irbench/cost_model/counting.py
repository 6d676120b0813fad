"""Counting what a graph costs at one size of its inputs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from irbench.cost_model.costs import ModelCost, NodeCost, UncountedNode, UncountedReason
from irbench.cost_model.known_tensors import KnownTensor, NodeView, Scope, UnknownShape, Work, scope_of
from irbench.cost_model.rules import rule_for
from irbench.errors import IrbenchError, first_line
from irbench.onnx.operator_classes import CLASSIFIED_DOMAINS, OPERATORS, PRODUCTS, operator_class
from irbench.onnx.reading.element_types import is_parameter_type
from irbench.onnx.reading.external_data import read_outline
from irbench.onnx.reading.inventory import decoded, node_label
from irbench.onnx.reading.packed_weights import packs, unpacked_elements
from irbench.onnx.reading.value_shapes import inferred_with_values
from irbench.spec import TensorSpec

if TYPE_CHECKING:
    import onnx

_VIEWS = frozenset(
    {
        "Constant", "Dropout", "ExpandDims", "Flatten", "Identity", "Optional", "OptionalGetElement",
        "OptionalHasElement", "Reshape", "SequenceAt", "SequenceConstruct", "SequenceEmpty", "SequenceLength", "Shape",
        "Size", "Squeeze", "Unsqueeze",
    }
)  # fmt: skip
"""What only describes or renames a tensor, or does nothing in inference; runtimes move nothing for it."""
_BODIES = frozenset({"If", "Loop", "Scan", "SequenceMap"})
"""What their bodies move is told by the nodes in them."""


@dataclass(frozen=True)
class MovedBytes:
    """What one execution of a node moves.

    Attributes:
        by_type: Bytes of activations that are read and written, by element type.
    """

    weights_read: int = 0
    activations_read: int = 0
    written: int = 0
    by_type: Mapping[str, int] = field(default_factory=dict[str, int])

    @property
    def read(self) -> int:
        """All bytes that are read."""
        return self.weights_read + self.activations_read


_Reads: TypeAlias = Iterator[tuple[KnownTensor, int]]
"""Tensors, and how many elements of them are read."""


def moved_bytes(node: NodeView) -> MovedBytes:
    """Return what a node reads and writes.

    An operator that picks elements reads those that it picks, and its indices, not the whole table.
    """
    name = node.node.op_type
    if name in _BODIES or (name in _VIEWS and node.node.domain in CLASSIFIED_DOMAINS):
        return MovedBytes()
    weights, activations, written = 0, 0, 0
    by_type: Counter[str] = Counter()
    for tensor, elements in _READS.get(name, _all_inputs)(node):
        size = tensor.bytes_of(elements)
        if tensor.is_weight:
            weights += size
        else:
            activations += size
            by_type[tensor.dtype] += size
    for tensor in node.output_tensors():
        written += tensor.size_bytes
        by_type[tensor.dtype] += tensor.size_bytes
    return MovedBytes(weights, activations, written, dict(by_type))


def _all_inputs(node: NodeView) -> _Reads:
    seen: set[str] = set()
    for name, tensor in zip(filter(None, node.node.input), node.input_tensors(), strict=True):
        if name not in seen:
            seen.add(name)
            yield tensor, tensor.elements


def _picked(node: NodeView) -> _Reads:
    """Yield as many elements of the first input as the output has, and the other inputs."""
    yield node.input(0), node.output_elements()
    yield from ((tensor, tensor.elements) for tensor in list(node.input_tensors())[1:])


def _embedded(node: NodeView) -> _Reads:
    """Yield the indices, the rows of the word, position and segment tables that are summed, scale and shift."""
    rows = node.output_elements()
    for place, _ in enumerate(node.node.input):
        if node.has_input(place):
            tensor = node.input(place)
            yield tensor, rows if place in (2, 3, 4) else tensor.elements


_READS: Mapping[str, Callable[[NodeView], _Reads]] = {
    "ArrayFeatureExtractor": _picked,
    "EmbedLayerNormalization": _embedded,
    "Gather": _picked,
    "GatherBlockQuantized": _picked,
    "GatherElements": _picked,
    "GatherND": _picked,
    "Slice": _picked,
    "TorchEmbedding": _picked,
}

_MAX_TRIPS = 2**31
"""A loop that is left by its condition alone has the largest integer for a trip count."""


def _trip_count(node: NodeView) -> int | None:
    """Return how often a ``Loop`` or ``Scan`` executes its body; ``None`` where the graph does not tell."""
    try:
        if node.node.op_type == "Scan":
            return _scanned(node)
        if node.node.op_type == "Loop":
            (trips,) = node.integers(0)
            return trips if 0 <= trips < _MAX_TRIPS else None
    except (UnknownShape, IndexError, ValueError, TypeError):
        return None
    return None


def _is_batched(node: NodeView) -> bool:
    """Whether it is the ``Scan`` of operator set 8, which has lengths before what its body is given, and batches."""
    return len(node.node.input) == 1 + len(node.attribute("body", None).input)


def _scanned(node: NodeView) -> int:
    """Return the length of the axis that is scanned over, over all batches; it is the same for every scanned input."""
    if _is_batched(node):
        batch, steps = node.input_shape(len(node.node.input) - 1)[:2]
        return batch * steps
    scanned = int(node.attribute("num_scan_inputs", 1))
    axis = next(iter(node.attribute("scan_input_axes", ())), 0)
    return node.input_shape(len(node.node.input) - scanned)[axis]


def cost_of_file(path: Path, inputs: Sequence[TensorSpec]) -> ModelCost:
    """Count what an ONNX file costs, whose weights are not read; :func:`model_cost` says how.

    ONNX's own code reads what is in the file: call this in a worker where the file is of unknown origin.
    """
    with refusals_of_onnx(path):
        return model_cost(read_outline(path), inputs)


@contextmanager
def refusals_of_onnx(path: Path) -> Iterator[None]:
    """Have what ONNX says against a file be an error of the user's."""
    try:
        yield
    except refusals() as error:
        raise IrbenchError(
            f"ONNX cannot infer the shapes of {path}: {first_line(error)}",
            hint="Check it with onnx.checker.check_model(path, full_check=True), and export it again.",
        ) from error


def refusals() -> tuple[type[Exception], ...]:
    """Return what ONNX raises where the nodes of a model do not fit together."""
    from onnx import checker, shape_inference

    return shape_inference.InferenceError, checker.ValidationError, RuntimeError, UnicodeDecodeError


def model_cost(model: onnx.ModelProto, inputs: Sequence[TensorSpec]) -> ModelCost:
    """Return what one inference costs, counted from shapes alone.

    The body of a loop counts as often as its trip count says, of the branches of an ``If`` the dearer one; functions
    count where they are called. What cannot be counted is listed in the result, and not counted as zero.
    """
    inferred, values = inferred_with_values(model, inputs)
    scope = scope_of(inferred.graph, values=values)
    part = _of_graph(inferred.graph, scope)
    weights: Counter[str] = Counter()
    nodes = tuple(_with_new_weights(part.nodes, weights))
    activations: Counter[str] = Counter()
    for node in part.nodes:
        activations.update(node.activations)
    views = (NodeView(node, scope) for node in inferred.graph.node)
    empty = tuple(_name(view.node) for view in views if _is_empty(view))
    return ModelCost(nodes, tuple(inputs), dict(weights), dict(activations), part.uncounted, empty)


class _UsedWeight(NamedTuple):
    """A weight, and how many numbers it stands for where it is used: several may be packed into a byte."""

    tensor: KnownTensor
    numbers: int


@dataclass(frozen=True)
class _CountedNode:
    """A node's cost, the weights that it uses, and its activations by element type."""

    cost: NodeCost
    weights: tuple[_UsedWeight, ...] = ()
    activations: Mapping[str, int] = field(default_factory=dict[str, int])

    def times(self, executions: int) -> _CountedNode:
        cost = self.cost
        return replace(
            self,
            cost=replace(
                cost,
                macs=_product(cost.macs, executions),
                flops=_product(cost.flops, executions),
                read_bytes=_product(cost.read_bytes, executions),
                written_bytes=_product(cost.written_bytes, executions),
                activation_bytes=_product(cost.activation_bytes, executions),
                executions=cost.executions * executions,
            ),
            activations={dtype: size * executions for dtype, size in self.activations.items()},
        )

    def without_costs(self) -> _CountedNode:
        cost = replace(
            self.cost, executions=0, macs=None, flops=None, read_bytes=None, written_bytes=None, activation_bytes=None
        )
        return replace(self, cost=cost, activations={})


@dataclass(frozen=True)
class _Part:
    """What the nodes of a graph cost, those of bodies included."""

    nodes: tuple[_CountedNode, ...] = ()
    uncounted: tuple[UncountedNode, ...] = ()

    def __add__(self, other: _Part) -> _Part:
        return _Part(self.nodes + other.nodes, self.uncounted + other.uncounted)

    @property
    def flops(self) -> int:
        return sum(node.cost.flops or 0 for node in self.nodes)

    @property
    def computes(self) -> bool:
        return bool(self.uncounted) or self.flops > 0

    @property
    def multiplies(self) -> bool:
        return any(node.cost.macs != 0 for node in self.nodes) or any(node.lacks_macs for node in self.uncounted)


def _of_graph(graph: onnx.GraphProto, scope: Scope) -> _Part:
    parts = [_of_node(node, scope) for node in graph.node]
    return _Part(
        tuple(node for part in parts for node in part.nodes), tuple(node for part in parts for node in part.uncounted)
    )


def _of_node(node: onnx.NodeProto, scope: Scope) -> _Part:
    bodies = [_of_graph(body, scope_of(body, scope)) for body in _bodies(node)]
    view = NodeView(node, scope)
    if bodies:
        return _of_bodies(view, bodies)
    work, reason = _work(view)
    macs = work.macs if work is not None else None if _may_multiply(node) else 0
    part = _Part((_counted(view, macs, None if work is None else work.flops),))
    return part if reason is None else part + _uncounted(view, reason, lacks_macs=macs is None)


def _work(view: NodeView) -> tuple[Work | None, UncountedReason | None]:
    rule = rule_for(view.node.domain, view.node.op_type)
    if rule is None:
        return None, "no-rule"
    try:
        return rule(view), None
    except (LookupError, ValueError, TypeError, ArithmeticError):  # unknown shapes, or what no such operator can have
        return None, "unknown-shape"


def _of_bodies(view: NodeView, bodies: Sequence[_Part]) -> _Part:
    """Return a node of control flow, which costs nothing itself, and what its bodies cost."""
    own = _Part((_counted(view, 0, 0),))
    if view.node.op_type == "If":
        return own + _dearer(bodies)
    (body,) = bodies[:1]
    trips = _trip_count(view)
    if trips is not None:
        return own + _Part(tuple(node.times(trips) for node in body.nodes), body.uncounted)
    nodes = tuple(node.without_costs() for node in body.nodes)
    if not body.computes:
        return own + _Part(nodes)
    unknown = _Part((_counted(view, None if body.multiplies else 0, None),))
    return unknown + _Part(nodes) + _uncounted(view, "unknown-trip-count", lacks_macs=body.multiplies)


def _dearer(branches: Sequence[_Part]) -> _Part:
    chosen = max(branches, key=lambda branch: branch.flops)
    return _Part(chosen.nodes, tuple(node for branch in branches for node in branch.uncounted))


def _counted(view: NodeView, macs: int | None, flops: int | None) -> _CountedNode:
    node, moved = view.node, _moved(view)
    cost = NodeCost(
        name=_name(node),
        op_type=decoded(node.op_type),
        domain=_domain(node),
        operator_class=operator_class(node.domain, node.op_type),
        macs=macs,
        flops=flops,
        parameters=0,
        weight_bytes=0,
        read_bytes=None if moved is None else moved.read,
        written_bytes=None if moved is None else moved.written,
        activation_bytes=None if moved is None else moved.activations_read + moved.written,
        dtype=next((tensor.dtype for tensor in (*view.input_tensors(), *view.output_tensors())), ""),
    )
    return _CountedNode(cost, tuple(_weights(view)), {} if moved is None else moved.by_type)


def _weights(view: NodeView) -> Iterator[_UsedWeight]:
    node = view.node
    for place, name in enumerate(node.input):
        tensor = view.scope.tensors.get(name) if name else None
        if tensor is None or not tensor.is_weight:
            continue
        numbers = tensor.elements
        if packs(node.domain, node.op_type):
            numbers = unpacked_elements(node.op_type, place, tensor.dtype, numbers, view.attribute)
        yield _UsedWeight(tensor, numbers)


def _is_empty(view: NodeView) -> bool:
    inputs, outputs = (
        [tensor.shape for tensor in tensors] for tensors in (view.input_tensors(), view.output_tensors())
    )
    return bool(inputs) and any(map(_has_none, outputs)) and not any(map(_has_none, inputs))


def _has_none(shape: tuple[int, ...] | None) -> bool:
    return shape is not None and 0 in shape


def _moved(view: NodeView) -> MovedBytes | None:
    try:
        return moved_bytes(view)
    except (LookupError, ValueError):
        return None


def _with_new_weights(nodes: Sequence[_CountedNode], sizes: Counter[str]) -> Iterator[NodeCost]:
    """Yield costs with the weights that no node before uses, whose bytes are added to ``sizes`` by element type."""
    seen: set[int] = set()  # the same tensor is the same object; all are held by ``nodes``
    for node in nodes:
        new = {id(weight.tensor): weight for weight in node.weights if id(weight.tensor) not in seen}
        if not new:
            yield node.cost
            continue
        seen |= new.keys()
        for tensor, _ in new.values():
            sizes[tensor.dtype] += tensor.stored_bytes
        parameters = sum(numbers for tensor, numbers in new.values() if is_parameter_type(tensor.dtype))
        weight_bytes = sum(tensor.stored_bytes for tensor, _ in new.values())
        yield replace(node.cost, parameters=parameters, weight_bytes=weight_bytes)


def _may_multiply(node: onnx.NodeProto) -> bool:
    """Whether an operator that cannot be counted may hold multiply-accumulates: anything that is not known may."""
    if node.domain not in CLASSIFIED_DOMAINS or node.op_type not in OPERATORS:
        return True
    return operator_class(node.domain, node.op_type) in PRODUCTS


def _uncounted(view: NodeView, reason: UncountedReason, *, lacks_macs: bool) -> _Part:
    domain, op_type = _domain(view.node), decoded(view.node.op_type)
    operator = f"{domain}.{op_type}" if domain else op_type
    return _Part((), (UncountedNode(_name(view.node), operator, reason, lacks_macs),))


def _name(node: onnx.NodeProto) -> str:
    return node_label(node.name, node.op_type, node.output)


def _domain(node: onnx.NodeProto) -> str:
    return "" if node.domain == "ai.onnx" else decoded(node.domain)


def _bodies(node: onnx.NodeProto) -> Iterator[Any]:
    for attribute in node.attribute:
        if attribute.HasField("g"):
            yield attribute.g
        yield from attribute.graphs


def _product(count: int | None, executions: int) -> int | None:
    return None if count is None else count * executions
