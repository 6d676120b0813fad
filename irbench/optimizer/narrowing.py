"""Narrowing the floats of a graph to fp16 or bf16.

1. An operation whose schema allows the narrow type computes in it, weights included
2. One that does not, or that loses its meaning there (:data:`KEPT`), stays fp32; so does one on sequences, one whose
   float outputs do not share the type of an input (EyeLike, Bernoulli), and one with a value of unknown type
3. Where a narrow and a wide operation meet, and at inputs and outputs of the graph, stands a Cast; one for all readers
4. The bodies of If, Loop and Scan, and operations of vendors, stay as they are
5. Finite weights stay finite, and weights other than zero stay so: what lies beyond the range of the narrow type
   becomes the last number before its largest, what lies below its smallest one becomes that (65472 and 6e-8 in fp16);
   with the very largest one as a mask ONNX Runtime's Attention answers zeros for rows that see nothing
6. Masks beyond that range, and the Softmax of what they are applied to, stay fp32 (:mod:`irbench.optimizer.wide_masks`)
7. A Transpose that puts the first axis behind the other leading ones, and that a MatMul reads, stays fp32: it is the
   same either way, and ONNX Runtime 1.31 crashes where it fuses one in a narrow type on x86 (its issue 28392)
8. Sums of many elements and of squares stay fp32 where the type is fp16 (:mod:`irbench.optimizer.large_sums`)

ONNX's schemas decide rule 1, down to the single input: the scales of a Resize and the slope of a quantiser stay fp32.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
import onnx
import onnx_ir as ir
from onnx_ir.passes import common

from irbench.onnx.body_shapes import bodies_of, infer_types
from irbench.onnx.rewriting.detached_weights import take_name
from irbench.onnx.shapes import infer
from irbench.optimizer.large_sums import find_large_sums
from irbench.optimizer.pass_tools.edit import add_constant, clean, names_in
from irbench.optimizer.wide_masks import find_wide_masks
from irbench.spi import Array

OPSETS = {"fp16": 13, "bf16": 22}
"""The least operator set at which ONNX lets convolutions and all common operations compute in a precision."""
KEPT = frozenset({"CumSum", "Pow", "Range", "ReduceL2", "ReduceLogSumExp", "ReduceProd", "ReduceSumSquare", "TopK"})
"""Operations whose sums and powers leave fp16's range (65504), or that order and count by values."""
_TYPE_NAMES = {"fp16": "tensor(float16)", "bf16": "tensor(bfloat16)"}
_READING_EITHER = frozenset({"Cast", "Shape", "Size"})
"""Operations that take any type and give another one: narrowing first would only lose digits."""


def narrow(model: ir.Model, precision: Literal["fp16", "bf16"]) -> bool:
    """Convert the main graph of ``model`` in place and return whether anything computes in ``precision`` now.

    Inputs and outputs keep name, type and shape.
    """
    common.LiftConstantsToInitializersPass(lift_all_constants=True, size_limit=0)(model)
    infer(model, keeps_outputs=True)
    infer_types(model)
    work = _Narrowing(model, precision)
    changed = sum([work.convert(node) for node in list(model.graph)]) > 0
    work.widen_outputs()
    clean(model)
    return changed


class _Narrowing:
    """Holds what has been narrowed so far, with the other form of each value that has two."""

    def __init__(self, model: ir.Model, precision: str) -> None:
        self._model = model
        self._type_name = _TYPE_NAMES[precision]
        self._narrow = ir.DataType.FLOAT16 if precision == "fp16" else ir.DataType.BFLOAT16
        self._wide = ir.DataType.FLOAT
        self._narrowed: set[ir.Value] = set()
        self._others: dict[ir.Value, ir.Value] = {}
        self._names = names_in(model.graph)
        self._masks = find_wide_masks(model, float(self._narrow.max))
        self._sums = find_large_sums(model) if precision == "fp16" else frozenset[ir.Node]()

    def convert(self, node: ir.Node) -> bool:
        """Let a node compute in the narrow type as far as its schema allows; return whether it does now."""
        if node.op_type in _READING_EITHER:
            return False
        variables = self._variables(node)
        for index, value in enumerate(node.inputs):
            if value is None or value.dtype not in (self._wide, self._narrow):
                continue
            is_narrow = _input_variable(index, self._schema(node)) in variables
            dtype = self._narrow if is_narrow else self._wide
            if value.dtype != dtype:
                node.replace_input_with(index, self._other(value))
        self._widen_captured(node)
        for output, variable in zip(node.outputs, _output_variables(node, self._schema(node)), strict=True):
            if variable in variables and output.dtype == self._wide:
                output.dtype = self._narrow
                self._narrowed.add(output)
        return bool(variables)

    def widen_outputs(self) -> None:
        """Give each narrow output of the graph back as fp32, under its own name."""
        outputs = self._model.graph.outputs
        for index, value in enumerate(list(outputs)):
            if value in self._narrowed:
                wide = self._other(value)
                wide.name, value.name = value.name, self._name(value, "narrow")
                outputs[index] = wide

    def _variables(self, node: ir.Node) -> set[str]:
        schema = self._schema(node)
        if schema is None or node.op_type in KEPT or any(bodies_of(node)):
            return set()
        if node in self._masks.nodes or node in self._sums:
            return set()
        if not _is_on_typed_tensors(node) or _moves_batch_to_product(node):
            return set()
        allowing = {
            type_constraint.type_param_str
            for type_constraint in schema.type_constraints
            if self._type_name in type_constraint.allowed_type_strs
        }
        read = {
            _input_variable(index, schema)
            for index, value in enumerate(node.inputs)
            if value is not None and value.dtype in (self._wide, self._narrow)
        }
        written = {
            variable
            for output, variable in zip(node.outputs, _output_variables(node, schema), strict=True)
            if output.dtype == self._wide
        }
        return read & allowing if written <= read else set()

    def _schema(self, node: ir.Node) -> onnx.defs.OpSchema | None:
        if node.domain:
            return None
        return onnx.defs.get_schema(node.op_type, self._model.graph.opset_imports[""], "")

    def _other(self, value: ir.Value) -> ir.Value:
        if value not in self._others:
            is_weight = value.const_value is not None and not value.is_graph_input()
            self._others[value] = self._weight(value) if is_weight else self._cast(value)
        return self._others[value]

    def _weight(self, value: ir.Value) -> ir.Value:
        assert value.const_value is not None
        narrowed = _within(value.const_value.numpy(), self._narrow)
        name = self._name(value, "narrow")
        tensor = ir.tensor(narrowed.astype(self._narrow.numpy()), dtype=self._narrow, name=name)
        weight = ir.Value(name=name, const_value=tensor, shape=value.shape, type=ir.TensorType(self._narrow))
        self._model.graph.register_initializer(weight)
        return weight

    def _cast(self, value: ir.Value) -> ir.Value:
        to = self._wide if value in self._narrowed else self._narrow
        name = self._name(value, "wide" if to == self._wide else "narrow")
        nodes = self._bounding(value) if to == self._narrow and value in self._masks.bounded else []
        source = nodes[-1].outputs[0] if nodes else value
        nodes.append(ir.node("Cast", [source], {"to": int(to)}, name=f"cast_{name}"))
        cast = nodes[-1].outputs[0]
        cast.name, cast.shape, cast.type = name, value.shape, ir.TensorType(to)
        producer = value.producer()
        if producer is not None:
            producer.append(nodes)
        else:
            self._model.graph.insert_before(self._model.graph[0], nodes)
        return cast

    def _bounding(self, value: ir.Value) -> list[ir.Node]:
        low, high = (self._number(value, sign * _largest(self._narrow)) for sign in (-1, 1))
        clip, test = ir.node("Clip", [value, low, high]), ir.node("IsInf", [value])
        choice = ir.node("Where", [test.outputs[0], value, clip.outputs[0]])
        for node, data_type in ((clip, self._wide), (test, ir.DataType.BOOL), (choice, self._wide)):
            output = node.outputs[0]
            output.name, output.shape, output.type = (
                self._name(value, node.op_type.lower()),
                value.shape,
                ir.TensorType(data_type),
            )
        return [clip, test, choice]

    def _number(self, like: ir.Value, number: float) -> ir.Value:
        return add_constant(self._model.graph, np.array(number, np.float32), like)

    def _name(self, value: ir.Value, form: str) -> str:
        return take_name(f"{value.name}_{form}", self._names)

    def _widen_captured(self, node: ir.Node) -> None:
        for graph in bodies_of(node):
            for inner in ir.traversal.RecursiveGraphIterator(graph):
                for index, value in enumerate(inner.inputs):
                    if value in self._narrowed:
                        inner.replace_input_with(index, self._other(value))


def _moves_batch_to_product(node: ir.Node) -> bool:
    """Whether rule 7 is about a node."""
    order = list(node.attributes.get_ints("perm", ())) if node.op_type == "Transpose" else []
    axes = [*range(1, len(order))]
    moves = len(order) > 2 and order in ([*axes, 0], [*axes[:-1], 0, *axes[-1:]])
    return moves and any(reader.op_type == "MatMul" for reader in node.outputs[0].consumers())


def _within(wide: Array, narrow: ir.DataType) -> Array:
    """Apply rule 5."""
    bounded = np.copysign(np.clip(np.abs(wide), float(narrow.tiny) * float(narrow.eps), _largest(narrow)), wide)
    return np.where(np.isfinite(wide) & (wide != 0), bounded, wide)


def _largest(narrow: ir.DataType) -> float:
    return float(narrow.max) * (1 - float(narrow.eps) / 2)


def _input_variable(index: int, schema: onnx.defs.OpSchema | None) -> str:
    """Return the type variable of an operation's input, or nothing; the last one may repeat."""
    if schema is None or not schema.inputs:
        return ""
    return str(schema.inputs[min(index, len(schema.inputs) - 1)].type_str)


def _output_variables(node: ir.Node, schema: onnx.defs.OpSchema | None) -> list[str]:
    if schema is None or not schema.outputs:
        return [""] * len(node.outputs)
    formal = schema.outputs
    return [str(formal[min(index, len(formal) - 1)].type_str) for index in range(len(node.outputs))]


def _is_on_typed_tensors(node: ir.Node) -> bool:
    """Whether no value of a node is a sequence or an optional one, whose dtype would be that of what it holds."""
    values = [value for value in (*node.inputs, *node.outputs) if value is not None and value.name]
    return all(isinstance(value.type, ir.TensorType) for value in values)
