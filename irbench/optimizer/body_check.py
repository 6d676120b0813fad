"""Check the branches of If and the bodies of Loop and Scan, also where no input of a check leads.

Passes change graphs in place, so each body is numbered once, before the first pass, in memory that no file holds.

A traced copy of a graph counts how often each of its bodies is executed, and its control flow can be directed:

- An output more says how often each numbered body was executed.
- Two inputs more for each If keep its condition or replace it; one for each Loop is the most iterations that it runs.

All other outputs are those of the graph.

The graph before the first pass and the last one run as traced copies, which tell what was executed. A body that stays
unexecuted is sent for: the conditions on the way are replaced in both graphs, if values of inputs decide them. What
only depends on shapes is left to other sizes, because passes may rely on it. Loops of which data decide the length also
run no and one iteration.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, Protocol

import numpy as np

from irbench.core.graph_record import UncheckedBody, UncheckedReason
from irbench.onnx.body_shapes import bodies_of
from irbench.onnx.rewriting.detached_weights import take_name
from irbench.optimizer.check_plan import CheckCase, is_finite
from irbench.optimizer.pass_tools.edit import is_random, names_in, weight
from irbench.spec import TensorSpec
from irbench.spi import Array

if TYPE_CHECKING:
    import onnx_ir as ir

_KEY = "irbench_body"
_TRACED = ("If", "Loop", "Scan")
_OF_SHAPES = ("Shape", "Size")

Sources = Mapping["ir.Value", Sequence["ir.Value | None"]]
"""What the inputs of bodies are computed from."""


@dataclass(frozen=True)
class Body:
    """A branch of an If, or the body of a Loop or Scan.

    Attributes:
        number: Its place in the order of the graph, from 0.
        operator: ``If``, ``Loop`` or ``Scan``.
        node: The node's name, or that of its first output where it has none.
        part: The attribute that holds it, ``then_branch`` for example.
        data_decides: Whether values of inputs, not only their shapes, decide if or how often it is executed.
    """

    number: int
    operator: str
    node: str
    part: str
    outer: tuple[int, ...] = ()
    data_decides: bool = True
    never: bool = False


def number_bodies(model: ir.Model) -> tuple[Body, ...]:
    """Number the bodies of a model's If, Loop and Scan, and return what they are; those inside functions have none."""
    bodies: list[Body] = []
    sources = _sources(model)

    def visit(graph: ir.Graph, outer: tuple[int, ...]) -> None:
        for node in graph:
            for part, body in parts_of(node):
                number = len(bodies)
                body.meta[_KEY] = number
                bodies.append(_described(node, part, number, outer, sources))
                visit(body, (*outer, number))

    visit(model.graph, ())
    return tuple(bodies)


def _number_of(body: ir.Graph) -> int | None:
    number: int | None = body.meta.get(_KEY)
    return number


def bodies_in(model: ir.Model) -> Iterator[int]:
    """Yield the number of each numbered body that a model still has; outer ones come first."""
    for node in model.graph.all_nodes():
        for _, body in parts_of(node):
            number = _number_of(body)
            if number is not None:
                yield number


def parts_of(node: ir.Node) -> Iterator[tuple[str, ir.Graph]]:
    """Yield the bodies of an If, Loop or Scan of ONNX's own, each with the attribute that holds it."""
    if node.domain == "" and node.op_type in _TRACED:
        names = [name for name, attribute in node.attributes.items() if attribute.type.name == "GRAPH"]
        yield from zip(names, bodies_of(node), strict=True)


def _described(node: ir.Node, part: str, number: int, outer: tuple[int, ...], sources: Sources) -> Body:
    condition = weight(node.inputs[0]) if node.op_type == "If" else None
    never = condition is not None and bool(condition.all()) != (part == "then_branch")
    decides = _depend_on_data(_deciding(node), sources)
    name = node.name or str(node.outputs[0].name)
    return Body(number, node.op_type, name, part, outer, decides, never)


def _deciding(node: ir.Node) -> Sequence[ir.Value | None]:
    if node.op_type == "If":
        return node.inputs[:1]
    return (*node.inputs[:2], node.attributes["body"].as_graph().outputs[0]) if node.op_type == "Loop" else ()


def _sources(model: ir.Model) -> Sources:
    """Return what each state of a Loop or Scan, and each step of a sequence, is computed from."""
    sources: dict[ir.Value, Sequence[ir.Value | None]] = {}
    for node in model.graph.all_nodes():
        for _, body in parts_of(node):
            if node.op_type == "Loop":
                sources |= dict.fromkeys(body.inputs[:2], ())
                states = zip(body.inputs[2:], node.inputs[2:], body.outputs[1:], strict=False)
                sources |= {value: (start, after) for value, start, after in states}
            elif node.op_type == "Scan":
                sources |= dict.fromkeys(body.inputs, node.inputs)
    return sources


def _depend_on_data(values: Sequence[ir.Value | None], sources: Sources) -> bool:
    waiting = list(values)
    seen: set[ir.Value] = set()
    while waiting:
        value = waiting.pop()
        if value is None or value.const_value is not None or value in seen:
            continue
        seen.add(value)
        node = value.producer()
        before = sources.get(value) if node is None else _read_by(node)
        if before is None:
            return True
        waiting.extend(before)
    return False


def _read_by(node: ir.Node) -> Sequence[ir.Value | None] | None:
    """Return the values that decide what a node gives; ``None`` where chance does."""
    if is_random(node):
        return None
    if node.domain == "" and node.op_type in _OF_SHAPES:
        return ()
    return (*node.inputs, *(output for body in bodies_of(node) for output in body.outputs))


LEAST_OPSET = 13
"""The first operator set in which ReduceSum takes its axes as an input, and Min integers."""

_ENDLESS = 2**63 - 1
"""The most iterations of a Loop that nothing limits."""


@dataclass(frozen=True)
class Directions:
    """How the control flow of a graph is directed; what is not named here decides for itself."""

    branches: frozenset[int] = frozenset()
    iterations: Mapping[int, int] = field(default_factory=dict[int, int])


UNDIRECTED = Directions()


@dataclass(frozen=True)
class TracedModel:
    """A traced copy of a model."""

    model: ir.Model
    inputs: tuple[TensorSpec, ...]
    output: TensorSpec
    feed: Callable[[Directions], tuple[Array, ...]]


def trace(model: ir.Model, count: int) -> TracedModel:
    """Return a traced copy of a model; weights are shared.

    Its bodies are numbered, ``count`` of them, and its operator set is at least :data:`LEAST_OPSET`.
    """
    copy = model.clone()
    tracing = _Tracing(copy.graph, count)
    executed = tracing.follow(copy.graph)
    copy.graph.outputs.append(executed)
    inputs, values = tracing.inputs, tracing.values
    output = TensorSpec(str(executed.name), "int64", (count,))
    return TracedModel(copy, tuple(inputs), output, lambda directions: tuple(value(directions) for value in values))


class _Tracing:
    def __init__(self, graph: ir.Graph, count: int) -> None:
        self._graph = graph
        self._count = count
        self._names = names_in(graph)
        self._constants: dict[bytes, ir.Value] = {}
        self.inputs: list[TensorSpec] = []
        self.values: list[Callable[[Directions], Array]] = []

    def follow(self, graph: ir.Graph) -> ir.Value:
        """Let a graph compute how often it and the bodies inside it were executed, and return that."""
        own, number = np.zeros(self._count, np.int64), _number_of(graph)
        if number is not None:
            own[number] = 1
        total = self._constant(own)
        for node in list(graph):
            if list(parts_of(node)):
                self._direct(node)
                addition = self._node("Add", [total, self._counted(node)])
                graph.append(addition)
                total = addition.outputs[0]
        last = self._node("Identity", [total])  # a graph cannot give what it has only from outside
        self._describe(last.outputs[0])
        graph.append(last)
        return last.outputs[0]

    def _counted(self, node: ir.Node) -> ir.Value:
        for _, body in parts_of(node):
            body.outputs.append(self.follow(body))
        node.resize_outputs(len(node.outputs) + 1)
        output = node.outputs[-1]
        self._describe(output)
        if node.op_type == "If":
            return output
        output.shape = None
        _extend_axes(node)
        rows = self._node("Reshape", [output, self._constant(np.array([-1, self._count]))])
        total = self._node("ReduceSum", [rows.outputs[0], self._constant(np.array([0]))], {"keepdims": 0})
        node.append([rows, total])
        return total.outputs[0]

    def _direct(self, node: ir.Node) -> None:
        numbers = {part: _number_of(body) for part, body in parts_of(node)}
        if node.op_type == "If":
            keep = self._input("BOOL", lambda directions: not set(numbers.values()) & directions.branches)
            taken = self._input("BOOL", lambda directions: numbers["then_branch"] in directions.branches)
            kept = self._node("And", [node.inputs[0], keep])
            directed = self._node("Or", [kept.outputs[0], taken])
            node.prepend([kept, directed])
            node.replace_input_with(0, directed.outputs[0])
        elif node.op_type == "Loop":
            body = numbers["body"]
            limit = self._input("INT64", lambda directions: _most(directions, body))
            if node.inputs[0] is not None:
                fewest = self._node("Min", [node.inputs[0], limit])
                node.prepend(fewest)
                limit = fewest.outputs[0]
            node.replace_input_with(0, limit)

    def _input(self, dtype: str, value: Callable[[Directions], int]) -> ir.Value:
        import onnx_ir as ir

        name = take_name("irbench_direction", self._names)
        added = ir.Value(name=name, type=ir.TensorType(ir.DataType[dtype]), shape=ir.Shape(()))
        self._graph.inputs.append(added)
        self.inputs.append(TensorSpec(name, dtype.lower(), ()))
        self.values.append(lambda directions: np.array(value(directions), added.dtype.numpy() if added.dtype else None))
        return added

    def _constant(self, array: Array) -> ir.Value:
        import onnx_ir as ir

        key = array.tobytes()
        if key not in self._constants:
            name = take_name("irbench_count", self._names)
            value = ir.Value(name=name, const_value=ir.tensor(array.astype(np.int64), name=name))
            value.type, value.shape = ir.TensorType(ir.DataType.INT64), ir.Shape(array.shape)
            self._graph.register_initializer(value)
            self._constants[key] = value
        return self._constants[key]

    def _node(
        self, operation: str, inputs: Sequence[ir.Value | None], attributes: Mapping[str, int] | None = None
    ) -> ir.Node:
        import onnx_ir as ir

        node = ir.node(operation, inputs, attributes or {}, name=take_name("irbench_trace", self._names))
        node.outputs[0].name = take_name("irbench_trace", self._names)
        return node

    def _describe(self, value: ir.Value) -> None:
        import onnx_ir as ir

        value.name = take_name("irbench_trace", self._names)
        value.type, value.shape = ir.TensorType(ir.DataType.INT64), ir.Shape((self._count,))


def _most(directions: Directions, body: int | None) -> int:
    return _ENDLESS if body is None else directions.iterations.get(body, _ENDLESS)


def _extend_axes(node: ir.Node) -> None:
    """Stack what a Scan counts along the first axis, where it says so of each of its outputs."""
    import onnx_ir as ir

    for name in ("scan_output_axes", "scan_output_directions"):
        if node.op_type == "Scan" and name in node.attributes:
            node.attributes[name] = ir.AttrInt64s(name, [*node.attributes.get_ints(name, []), 0])


_LIMITS: tuple[Literal[0, 1], ...] = (0, 1)


@dataclass(frozen=True)
class TracedAnswers:
    """What a traced graph answers.

    Attributes:
        counts: How often each body was executed, by its number.
    """

    outputs: Sequence[Array]
    counts: Sequence[int]


class TracedGraph(Protocol):
    """A traced graph that can be asked."""

    def __call__(self, case: CheckCase, directions: Directions, /) -> TracedAnswers:
        """Return what it answers; raises where it cannot."""
        ...


class Compare(Protocol):
    """Compares the last graph with the first."""

    def __call__(self, case: CheckCase, directions: Directions, outputs: Sequence[Array], /) -> None:
        """Raise where the last graph does not answer ``outputs``."""
        ...


@dataclass(frozen=True)
class BodyReport:
    """Which bodies were compared."""

    executed: int
    unchecked: tuple[UncheckedBody, ...]


def check_bodies(
    bodies: Sequence[Body], kept: frozenset[int], cases: Sequence[CheckCase], original: TracedGraph, check: Compare
) -> BodyReport:
    """Compare all bodies that the last graph still has.

    ``bodies`` are those of the graph before the first pass, ``kept`` the numbers of those that the last graph has; both
    graphs can run all cases.
    """
    work = _BodyCheck(bodies, cases, original, check)
    work.follow()
    remaining = [body for body in bodies if body.number in kept and not body.never]
    missed = [unchecked for body in remaining if (unchecked := work.reach(body)) is not None]
    loops = [body for body in remaining if body.operator == "Loop" and body.data_decides]
    missed += [unchecked for body in loops for limit in _LIMITS if (unchecked := work.limit(body, limit)) is not None]
    return BodyReport(sum(body.number in work.executed for body in remaining), tuple(missed))


@dataclass
class _BodyCheck:
    bodies: Sequence[Body]
    cases: Sequence[CheckCase]
    original: TracedGraph
    check: Compare
    executed: set[int] = field(default_factory=set[int])
    lengths: set[tuple[int, int]] = field(default_factory=set[tuple[int, int]])

    def follow(self) -> None:
        for case in self.cases:
            self._note(self.original(case, UNDIRECTED))

    def reach(self, body: Body) -> UncheckedBody | None:
        """Execute a body if no input leads there, and compare; return what stays unchecked."""
        if body.number in self.executed:
            return None
        reason: UncheckedReason = "not-reached" if body.data_decides else "other-shapes"
        directions = self._way_to(body)
        for case in self.cases if body.data_decides and directions != UNDIRECTED else ():
            run, reason = self._ask(case, directions)
            if run is not None and run.counts[body.number]:
                self.check(case, directions, run.outputs)
                self._note(run)
                return None
        return UncheckedBody(body.operator, body.node, body.part, None, reason)

    def limit(self, body: Body, iterations: Literal[0, 1]) -> UncheckedBody | None:
        """Run a Loop no more than so often, and compare; return what stays unchecked."""
        if body.number not in self.executed or (body.number, iterations) in self.lengths:
            return None
        directions = Directions(self._way_to(body).branches, {body.number: iterations})
        reason: UncheckedReason = "not-reached"
        for case in self.cases:
            run, reason = self._ask(case, directions)
            if run is not None:
                self.check(case, directions, run.outputs)
                return None
        return UncheckedBody(body.operator, body.node, body.part, iterations, reason)

    def _ask(self, case: CheckCase, directions: Directions) -> tuple[TracedAnswers | None, UncheckedReason]:
        try:
            run = self.original(case, directions)
        except Exception:  # noqa: BLE001 - each runtime reports in a way of its own that it cannot run a graph
            return None, "original-fails"
        return (run, "not-reached") if is_finite(run.outputs) else (None, "not-finite")

    def _way_to(self, body: Body) -> Directions:
        way = [self.bodies[number] for number in (*body.outer, body.number)]
        return Directions(frozenset(part.number for part in way if part.operator == "If" and part.data_decides))

    def _note(self, run: TracedAnswers) -> None:
        self.executed |= {number for number, count in enumerate(run.counts) if count}
        self.lengths |= {(body.number, int(run.counts[body.number])) for body in self.bodies if not body.outer}
