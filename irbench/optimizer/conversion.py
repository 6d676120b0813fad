"""The last step of a recipe: converting the graph to another precision.

Masks may have numbers beyond the range of a narrow float, and something must stay fp32 because of them. What attention
must not see gets a large negative number: -1e9, or the lowest one of fp32. Both are -inf in fp16, and a row that sees
nothing becomes zeros or NaN instead of the mean that it is in fp32. Clipped to fp16's range they are not large enough:
-65472 + score still depends on the score where a runtime adds in fp32, as ONNX Runtime does.

1. A Softmax of scores that such a mask was added to, or that it was put in the place of, stays fp32, as do the
   operations that compute the mask and apply it
2. ``Attention`` takes its mask in its own type. What computes the mask stays fp32, so that two of them can be added;
   then its finite numbers are clipped to the range, and infinite ones stay

Float inputs of the graph that are applied as masks count too, because their numbers are not known.

Floats become fp16 or bf16 so:

1. An operation whose schema allows the narrow type computes in it, weights included
2. One that does not, or that loses its meaning there (:data:`KEPT`), stays fp32; so does one on sequences, one whose
   float outputs do not share the type of an input (EyeLike, Bernoulli), and one with a value of unknown type
3. Where a narrow and a wide operation meet, and at inputs and outputs of the graph, stands a Cast; one for all readers
4. The bodies of If, Loop and Scan, and operations of vendors, stay as they are
5. Finite weights stay finite, and weights other than zero stay so: what lies beyond the range of the narrow type
   becomes the last number before its largest, what lies below its smallest one becomes that (65472 and 6e-8 in fp16);
   with the very largest one as a mask ONNX Runtime's Attention answers zeros for rows that see nothing
6. Masks beyond that range, and the Softmax of what they are applied to, stay fp32 (see above)
7. A Transpose that puts the first axis behind the other leading ones, and that a MatMul reads, stays fp32: it is the
   same either way, and ONNX Runtime 1.31 crashes where it fuses one in a narrow type on x86 (its issue 28392)

ONNX's schemas decide rule 1, down to the single input: the scales of a Resize and the slope of a quantiser stay fp32.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np

from irbench.core import registry
from irbench.errors import IrbenchError
from irbench.onnx.body_shapes import bodies_of, infer_types
from irbench.onnx.reading.precision import read_precision
from irbench.onnx.rewriting.detached_weights import take_name
from irbench.onnx.shapes import infer
from irbench.optimizer.job import load, write
from irbench.optimizer.recipe import Conversion
from irbench.optimizer.rewrite.edit import MOVING, add_constant, clean, names_in, scalar, weight
from irbench.optimizer.samples import Samples
from irbench.spi import Array, QuantizationRequest, Quantizer
from irbench.system.host import int8_weight_bits

if TYPE_CHECKING:
    import onnx
    import onnx_ir as ir

_MASK_OF_ATTENTION = 3
"""Which input of ``Attention`` is its mask."""

_NORMALIZING = frozenset({"LogSoftmax", "Softmax"})
_APPLYING = frozenset({"Add", "Max", "Min", "Sub", "Where"})
"""What brings scores and their mask together."""

_FORWARDING = MOVING | {"Cast"}
"""What gives numbers of its first input alone."""

_COMPUTING = frozenset({"Concat", "Div", "Mul", "Neg"}) | _APPLYING


@dataclass(frozen=True)
class WideMasks:
    """What large masks ask for.

    Attributes:
        nodes: Operations that stay fp32.
        bounded: Values whose finite numbers are clipped to the narrow type's range where they become narrow.
    """

    nodes: frozenset[ir.Node]
    bounded: frozenset[ir.Value]


def _find_wide_masks(model: ir.Model, largest: float) -> WideMasks:
    values = _Values(model, largest)
    nodes: set[ir.Node] = set()
    masks: set[ir.Value | None] = set()
    for node in model.graph:
        if _is_one_of(node, _NORMALIZING):
            path = list(values.path(node.inputs[0]))
            nodes.update([node, *path] if any(step.op_type in _APPLYING for step in path) else [])
        elif _is_one_of(node, {"Attention"}) and len(node.inputs) > _MASK_OF_ATTENTION:
            masks.add(node.inputs[_MASK_OF_ATTENTION])
            nodes.update(values.path(node.inputs[_MASK_OF_ATTENTION]))
    touched = masks.union(*((*node.inputs, *node.outputs) for node in nodes))
    return WideMasks(frozenset(nodes), frozenset(values.exceeding.intersection(touched)))


class _Values:
    """Knows which values of a graph may be beyond the range, as far as masks are concerned."""

    def __init__(self, model: ir.Model, largest: float) -> None:
        self._largest = largest
        inputs = [value for value in model.graph.inputs if value.dtype is not None and value.dtype.name == "FLOAT"]
        self.exceeding: set[ir.Value] = set(inputs)
        self._flags: set[ir.Value] = set()
        for node in model.graph:
            self._add(node)

    def path(self, mask: ir.Value | None) -> Iterator[ir.Node]:
        """Yield the operations that a mask comes through; those that turn flags into numbers are among them."""
        waiting = [mask] if mask in self.exceeding else []
        seen: set[ir.Node] = set()
        while waiting:
            value = waiting.pop()
            node = value.producer() if value is not None else None
            if node is not None and node not in seen and not value.is_graph_input():
                seen.add(node)
                yield node
                waiting += [source for source in _sources(node) if source in self.exceeding or source in self._flags]

    def _add(self, node: ir.Node) -> None:
        sources = _sources(node)
        if _filling_exceeds(node, self._largest) or any(map(self._exceeds, sources)):
            self.exceeding.update(node.outputs)
        elif self._is_made_of_flags(node, sources):
            self._flags.update(node.outputs)

    def _is_made_of_flags(self, node: ir.Node, sources: Sequence[ir.Value]) -> bool:
        """Whether a node turns flags into numbers, or computes with such numbers and single constants."""
        if _is_one_of(node, {"Cast"}) and not _is_float(sources[0]):
            return True
        alone = all(source in self._flags or scalar(source) is not None for source in sources)
        return alone and bool(self._flags.intersection(sources))

    def _exceeds(self, value: ir.Value) -> bool:
        if value not in self.exceeding and _holds_beyond(weight(value), self._largest):
            self.exceeding.add(value)
        return value in self.exceeding


def _is_one_of(node: ir.Node, operations: frozenset[str] | set[str]) -> bool:
    return node.domain == "" and node.op_type in operations


def _is_float(value: ir.Value) -> bool:
    return value.dtype is None or value.dtype.is_floating_point()


def _filling_exceeds(node: ir.Node, largest: float) -> bool:
    filling = node.attributes.get("value") if _is_one_of(node, {"ConstantOfShape"}) else None
    return filling is not None and _holds_beyond(filling.as_tensor().numpy(), largest)


def _holds_beyond(array: Array | None, largest: float) -> bool:
    if array is None or array.dtype.kind not in "fiu" or not array.size:
        return False
    ends = np.array([array.min(), array.max()], np.float64)
    if not np.isfinite(ends).all():
        ends = np.abs(array[np.isfinite(array)], dtype=np.float64)
    return bool((np.abs(ends) > largest).any())


def _sources(node: ir.Node) -> list[ir.Value]:
    """Return the inputs whose numbers an operation gives on, larger or smaller; none for any other operation."""
    if _is_one_of(node, _FORWARDING):
        inputs = node.inputs[:1]
    elif _is_one_of(node, _COMPUTING):
        inputs = node.inputs[1:] if node.op_type == "Where" else node.inputs
    else:
        return []
    return [value for value in inputs if value is not None]


OPSETS = {"fp16": 13, "bf16": 22}
"""The least operator set at which ONNX lets convolutions and all common operations compute in a precision."""

KEPT = frozenset({"CumSum", "Pow", "Range", "ReduceL2", "ReduceLogSumExp", "ReduceProd", "ReduceSumSquare", "TopK"})
"""Operations whose sums and powers leave fp16's range (65504), or that order and count by values."""

_TYPE_NAMES = {"fp16": "tensor(float16)", "bf16": "tensor(bfloat16)"}
_READING_EITHER = frozenset({"Cast", "Shape", "Size"})
"""Operations that take any type and give another one: narrowing first would only lose digits."""


def narrow(model: ir.Model, precision: Literal["fp16", "bf16"]) -> bool:
    """Convert ``model`` in place and return whether anything computes in ``precision`` now.

    Args:
        model: Its main graph is converted; inputs and outputs keep name, type and shape.
        precision: What to compute in.
    """
    from onnx_ir.passes import common

    common.LiftConstantsToInitializersPass(lift_all_constants=True, size_limit=0)(model)
    infer(model)
    infer_types(model)
    work = _Narrowing(model, precision)
    changed = sum([work.convert(node) for node in list(model.graph)]) > 0
    work.widen_outputs()
    clean(model)
    return changed


class _Narrowing:
    """Holds what has been narrowed so far, with the other form of each value that has two."""

    def __init__(self, model: ir.Model, precision: str) -> None:
        import onnx_ir as ir

        self._model = model
        self._type_name = _TYPE_NAMES[precision]
        self._narrow = ir.DataType.FLOAT16 if precision == "fp16" else ir.DataType.BFLOAT16
        self._wide = ir.DataType.FLOAT
        self._narrowed: set[ir.Value] = set()
        self._others: dict[ir.Value, ir.Value] = {}
        self._names = names_in(model.graph)
        self._masks = _find_wide_masks(model, float(self._narrow.max))

    def convert(self, node: ir.Node) -> bool:
        """Let a node compute in the narrow type as far as its schema allows; return whether it does now."""
        if node.op_type in _READING_EITHER:
            return False
        variables = self._variables(node)
        for index, value in enumerate(node.inputs):
            if value is None or value.dtype not in (self._wide, self._narrow):
                continue
            is_narrow = _input_variable(index, self._schema(node)) in variables
            wanted = self._narrow if is_narrow else self._wide
            if value.dtype != wanted:
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
        if schema is None or node.op_type in KEPT or node in self._masks.nodes or any(bodies_of(node)):
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
        made = {
            variable
            for output, variable in zip(node.outputs, _output_variables(node, schema), strict=True)
            if output.dtype == self._wide
        }
        return read & allowing if made <= read else set()

    def _schema(self, node: ir.Node) -> onnx.defs.OpSchema | None:
        import onnx

        if node.domain:
            return None
        return onnx.defs.get_schema(node.op_type, self._model.graph.opset_imports[""], "")

    def _other(self, value: ir.Value) -> ir.Value:
        if value not in self._others:
            is_weight = value.const_value is not None and not value.is_graph_input()
            self._others[value] = self._weight(value) if is_weight else self._cast(value)
        return self._others[value]

    def _weight(self, value: ir.Value) -> ir.Value:
        import onnx_ir as ir

        assert value.const_value is not None
        narrowed = _within(value.const_value.numpy(), self._narrow)
        name = self._name(value, "narrow")
        tensor = ir.tensor(narrowed.astype(self._narrow.numpy()), dtype=self._narrow, name=name)
        weight = ir.Value(name=name, const_value=tensor, shape=value.shape, type=ir.TensorType(self._narrow))
        self._model.graph.register_initializer(weight)
        return weight

    def _cast(self, value: ir.Value) -> ir.Value:
        import onnx_ir as ir

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
        """Return operations that clip the finite numbers of a value to the narrow type's range."""
        import onnx_ir as ir

        low, high = (self._number(value, sign * _largest(self._narrow)) for sign in (-1, 1))
        clip, test = ir.node("Clip", [value, low, high]), ir.node("IsInf", [value])
        choice = ir.node("Where", [test.outputs[0], value, clip.outputs[0]])
        for node, data_type in ((clip, self._wide), (test, ir.DataType.BOOL), (choice, self._wide)):
            made = node.outputs[0]
            made.name, made.shape, made.type = (
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
        import onnx_ir as ir

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
    import onnx_ir as ir

    values = [value for value in (*node.inputs, *node.outputs) if value is not None and value.name]
    return all(isinstance(value.type, ir.TensorType) for value in values)


_LEAST_OPSET_OF_INT8 = 13
"""The first one in which QuantizeLinear takes a scale for each channel."""


_ALTERNATIVES = {
    "fp16": "bf16, whose range is that of fp32",
    "bf16": "fp16, in which more runtimes compute",
    "int8": "the other method (--quantize)",
}
_QUANTISED = "multiplies by constant weights outside of If, Loop and Scan, as Conv, Gemm, MatMul and LSTM do"


class NothingToConvert(IrbenchError):
    """No operation of the graph can compute in the precision."""

    def __init__(self, precision: str, what: str) -> None:
        super().__init__(
            f"There is nothing to convert to {precision}: no operation of the graph {what}.",
            hint="Leave --precision out, or use another model.",
        )


class CannotConvert(IrbenchError):
    """A tool or a runtime fails at the conversion."""

    def __init__(self, name: str, precision: str, reason: str) -> None:
        super().__init__(
            f"{name} cannot be converted to {precision}: {reason.rstrip('.')}.",
            hint=f"Try {_ALTERNATIVES[precision]}; if that fails too, leave --precision out.",
        )


def require_fp32(path: Path, name: str, precision: str) -> None:
    """Refuse a graph that was converted before."""
    precision_now = read_precision(path).narrowest
    if precision_now != "fp32":
        raise IrbenchError(
            f"{name} is already {precision_now} and cannot be converted to {precision}.",
            hint="Use the fp32 graph it was made from.",
        )


def least_opset(conversion: Conversion) -> int:
    """Return the operator set that a conversion needs."""
    return OPSETS.get(conversion.precision, _LEAST_OPSET_OF_INT8)


def require_opset(opset: int, conversion: Conversion, name: str) -> None:
    """Refuse a graph whose operator set could not be raised far enough."""
    least = least_opset(conversion)
    if opset < least:
        raise IrbenchError(
            f"{name} cannot be converted to {conversion.precision}, which needs opset {least}: it has {opset}, and "
            "ONNX's converter cannot raise it.",
            hint=f"Export it again with opset {least} or later, or leave --precision out.",
        )


def convert(source: Path, target: Path, asked: Conversion, calibration: Samples, quantizer: str | None) -> str:
    """Write the graph of ``source`` in another precision to ``target``.

    Returns:
        What was done, as the step's name.

    Raises:
        NothingToConvert: The graph holds nothing that can be.
    """
    if asked.precision != "int8":
        return _narrow(source, target, asked.precision)
    assert quantizer is not None
    return _quantize(source, target, asked, calibration, registry.quantizer(quantizer))


def _quantize(source: Path, target: Path, asked: Conversion, calibration: Samples, quantizer: Quantizer) -> str:
    suitable = quantizer.suitable_method(source)
    if suitable is None:
        raise NothingToConvert("int8", _QUANTISED)
    method = suitable if asked.method == "auto" else asked.method
    quantizer.quantize(QuantizationRequest(source, target, method, lambda: _named(calibration), int8_weight_bits()))
    return f"quantize_{method}"


def _narrow(source: Path, target: Path, precision: Literal["fp16", "bf16"]) -> str:
    model = load(source)
    if not narrow(model, precision):
        raise NothingToConvert(precision, "computes with floats")
    write(model, target)
    return f"narrow_to_{precision}"


def _named(samples: Samples) -> Iterator[Mapping[str, Array]]:
    names = [spec.name for spec in samples.artifact.inputs]
    for feed in samples.feeds(samples.artifact):
        yield dict(zip(names, feed, strict=True))
