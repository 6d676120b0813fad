"""Contents of small tensors by ONNX's reference evaluator, and the shapes that follow from them, node by node.

ONNX's inference of a whole graph propagates some sizes, and gives up where they pass through other operators than it
expects, or into one that wants a constant: ``Range``, ``Expand``, ``Resize``. Behind that it knows nothing more.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    import onnx

SmallValues: TypeAlias = Mapping[str, NDArray[Any]]
"""Contents by the name of the value."""

_MAX_ELEMENTS = 64
"""Shapes and axes are shorter; longer tensors are data, which no shape depends on."""

_EVALUATED = frozenset(
    {
        "Abs", "Add", "And", "Cast", "Ceil", "Concat", "ConstantOfShape", "Div", "Equal", "Expand", "Floor", "Gather",
        "Greater", "GreaterOrEqual", "Identity", "Less", "LessOrEqual", "Max", "Min", "Mod", "Mul", "Neg", "Not", "Or",
        "Range", "ReduceMax", "ReduceMin", "ReduceProd", "ReduceSum", "Reshape", "Slice", "Split", "Squeeze", "Sub",
        "Unsqueeze", "Where",
    }
)  # fmt: skip
"""Operators by which exporters compute sizes."""


def constant_values(graph: onnx.GraphProto) -> SmallValues:
    """Return the small initializers of a graph; large weights may lack their content."""
    from onnx import TensorProto, numpy_helper

    values: dict[str, NDArray[Any]] = {}
    for tensor in graph.initializer:
        if prod(tensor.dims) <= _MAX_ELEMENTS and tensor.data_location != TensorProto.EXTERNAL:
            try:
                values[tensor.name] = numpy_helper.to_array(tensor)
            except (ValueError, TypeError, LookupError):  # its content was left out, or its type is unknown
                continue
    return values


def computed_values(
    node: onnx.NodeProto, known: SmallValues, shapes: Mapping[str, tuple[int, ...]], opset: int
) -> dict[str, NDArray[Any]]:
    """Return the outputs of a node of ONNX's own operators that are small and follow from what is known."""
    if node.domain not in ("", "ai.onnx"):
        return {}
    try:
        outputs = _outputs(node, known, shapes, opset)
    except Exception:  # noqa: BLE001 - the evaluator fails in ways of its own at what no such operator can have
        return {}
    return {name: value for name, value in zip(node.output, outputs, strict=False) if value.size <= _MAX_ELEMENTS}


def _outputs(
    node: onnx.NodeProto, known: SmallValues, shapes: Mapping[str, tuple[int, ...]], opset: int
) -> Sequence[NDArray[Any]]:
    if node.op_type in ("Shape", "Size"):
        return _of_shape(node, shapes[node.input[0]])
    if node.op_type == "Constant":
        return (_constant(_attributes(node)),)
    if node.op_type not in _EVALUATED or not node.input:
        return ()
    inputs = {name: known[name] for name in node.input if name}
    _require_small(node, [inputs.get(name) for name in node.input])
    from onnx.reference import ReferenceEvaluator

    plain = type(node)()
    plain.CopyFrom(node)
    plain.domain = ""
    with np.errstate(all="ignore"):
        outputs = ReferenceEvaluator(plain, opsets={"": opset}).run(None, inputs)
    return [np.asarray(value) for value in outputs]


def _require_small(node: onnx.NodeProto, inputs: Sequence[Any]) -> None:
    """Refuse what would fill memory, and a division of integers by zero, before the evaluator begins with it."""
    elements = 0
    if node.op_type == "Range":
        start, limit, step = (float(value) for value in inputs)
        elements = int((limit - start) / step)
    elif node.op_type == "ConstantOfShape":
        elements = prod(map(int, inputs[0]))
    elif node.op_type == "Split":
        elements = _attributes(node).get("num_outputs", 0)
    elif node.op_type == "Expand":
        elements = prod(np.broadcast_shapes(inputs[0].shape, tuple(map(int, inputs[1]))))
    elif node.op_type in ("Div", "Mod") and inputs[1].dtype.kind in "iu" and not np.all(inputs[1]):
        raise ZeroDivisionError
    if elements > _MAX_ELEMENTS:
        raise ValueError


def _of_shape(node: onnx.NodeProto, shape: tuple[int, ...]) -> Sequence[NDArray[Any]]:
    if node.op_type == "Size":
        return (np.array(prod(shape), np.int64),)
    attributes = _attributes(node)
    return (np.array(shape[attributes.get("start", 0) : attributes.get("end")], np.int64),)


def _attributes(node: onnx.NodeProto) -> dict[str, Any]:
    from onnx import helper

    return {attribute.name: helper.get_attribute_value(attribute) for attribute in node.attribute}


def _constant(attributes: Mapping[str, Any]) -> NDArray[Any]:
    from onnx import numpy_helper

    for name, dtype in (("value_int", np.int64), ("value_ints", np.int64), ("value_float", np.float32)):
        if name in attributes:
            return np.array(attributes[name], dtype)
    tensor = attributes["value"]
    if prod(tensor.dims) > _MAX_ELEMENTS:
        raise ValueError
    return numpy_helper.to_array(tensor)


def propagate_sizes(model: onnx.ModelProto) -> tuple[SmallValues, bool]:
    """Add to a model the shapes of those values of its main graph that it lacks and that can be computed.

    Returns:
        Contents of small tensors that the graph computes, and whether a shape was added.
    """
    walk = _SizeWalk(model)
    for node in model.graph.node:
        walk.visit(node)
    described = {value.name: value for value in (*model.graph.value_info, *model.graph.output)}
    for name, value_type in walk.added.items():
        place = described[name] if name in described else model.graph.value_info.add(name=name)
        place.type.CopyFrom(value_type)
    return walk.computed, bool(walk.added)


def known_sizes(value_type: onnx.TypeProto) -> tuple[int, ...] | None:
    """Return the sizes of a tensor; ``None`` where one is unknown."""
    tensor = value_type.tensor_type
    if not tensor.HasField("shape") or not all(size.HasField("dim_value") for size in tensor.shape.dim):
        return None
    return tuple(size.dim_value for size in tensor.shape.dim)


def has_bodies(graph: onnx.GraphProto) -> bool:
    """Return whether a node holds a graph of its own."""
    return any(_has_body(node) for node in graph.node)


class _SizeWalk:
    """What is known of the values of a graph, from its beginning to where the walk is."""

    def __init__(self, model: onnx.ModelProto) -> None:
        graph = model.graph
        self.added: dict[str, onnx.TypeProto] = {}
        self.computed: dict[str, Any] = {}
        self._imports = list(model.opset_import)
        self._ir_version = model.ir_version
        self._versions = {_short(opset.domain): opset.version for opset in model.opset_import}
        self._opset = self._versions.get("", 1)
        self._values = dict(constant_values(graph))
        self._types: dict[str, onnx.TypeProto] = {
            value.name: value.type for value in (*graph.input, *graph.value_info, *graph.output)
        }
        self._shapes = {tensor.name: tuple(tensor.dims) for tensor in graph.initializer}
        self._element_types = {tensor.name: tensor.data_type for tensor in graph.initializer}
        for name, value_type in self._types.items():
            if (sizes := known_sizes(value_type)) is not None:
                self._shapes[name] = sizes

    def visit(self, node: onnx.NodeProto) -> None:
        """Infer a node's outputs where their shapes are unknown, and compute those that are small."""
        if not _has_body(node) and any(name and name not in self._shapes for name in node.output):
            for name, value_type in self._inferred(node).items():
                if name not in self._shapes and (sizes := known_sizes(value_type)) is not None:
                    self.added[name] = self._types[name] = value_type
                    self._shapes[name] = sizes
        for name, value in computed_values(node, self._values, self._shapes, self._opset).items():
            self._values[name] = self.computed[name] = value

    def _inferred(self, node: onnx.NodeProto) -> dict[str, onnx.TypeProto]:
        """Ask ONNX for the outputs of one node; it gives none where it does not know the operator."""
        from onnx import checker, defs, numpy_helper, shape_inference

        try:
            types = {name: self._type(name) for name in node.input if name}
            data = {name: numpy_helper.from_array(self._values[name], name) for name in types if name in self._values}
            domain = _short(node.domain)
            schema = defs.get_schema(node.op_type, self._versions[domain], domain)
            inferred: dict[str, onnx.TypeProto] = shape_inference.infer_node_outputs(
                schema, node, types, data, None, self._imports, self._ir_version
            )
        except (
            *(defs.SchemaError, shape_inference.InferenceError, checker.ValidationError),
            *(LookupError, ValueError, TypeError, RuntimeError),
        ):
            return {}
        return inferred

    def _type(self, name: str) -> onnx.TypeProto:
        from onnx import helper

        if name not in self._types:
            self._types[name] = helper.make_tensor_type_proto(self._element_types[name], self._shapes[name])
        return self._types[name]


def _has_body(node: onnx.NodeProto) -> bool:
    return any(attribute.HasField("g") or attribute.graphs for attribute in node.attribute)


def _short(domain: str) -> str:
    return "" if domain == "ai.onnx" else domain
