"""Small edits of a graph: constants, nodes, who reads a value, and operations in front of a node."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from irbench.onnx.body_shapes import bodies_of
from irbench.onnx.operator_classes import may_be_random
from irbench.onnx.rewriting.detached_weights import take_name
from irbench.onnx.shapes import reshape_target, set_sizes
from irbench.onnx.sizes import ONE, Size, sizes_of
from irbench.spi import Array

if TYPE_CHECKING:
    import onnx_ir as ir

LAYOUT = ("Transpose", "Reshape", "Unsqueeze", "Squeeze", "Flatten")
"""Operations that only say where elements stand."""

MOVING = frozenset(
    {"Expand", "Flatten", "Gather", "GatherElements", "GatherND", "Identity", "Reshape", "Slice", "Squeeze", "Tile"}
    | {"Transpose", "Trilu", "Unsqueeze"}
)
"""Operations whose result has only elements of their first input, and zeros; not Cast, which may make them infinite."""

_INPUTS_OF_LOOP = 2
"""Number of trips and condition, either of which may be omitted."""


def names_in(graph: ir.Graph | ir.Function) -> set[str]:
    """Return the names of all values of a graph and of the graphs inside it."""
    every = (
        value
        for part in (graph, *graph.subgraphs())
        for value in (*part.inputs, *_initializers(part), *(output for node in part for output in node.outputs))
    )
    return {value.name for value in every if value.name}


def _initializers(graph: ir.Graph | ir.Function) -> Collection[ir.Value]:
    import onnx_ir as ir

    return graph.initializers.values() if isinstance(graph, ir.Graph) else ()


def add_constant(graph: ir.Graph, array: Array, like: ir.Value) -> ir.Value:
    """Return a new initializer that holds ``array``, named after the value ``like``."""
    import onnx_ir as ir

    name = take_name(f"{like.name}_constant", names_in(graph))
    value = ir.Value(name=name, const_value=ir.tensor(np.array(array, order="C"), name=name))
    value.shape, value.dtype = ir.Shape(array.shape), ir.DataType.from_numpy(array.dtype)
    graph.register_initializer(value)
    return value


def insert(
    before: ir.Node, operation: str, inputs: Sequence[ir.Value | None], attributes: Mapping[str, Any] | None = None
) -> ir.Value:
    """Put a node of ONNX's own domain in front of another one and return its output, which has no shape yet."""
    return insert_with_outputs(before, operation, inputs, attributes, 1)[0]


def insert_with_outputs(
    before: ir.Node,
    operation: str,
    inputs: Sequence[ir.Value | None],
    attributes: Mapping[str, Any] | None,
    count: int,
) -> Sequence[ir.Value]:
    """Do as :func:`insert`, with several outputs."""
    import onnx_ir as ir

    assert before.graph is not None
    node, like = ir.node(operation, inputs, attributes or {}, num_outputs=count), before.outputs[0]
    names = names_in(before.graph)
    for output in node.outputs:
        output.name, output.type = take_name(f"{like.name}_{operation.lower()}", names), like.type
        names.add(output.name)
    before.prepend(node)
    return node.outputs


def described(value: ir.Value, dtype: ir.DataType | None, sizes: Sequence[Size]) -> ir.Value:
    """Give a value that was inserted its type and its sizes, and return it."""
    import onnx_ir as ir

    value.type = None if dtype is None else ir.TensorType(dtype)  # inserted with that of another value, which stays
    set_sizes(value, sizes)
    return value


def insert_reshape(before: ir.Node, value: ir.Value | None, sizes: Sequence[Size]) -> ir.Value | None:
    """Reshape a value in front of a node, if a constant can say to what, or which axes of size one come or go."""
    source = sizes_of(value)
    reshape = reshape_operation(source, sizes) if source is not None else None
    if reshape is None or before.graph is None or value is None:
        return None
    operation, numbers = reshape
    constant = add_constant(before.graph, np.array(numbers, np.int64), before.outputs[0])
    reshaped = insert(before, operation, [value, constant])
    set_sizes(reshaped, sizes)
    return reshaped


def reshape_operation(source: Sequence[Size], sizes: Sequence[Size]) -> tuple[str, list[int]] | None:
    """Return the operation that reshapes ``source`` to ``sizes``, and its constant: a target, or axes of size one.

    ``None`` where none does. Of two dynamic sizes that move to other places a target can say one only.
    """
    target = reshape_target(source, sizes)
    if target is not None:
        return "Reshape", target
    added, dropped = _ones_between(source, sizes), _ones_between(sizes, source)
    if added:
        return "Unsqueeze", added
    return ("Squeeze", dropped) if dropped else None


def _ones_between(few: Sequence[Size], many: Sequence[Size]) -> list[int] | None:
    """Return which axes of ``many`` are of size one and not in ``few``, if it has no others."""
    axes, place = [], 0
    for axis, size in enumerate(many):
        if place < len(few) and size == few[place]:
            place += 1
        elif size == ONE:
            axes.append(axis)
        else:
            return None
    return axes if place == len(few) else None


def replace(old: ir.Value, new: ir.Value) -> None:
    """Let every reader of ``old`` read ``new``; an output of the graph passes its name on."""
    import onnx_ir as ir

    if old.is_graph_output():
        graph, name = old.graph, old.name
        assert graph is not None
        old.name, new.name = take_name(f"{name}_replaced", names_in(graph)), name
        new.type, new.shape = old.type, old.shape
    ir.convenience.replace_all_uses_with(old, new, replace_graph_outputs=True)


def clean(model: ir.Model) -> None:
    """Remove what no output needs: nodes, initializers, imports of operator sets. Names become unique."""
    from onnx_ir.passes import common

    common.RemoveUnusedNodesPass()(model)
    _restore_omitted_inputs(model)
    common.RemoveUnusedOpsetsPass()(model)
    make_names_unique(model)


def make_names_unique(model: ir.Model) -> None:
    """Rename values that are called like another one of their graph, or of a graph around it.

    Libraries name new values ``val_0``, as exporters do, and look neither into bodies nor at initializers. Inputs,
    outputs and initializers of the main graph keep their names.
    """
    graphs: list[ir.Graph | ir.Function] = [model.graph, *model.functions.values()]
    for graph in graphs:
        _rename_namesakes(graph, set(), names_in(graph))


def _rename_namesakes(graph: ir.Graph | ir.Function, outer: set[str], taken: set[str]) -> None:
    """Rename the values of a graph and of its bodies that have a name of ``outer``, or one that came before."""
    kept = [*graph.inputs, *_initializers(graph)]
    kept += [value for value in graph.outputs if value.graph is graph]
    seen, values = set(outer), dict.fromkeys([*kept, *(output for node in graph for output in node.outputs)])
    for value in values:
        if value.name and value.name in seen:
            value.name = take_name(value.name, taken)
        seen.add(value.name or "")
    for node in graph:
        for body in bodies_of(node):
            _rename_namesakes(body, seen, taken)


def _restore_omitted_inputs(model: ir.Model) -> None:
    """Let each Loop have its first two inputs: onnx-ir drops omitted ones at the end, and ONNX asks for both."""
    parts: list[ir.Graph | ir.Function] = [model.graph, *model.functions.values()]
    for part in parts:
        for node in part.all_nodes():
            if (node.domain, node.op_type) == ("", "Loop") and len(node.inputs) < _INPUTS_OF_LOOP:
                node.resize_inputs(_INPUTS_OF_LOOP)


def is_node(value: ir.Value | None, *operations: str) -> bool:
    """Whether a value is computed by one of these operations of ONNX's own domain."""
    node = value.producer() if value is not None else None
    return node is not None and node.domain == "" and node.op_type in operations


def only_reader(value: ir.Value) -> ir.Node | None:
    """Return the one node that reads a value once, in the same graph.

    ``None`` where the value is read elsewhere, within a branch or the body of a loop for example, or is an output too.
    """
    uses = list(value.uses())
    alone = len(uses) == 1 and uses[0].node.graph is value.graph and not value.is_graph_output()
    return uses[0].node if alone else None


def weight(value: ir.Value | None) -> Array | None:
    """Return what a constant value holds."""
    constant = None if value is None else value.const_value
    return None if constant is None else constant.numpy()


def scalar(value: ir.Value | None) -> float | None:
    """Return the number that a constant of one element holds, however many axes it has."""
    constant = None if value is None else value.const_value
    return float(constant.numpy().item()) if constant is not None and constant.size == 1 else None


def is_random(node: ir.Node) -> bool:
    """Whether a node may give another output each time; see :func:`irbench.onnx.operator_classes.may_be_random`."""
    third = node.inputs[2] if len(node.inputs) > 2 else None
    return may_be_random(node.domain, node.op_type, False if third is None else weight(third))


_MAX_ELEMENTS = 1 << 22
"""A constant with more is left to the runtime: 16 MiB would be added to the file."""

_COMPUTED: Mapping[str, Callable[..., Array]] = {
    "Add": np.add,
    "And": np.logical_and,
    "Greater": np.greater,
    "Max": np.maximum,
    "Mul": np.multiply,
    "Not": np.logical_not,
    "Where": np.where,
}


def _stretched(*operands: Sequence[Size]) -> list[Size]:
    """Return the sizes of what is computed elementwise from operands that are as large, or one along an axis."""
    rank = max(map(len, operands))
    columns = zip(*([ONE] * (rank - len(sizes)) + list(sizes) for sizes in operands), strict=True)
    return [next((size for size in column if size != ONE), ONE) for column in columns]


class Inserter:
    """Puts operations in front of one node, each with its type and sizes.

    All sizes of what goes in must be known, dynamic ones by name.
    """

    def __init__(self, before: ir.Node) -> None:
        self.before = before

    def constant(self, array: Array) -> ir.Value:
        """Return a new constant."""
        assert self.before.graph is not None
        return add_constant(self.before.graph, array, self.before.outputs[0])

    def elementwise(self, operation: str, *operands: ir.Value) -> ir.Value:
        """Return an elementwise operation on operands of which each is as large as the result or stretched to it."""
        import onnx_ir as ir

        arrays = [weight(operand) for operand in operands]
        sizes = _stretched(*(_sizes(operand) for operand in operands))
        if self._is_small(sizes) and all(array is not None for array in arrays):
            return self.constant(_COMPUTED[operation](*arrays))
        dtype = ir.DataType.BOOL if operation == "Greater" else operands[-1].dtype
        return described(insert(self.before, operation, operands), dtype, sizes)

    def transpose(self, value: ir.Value) -> ir.Value:
        """Return a value with its last two axes exchanged."""
        array, sizes = weight(value), list(_sizes(value))
        swapped = [*sizes[:-2], sizes[-1], sizes[-2]]
        if array is not None:
            return self.constant(array.swapaxes(-1, -2))
        axes = list(range(len(sizes)))
        perm = [*axes[:-2], axes[-1], axes[-2]]
        return described(insert(self.before, "Transpose", [value], {"perm": perm}), value.dtype, swapped)

    def reshape(self, value: ir.Value, sizes: Sequence[Size]) -> ir.Value | None:
        """Return a value with other axes, or ``None`` where one of them is unknown here.

        Where a constant cannot say which, dynamic sizes are read from inputs of the graph that have them.
        """
        array, before = weight(value), _sizes(value)
        if list(before) == list(sizes):
            return value
        if array is not None:
            return self.constant(array.reshape([size.factor for size in sizes]))
        reshaped = insert_reshape(self.before, value, sizes)
        if reshaped is None and Size(0) not in sizes and (target := self._shape(sizes)) is not None:
            reshaped = insert(self.before, "Reshape", [value, target])
        return None if reshaped is None else described(reshaped, value.dtype, sizes)

    def expand(self, value: ir.Value, sizes: Sequence[Size]) -> ir.Value | None:
        """Return a value stretched to these sizes, or ``None`` where one that it is stretched to is unknown here.

        A dynamic size is read from an input of the graph that has it.
        """
        array, before = weight(value), _sizes(value)
        if list(before) == list(sizes):
            return value
        if array is not None and self._is_small(sizes):
            return self.constant(np.broadcast_to(array, [size.factor for size in sizes]))
        target_sizes = [ONE if size == old else size for size, old in zip(sizes, before, strict=True)]
        target = self._shape(target_sizes)
        return None if target is None else described(insert(self.before, "Expand", [value, target]), value.dtype, sizes)

    def any_of_last(self, condition: ir.Value) -> ir.Value:
        """Return whether a condition holds anywhere along its last axis, which becomes one long."""
        array, sizes = weight(condition), _sizes(condition)
        if array is not None:
            return self.constant(np.asarray(array.any(-1, keepdims=True)))
        if sizes[-1] == ONE:
            return condition
        largest = insert(self.before, "ReduceMax", [condition, self.constant(np.array([-1], np.int64))])
        return described(largest, condition.dtype, [*sizes[:-1], ONE])

    def _shape(self, sizes: Sequence[Size]) -> ir.Value | None:
        parts = [self._dimension(size) for size in sizes]
        known = [part for part in parts if part is not None]
        if len(known) < len(parts):
            return None
        arrays = [weight(part) for part in known]
        if all(array is not None for array in arrays):
            return self.constant(np.array([size.factor for size in sizes], np.int64))
        shape = insert(self.before, "Concat", known, {"axis": 0})
        return described(shape, known[0].dtype, [Size(len(parts))])

    def _dimension(self, size: Size) -> ir.Value | None:
        import onnx_ir as ir

        if size.number is not None:
            return self.constant(np.array([size.number], np.int64))
        assert self.before.graph is not None
        for value in self.before.graph.inputs:
            for place, size_of_axis in enumerate(sizes_of(value) or ()):
                if size_of_axis == size:
                    shape = insert(self.before, "Shape", [value], {"start": place, "end": place + 1})
                    return described(shape, ir.DataType.INT64, [ONE])
        return None

    def _is_small(self, sizes: Sequence[Size]) -> bool:
        numbers = [size.number for size in sizes]
        return None not in numbers and math.prod(number or 0 for number in numbers) <= _MAX_ELEMENTS


def _sizes(value: ir.Value) -> Sequence[Size]:
    sizes = sizes_of(value)
    assert sizes is not None
    return sizes
