"""Contents of small tensors, computed with NumPy, and the shapes that follow from them, node by node.

ONNX's inference of a whole graph propagates some sizes, and gives up where they pass through other operators than it
expects, or into one that wants a constant: ``Range``, ``Expand``, ``Resize``. Behind that it knows nothing more.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import prod
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from irbench.onnx.reading.external_data import graphs_in

if TYPE_CHECKING:
    import onnx

SmallValues: TypeAlias = Mapping[str, NDArray[Any]]
"""Contents by the name of the value."""

_MAX_ELEMENTS = 64
"""Shapes and axes are shorter; longer tensors are data, which no shape depends on."""

_Inputs: TypeAlias = Sequence[NDArray[Any] | None]
_Attributes: TypeAlias = Mapping[str, Any]


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
    node: onnx.NodeProto, known: SmallValues, shapes: Mapping[str, tuple[int, ...]]
) -> dict[str, NDArray[Any]]:
    """Return the outputs of a node that are small and follow from what is known."""
    if node.domain not in ("", "ai.onnx"):
        return {}
    try:
        outputs = _outputs(node, known, shapes)
    except (ValueError, TypeError, LookupError, ArithmeticError, MemoryError):  # what no such operator can have
        return {}
    return {name: value for name, value in zip(node.output, outputs, strict=False) if value.size <= _MAX_ELEMENTS}


def _outputs(node: onnx.NodeProto, known: SmallValues, shapes: Mapping[str, tuple[int, ...]]) -> Sequence[NDArray[Any]]:
    if node.op_type in ("Shape", "Size"):
        return _of_shape(node, shapes[node.input[0]])
    if node.op_type not in _EVALUATED or (not node.input and node.op_type != "Constant"):
        return ()
    inputs = [known[name] if name else None for name in node.input]
    with np.errstate(all="ignore"):
        outputs = _EVALUATED[node.op_type](inputs, {**_attributes(node), "outputs": len(node.output)})
    return [np.asarray(value) for value in (outputs if isinstance(outputs, list) else [outputs])]


def _of_shape(node: onnx.NodeProto, shape: tuple[int, ...]) -> Sequence[NDArray[Any]]:
    if node.op_type == "Size":
        return (np.array(prod(shape), np.int64),)
    attributes = _attributes(node)
    return (np.array(shape[attributes.get("start", 0) : attributes.get("end")], np.int64),)


def _attributes(node: onnx.NodeProto) -> dict[str, Any]:
    from onnx import helper

    return {attribute.name: helper.get_attribute_value(attribute) for attribute in node.attribute}


def _constant(_: _Inputs, attributes: _Attributes) -> Any:
    from onnx import numpy_helper

    for name, dtype in (("value_int", np.int64), ("value_ints", np.int64), ("value_float", np.float32)):
        if name in attributes:
            return np.array(attributes[name], dtype)
    tensor = attributes["value"]
    if prod(tensor.dims) > _MAX_ELEMENTS:
        raise ValueError
    return numpy_helper.to_array(tensor)


def _cast(inputs: _Inputs, attributes: _Attributes) -> Any:
    from onnx import helper

    return _first(inputs).astype(helper.tensor_dtype_to_np_dtype(attributes["to"]))


def _gather(inputs: _Inputs, attributes: _Attributes) -> Any:
    return np.take(_first(inputs), _at(inputs, 1), axis=attributes.get("axis", 0))


def _slice(inputs: _Inputs, attributes: _Attributes) -> Any:
    data = _first(inputs)
    starts, ends, axes, steps = (
        _listed(inputs, attributes, place, name) for place, name in enumerate(("starts", "ends", "axes", "steps"), 1)
    )
    if starts is None or ends is None:
        raise ValueError
    index = [slice(None)] * data.ndim
    for place, axis in enumerate(axes or range(len(starts))):
        step = steps[place] if steps else 1
        end: int | None = ends[place]
        if step < 0 and ends[place] < -data.shape[axis]:
            end = None
        index[axis] = slice(starts[place], end, step)
    return data[tuple(index)]


def _squeeze(inputs: _Inputs, attributes: _Attributes) -> Any:
    axes = _listed(inputs, attributes, 1, "axes")
    return np.squeeze(_first(inputs), axis=None if axes is None else tuple(axes))


def _unsqueeze(inputs: _Inputs, attributes: _Attributes) -> Any:
    return np.expand_dims(_first(inputs), tuple(_listed(inputs, attributes, 1, "axes") or ()))


def _reshape(inputs: _Inputs, attributes: _Attributes) -> Any:
    data, target = _first(inputs), [int(size) for size in _at(inputs, 1)]
    if not attributes.get("allowzero", 0):
        target = [data.shape[place] if size == 0 else size for place, size in enumerate(target)]
    return data.reshape(target)


def _split(inputs: _Inputs, attributes: _Attributes) -> Any:
    data, axis = _first(inputs), attributes.get("axis", 0)
    parts = _listed(inputs, attributes, 1, "split")
    if parts is None:
        size = -(-data.shape[axis] // attributes["outputs"])  # the last part may be smaller
        parts = [size] * attributes["outputs"]
    return list(np.split(data, np.cumsum(parts)[:-1], axis=axis))


def _range(inputs: _Inputs, _: _Attributes) -> Any:
    start, limit, step = (float(_at(inputs, place)) for place in range(3))
    if not step or (limit - start) / step > _MAX_ELEMENTS:
        raise ValueError
    return np.arange(start, limit, step).astype(_first(inputs).dtype)


def _constant_of_shape(inputs: _Inputs, attributes: _Attributes) -> Any:
    from onnx import numpy_helper

    shape = [int(size) for size in _first(inputs)]
    if prod(shape) > _MAX_ELEMENTS:
        raise ValueError
    value = numpy_helper.to_array(attributes["value"]) if "value" in attributes else np.zeros(1, np.float32)
    return np.full(shape, value.reshape(-1)[0], value.dtype)


def _expand(inputs: _Inputs, _: _Attributes) -> Any:
    shape = np.broadcast_shapes(_first(inputs).shape, tuple(int(size) for size in _at(inputs, 1)))
    if prod(shape) > _MAX_ELEMENTS:
        raise ValueError
    return np.broadcast_to(_first(inputs), shape)


def _quotient(first: NDArray[Any], second: NDArray[Any]) -> Any:
    """Divide integers as ONNX does: towards zero."""
    if first.dtype.kind == "f":
        return first / second
    if not np.all(second):
        raise ValueError
    return (np.sign(first) * np.sign(second) * (np.abs(first) // np.abs(second))).astype(first.dtype)


def _remainder(inputs: _Inputs, attributes: _Attributes) -> Any:
    first, second = _first(inputs), _at(inputs, 1)
    if not np.all(second):
        raise ValueError
    return np.fmod(first, second) if attributes.get("fmod", 0) else np.mod(first, second)


def _reduced(compute: Callable[..., Any]) -> Callable[[_Inputs, _Attributes], Any]:
    def evaluate(inputs: _Inputs, attributes: _Attributes) -> Any:
        axes = _listed(inputs, attributes, 1, "axes")
        if not axes and attributes.get("noop_with_empty_axes", 0):
            return _first(inputs)
        data = _first(inputs)
        reduced = compute(data, axis=tuple(axes) if axes else None, keepdims=bool(attributes.get("keepdims", 1)))
        return np.asarray(reduced).astype(data.dtype)

    return evaluate


def _joined(compute: Callable[[Any, Any], Any]) -> Callable[[_Inputs, _Attributes], Any]:
    def evaluate(inputs: _Inputs, _: _Attributes) -> Any:
        joined = _first(inputs)
        for place in range(1, len(inputs)):
            joined = compute(joined, _at(inputs, place))
        return joined

    return evaluate


def _alone(compute: Callable[[Any], Any]) -> Callable[[_Inputs, _Attributes], Any]:
    return lambda inputs, _: compute(_first(inputs))


def _listed(inputs: _Inputs, attributes: _Attributes, place: int, name: str) -> list[int] | None:
    value = inputs[place] if place < len(inputs) else None
    if value is not None:
        return [int(number) for number in value.reshape(-1)]
    return list(attributes[name]) if name in attributes else None


def _first(inputs: _Inputs) -> NDArray[Any]:
    return _at(inputs, 0)


def _at(inputs: _Inputs, place: int) -> NDArray[Any]:
    value = inputs[place]
    if value is None:
        raise ValueError
    return value


_EVALUATED: Mapping[str, Callable[[_Inputs, _Attributes], Any]] = {
    "Abs": _alone(np.abs),
    "Add": _joined(np.add),
    "And": _joined(np.logical_and),
    "Cast": _cast,
    "Ceil": _alone(np.ceil),
    "Concat": lambda inputs, attributes: np.concatenate(
        [_at(inputs, place) for place in range(len(inputs))], axis=attributes["axis"]
    ),
    "Constant": _constant,
    "ConstantOfShape": _constant_of_shape,
    "Div": _joined(_quotient),
    "Equal": _joined(np.equal),
    "Expand": _expand,
    "Floor": _alone(np.floor),
    "Gather": _gather,
    "Greater": _joined(np.greater),
    "GreaterOrEqual": _joined(np.greater_equal),
    "Identity": _alone(lambda value: value),
    "Less": _joined(np.less),
    "LessOrEqual": _joined(np.less_equal),
    "Max": _joined(np.maximum),
    "Min": _joined(np.minimum),
    "Mod": _remainder,
    "Mul": _joined(np.multiply),
    "Neg": _alone(np.negative),
    "Not": _alone(np.logical_not),
    "Or": _joined(np.logical_or),
    "Range": _range,
    "ReduceMax": _reduced(np.max),
    "ReduceMin": _reduced(np.min),
    "ReduceProd": _reduced(np.prod),
    "ReduceSum": _reduced(np.sum),
    "Reshape": _reshape,
    "Slice": _slice,
    "Split": _split,
    "Squeeze": _squeeze,
    "Sub": _joined(np.subtract),
    "Unsqueeze": _unsqueeze,
    "Where": lambda inputs, _: np.where(_at(inputs, 0), _at(inputs, 1), _at(inputs, 2)),
}
"""By operator: the outputs of inputs that are all known; an exception where there are none."""


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


def has_body(node: onnx.NodeProto) -> bool:
    """Return whether a node holds a graph of its own."""
    return any(map(graphs_in, node.attribute))


def short_domain(domain: str) -> str:
    """Return the name of a domain of operators, empty for that of ONNX, which may be spelled out."""
    return "" if domain == "ai.onnx" else domain


NOT_INFERRED = (LookupError, ValueError, TypeError, RuntimeError)
"""What ONNX raises besides its own errors where it cannot infer the outputs of a node."""


def inferred_types(
    node: onnx.NodeProto, types: Mapping[str, onnx.TypeProto], values: SmallValues, model: onnx.ModelProto
) -> dict[str, onnx.TypeProto]:
    """Return the types of a node's outputs, as ONNX infers them from those of its inputs and from known contents.

    Raises:
        onnx.defs.SchemaError: Its operator is not known.
        onnx.shape_inference.InferenceError: The inputs do not fit into each other.
    """
    from onnx import defs, numpy_helper, shape_inference

    versions = {short_domain(opset.domain): opset.version for opset in model.opset_import}
    own = {name: types[name] for name in node.input if name}
    data = {name: numpy_helper.from_array(values[name], name) for name in own if name in values}
    domain = short_domain(node.domain)
    schema = defs.get_schema(node.op_type, versions[domain], domain)
    imports = list(model.opset_import)
    inferred: dict[str, onnx.TypeProto] = shape_inference.infer_node_outputs(
        schema, node, own, data, None, imports, model.ir_version
    )
    return inferred


class _SizeWalk:
    """What is known of the values of a graph, from its beginning to where the walk is."""

    def __init__(self, model: onnx.ModelProto) -> None:
        graph = model.graph
        self.added: dict[str, onnx.TypeProto] = {}
        self.computed: dict[str, Any] = {}
        self._model = model
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
        if not has_body(node) and any(name and name not in self._shapes for name in node.output):
            for name, value_type in self._inferred(node).items():
                if name not in self._shapes and (sizes := known_sizes(value_type)) is not None:
                    self.added[name] = self._types[name] = value_type
                    self._shapes[name] = sizes
        for name, value in computed_values(node, self._values, self._shapes).items():
            self._values[name] = self.computed[name] = value

    def _inferred(self, node: onnx.NodeProto) -> dict[str, onnx.TypeProto]:
        """Ask ONNX for the outputs of one node; it gives none where it does not know the operator."""
        from onnx import checker, defs, shape_inference

        try:
            types = {name: self._type(name) for name in node.input if name}
            return inferred_types(node, types, self._values, self._model)
        except (defs.SchemaError, shape_inference.InferenceError, checker.ValidationError, *NOT_INFERRED):
            return {}

    def _type(self, name: str) -> onnx.TypeProto:
        from onnx import helper

        if name not in self._types:
            self._types[name] = helper.make_tensor_type_proto(self._element_types[name], self._shapes[name])
        return self._types[name]
