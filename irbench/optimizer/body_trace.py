"""A copy of a graph that counts how often each of its bodies is executed, and whose control flow can be directed.

- An output more says how often each numbered body was executed.
- Two inputs more for each If keep its condition or replace it; one for each Loop is the most iterations that it runs.

All other outputs are those of the graph.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from irbench.onnx.rewriting.unique_names import take_name
from irbench.optimizer.bodies import number_of, parts_of
from irbench.optimizer.rewrite.edit import names_in
from irbench.spec import TensorSpec
from irbench.spi import Array

if TYPE_CHECKING:
    import onnx_ir as ir

LEAST_OPSET = 13
"""The first operator set in which ReduceSum takes its axes as an input, and Min integers."""

_ENDLESS = 2**63 - 1
"""The most iterations of a Loop that nothing limits."""


@dataclass(frozen=True)
class Directions:
    """How the control flow of a graph is directed; what is not named here decides for itself.

    Attributes:
        iterations: The most iterations of a Loop, by the number of its body.
    """

    branches: frozenset[int] = frozenset()
    iterations: Mapping[int, int] = field(default_factory=dict[int, int])


UNDIRECTED = Directions()


@dataclass(frozen=True)
class TracedModel:
    """A traced copy of a model.

    Attributes:
        output: The output that it has more: for each number how often that body was executed, int64.
    """

    model: ir.Model
    inputs: tuple[TensorSpec, ...]
    output: TensorSpec
    feed: Callable[[Directions], tuple[Array, ...]]


def trace(model: ir.Model, count: int) -> TracedModel:
    """Return a traced copy of a model; weights are shared.

    Args:
        model: Its bodies are numbered; its operator set is at least :data:`LEAST_OPSET`.
        count: How many numbers were given.
    """
    copy = model.clone()
    tracing = _Tracing(copy.graph, count)
    executed = tracing.follow(copy.graph)
    copy.graph.outputs.append(executed)
    inputs, values = tracing.inputs, tracing.values
    output = TensorSpec(str(executed.name), "int64", (count,))
    return TracedModel(copy, tuple(inputs), output, lambda directions: tuple(value(directions) for value in values))


class _Tracing:
    """Writes what counts and what directs into a graph."""

    def __init__(self, graph: ir.Graph, count: int) -> None:
        self._graph = graph
        self._count = count
        self._names = names_in(graph)
        self._constants: dict[bytes, ir.Value] = {}
        self.inputs: list[TensorSpec] = []
        self.values: list[Callable[[Directions], Array]] = []

    def follow(self, graph: ir.Graph) -> ir.Value:
        """Let a graph compute how often it and the bodies inside it were executed, and return that."""
        own, number = np.zeros(self._count, np.int64), number_of(graph)
        if number is not None:
            own[number] = 1
        total = self._constant(own)
        for node in list(graph):
            if list(parts_of(node)):
                self._direct(node)
                made = self._node("Add", [total, self._counted(node)])
                graph.append(made)
                total = made.outputs[0]
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
        numbers = {part: number_of(body) for part, body in parts_of(node)}
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
        """Return an initializer of the whole graph, which bodies read too."""
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
