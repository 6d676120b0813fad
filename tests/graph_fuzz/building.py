"""Builds an ONNX graph node by node, and knows the type and shape of every value at nominal sizes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

from .choices import Choices

FLOAT, INT64, BOOL = TensorProto.FLOAT, TensorProto.INT64, TensorProto.BOOL

NOMINAL = {"batch": 2, "tokens": 3, "keys": 5, "steps": 4, "5": 6, "keys + tokens": 8}
"""Sizes of dynamic dimensions for which shapes are computed; one is named by a digit, as some exporters do."""

_COMPUTED_BY_SHAPES = ("Shape", "Size", "Gather", "Slice", "Concat", "Unsqueeze", "Squeeze", "Mul", "Add", "Sub", "Div")
_COMPUTED_BY_SHAPES += ("Cast", "ReduceProd", "Max", "Identity", "Range", "Where", "Equal", "ConstantOfShape", "Min")
_MAX_KNOWN = 64
_NEGATIVE_AXES = 11
"""The operator set from which on axes may be counted from the end."""


class Unbuildable(Exception):
    """ONNX does not allow such a node here, or its shape depends on data."""


@dataclass(frozen=True)
class Value:
    """A tensor of the graph.

    Attributes:
        name: Its name.
        dtype: Its element type, by ONNX's number.
        shape: At the sizes of :data:`NOMINAL`.
    """

    name: str
    dtype: int
    shape: tuple[int, ...]

    @property
    def rank(self) -> int:
        return len(self.shape)


class Builder:
    """One graph, or the body of one: bodies read the values of the graphs around them.

    Args:
        choices: What is random in it.
        opset: Of ONNX's own domain.
        parent: The graph around it; ``None`` for the main graph.
    """

    def __init__(self, choices: Choices, opset: int, parent: Builder | None = None) -> None:
        self.choices, self.opset, self.parent = choices, opset, parent
        self.nodes: list[onnx.NodeProto] = []
        self.inputs: list[onnx.ValueInfoProto] = []
        self.initializers: list[onnx.TensorProto] = []
        self.values: list[Value] = []
        self.functions: list[onnx.FunctionProto] = [] if parent is None else parent.functions
        self._known: dict[str, Any] = {} if parent is None else parent._known
        self._names: list[str] = [] if parent is None else parent._names

    def name(self, kind: str) -> str:
        """Return a new name; in bodies often one that passes choose too, as PyTorch's exporter does."""
        kind = "val" if self.parent is not None and self.choices.likely(0.5) else kind
        taken = set(self._names)
        name = next(name for number in range(10_000) if (name := f"{kind}_{number}") not in taken)
        self._names.append(name)
        return name

    def input(self, shape: Sequence[int | str], dtype: int = FLOAT, kind: str = "x") -> Value:
        """Add an input of the graph; feeds follow from its type and the start of its name."""
        sizes: list[Any] = [size if isinstance(size, int) else NOMINAL.get(size, size) for size in shape]
        value = Value(self.name(kind), dtype, tuple(sizes))
        self.inputs.append(helper.make_tensor_value_info(value.name, dtype, shape))
        self.values.append(value)
        return value

    def constant(self, array: Any, style: str = "") -> Value:
        """Add a constant: an initializer, the output of a Constant node, or seldom the default of an input."""
        array = np.asarray(array)
        tensor = numpy_helper.from_array(array, self.name("c"))
        likely = ["initializer"] * 14 + ["Constant"] * 4 + (["default"] if self.parent is None else [])
        style = style or self.choices.any_of(*likely)
        value = Value(tensor.name, tensor.data_type, array.shape)
        if array.size <= _MAX_KNOWN and array.dtype.kind in "iub":
            self._known[value.name] = array
        if style == "Constant":
            self.nodes.append(helper.make_node("Constant", [], [tensor.name], tensor.name, value=tensor))
            return value
        if style == "default":
            self.inputs.append(helper.make_tensor_value_info(tensor.name, tensor.data_type, array.shape))
        self.initializers.append(tensor)
        return value

    def number(self, number: float, like: Value, axes: int = 0) -> Value:
        """Add a constant of one element, of another value's type."""
        return self.constant(np.full((1,) * axes, number, helper.tensor_dtype_to_np_dtype(like.dtype)))

    def weights(self, *shape: int, dtype: int = FLOAT) -> Value:
        """Add a random constant of about 1."""
        seed = self.choices.chance.randrange(1 << 30)
        array = np.random.default_rng(seed).normal(0, 0.7, shape)
        return self.constant(array.astype(helper.tensor_dtype_to_np_dtype(dtype)))

    def op(self, operation: str, *inputs: Value | None, outputs: str = "y", domain: str = "", **attributes: Any) -> Any:
        """Add a node and return its output, or all of them where there are several.

        Args:
            operation: What it does.
            inputs: ``None`` for one that is omitted.
            outputs: A letter for each, ``-`` for one that is omitted.
            domain: Of the operator.
            attributes: Of the node.

        Raises:
            Unbuildable: ONNX's own inference refuses it, or does not know the shape.
        """
        if self.opset < _NEGATIVE_AXES and any(number < 0 for number in _axes(attributes)):
            raise Unbuildable("negative axes came later, and ONNX's inference takes them for others")
        names = ["" if letter == "-" else self.name(operation.lower()) for letter in outputs]
        node = helper.make_node(operation, [value.name if value else "" for value in inputs], names, "".join(names))
        node.domain = domain
        node.attribute.extend(helper.make_attribute(key, value) for key, value in attributes.items())
        made = self._inferred(node, [value for value in inputs if value])
        self.nodes.append(node)
        self.values.extend(made)
        self._evaluate(node, made)
        return made[0] if len(made) == 1 else made

    def stated(self, node: onnx.NodeProto, types: Sequence[tuple[int, Sequence[int]]]) -> list[Value]:
        """Add a node whose outputs have types and shapes that are given: one with bodies, or of a function."""
        made = [Value(name, dtype, tuple(shape)) for name, (dtype, shape) in zip(node.output, types, strict=True)]
        self.nodes.append(node)
        self.values.extend(value for value in made if value.name)
        return made

    def body(self) -> Builder:
        """Return a builder of a body, whose nodes may read what is here."""
        return Builder(self.choices, self.opset, self)

    def graph(self, outputs: Sequence[Value], name: str = "body") -> onnx.GraphProto:
        """Return the body that was built."""
        described = [helper.make_tensor_value_info(value.name, value.dtype, None) for value in outputs]
        return helper.make_graph(self.nodes, name, self.inputs, described, self.initializers)

    def model(self, outputs: Sequence[Value]) -> onnx.ModelProto:
        """Return the whole model, its outputs as ONNX's inference knows them, of known rank at least."""
        described = [
            helper.make_tensor_value_info(value.name, value.dtype, [None] * value.rank)
            for value in dict.fromkeys(outputs)
        ]
        graph = helper.make_graph(self.nodes, "fuzzed", self.inputs, described, self.initializers)
        imports = [helper.make_opsetid("", self.opset)]
        domains = {node.domain for node in self.nodes if node.domain} | {entry.domain for entry in self.functions}
        imports += [helper.make_opsetid(domain, 1) for domain in sorted(domains)]
        version = max(8 if self.functions else 7, min(helper.find_min_ir_version_for(imports, ignore_unknown=True), 11))
        model = helper.make_model(graph, opset_imports=imports, ir_version=version, functions=self.functions)
        return _with_sizes(model)

    def known(self, value: Value) -> Any:
        """Return the elements of a small integer tensor at nominal sizes; ``None`` where they are not known."""
        return self._known.get(value.name)

    def _inferred(self, node: onnx.NodeProto, inputs: Sequence[Value]) -> list[Value]:
        types = {value.name: helper.make_tensor_type_proto(value.dtype, value.shape) for value in inputs}
        data = {
            value.name: numpy_helper.from_array(self._known[value.name], value.name)
            for value in inputs
            if value.name in self._known
        }
        try:
            schema = onnx.defs.get_schema(node.op_type, self.opset, node.domain)
            imports = [helper.make_opsetid("", self.opset)]
            found = onnx.shape_inference.infer_node_outputs(schema, node, types, data, None, imports, ir_version=10)
            onnx.checker.check_node(node, _context(self.opset))
        except Exception as problem:
            raise Unbuildable(f"{node.op_type}: {problem}") from problem
        return [_value(name, found) for name in node.output if name]

    def _evaluate(self, node: onnx.NodeProto, made: Sequence[Value]) -> None:
        if node.op_type not in _COMPUTED_BY_SHAPES or len(made) != 1 or int(np.prod(made[0].shape)) > _MAX_KNOWN:
            return
        if node.op_type in ("Shape", "Size"):
            shape = next(value.shape for value in self._visible() if value.name == node.input[0])
            start, end = (
                helper.get_node_attr_value(node, key) if _has(node, key) else None for key in ("start", "end")
            )
            found = np.array(shape[start:end], np.int64)
            self._known[made[0].name] = np.asarray(found.prod(), np.int64) if node.op_type == "Size" else found
        elif all(name in self._known for name in node.input if name):
            feed = {name: self._known[name] for name in node.input if name}
            try:
                (found,) = ReferenceEvaluator(node, opsets={"": self.opset}).run(None, feed)
            except Exception:  # noqa: BLE001 - the evaluator has gaps in old operator sets: the value stays unknown
                return
            self._known[made[0].name] = np.asarray(found)

    def _visible(self) -> list[Value]:
        return [*self.values, *(self.parent._visible() if self.parent is not None else [])]


def _axes(attributes: Mapping[str, Any]) -> list[int]:
    return [attributes.get("axis", 0), *attributes.get("axes", ())]


def _has(node: onnx.NodeProto, name: str) -> bool:
    return any(attribute.name == name for attribute in node.attribute)


def _context(opset: int) -> Any:
    context = onnx.checker.C.CheckerContext()
    context.ir_version, context.opset_imports = 10, {"": opset}
    return context


def _value(name: str, found: Mapping[str, onnx.TypeProto]) -> Value:
    tensor = found[name].tensor_type if name in found else None
    if tensor is None or not tensor.HasField("shape") or any(not dim.HasField("dim_value") for dim in tensor.shape.dim):
        raise Unbuildable(f"{name}: its shape depends on data")
    return Value(name, tensor.elem_type, tuple(dim.dim_value for dim in tensor.shape.dim))


def _with_sizes(model: onnx.ModelProto) -> onnx.ModelProto:
    """Write what ONNX's inference knows of the sizes of outputs."""
    try:
        inferred = onnx.shape_inference.infer_shapes(model)
    except Exception:  # noqa: BLE001 - a model that cannot be inferred keeps unnamed sizes
        return model
    for output, known in zip(model.graph.output, inferred.graph.output, strict=True):
        if len(known.type.tensor_type.shape.dim) == len(output.type.tensor_type.shape.dim):
            output.CopyFrom(known)
            for dim in output.type.tensor_type.shape.dim:
                if dim.dim_param.startswith("unk__"):
                    dim.Clear()
    return model
