"""Shapes that follow from contents of small tensors, and contents that follow from shapes, node by node.

ONNX's inference of a whole graph propagates some sizes, and gives up where they pass through other operators than it
expects, or into one that wants a constant: ``Range``, ``Expand``, ``Resize``. Behind that it knows nothing more.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from irbench.onnx.reading.small_values import SmallValues, computed_values, constant_values

if TYPE_CHECKING:
    import onnx


def propagate_sizes(model: onnx.ModelProto) -> tuple[SmallValues, bool]:
    """Add to a model the shapes of those values of its main graph that it lacks and that can be computed.

    Args:
        model: With the shapes that ONNX infers; changed in place.

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
        for name, value in computed_values(node, self._values, self._shapes).items():
            self._values[name] = self.computed[name] = value

    def _inferred(self, node: onnx.NodeProto) -> dict[str, onnx.TypeProto]:
        """Ask ONNX for the outputs of one node; it gives none where it does not know the operator."""
        from onnx import checker, defs, numpy_helper, shape_inference

        try:
            given = {name: self._type(name) for name in node.input if name}
            data = {name: numpy_helper.from_array(self._values[name], name) for name in given if name in self._values}
            domain = _short(node.domain)
            schema = defs.get_schema(node.op_type, self._versions[domain], domain)
            found: dict[str, onnx.TypeProto] = shape_inference.infer_node_outputs(
                schema, node, given, data, None, self._imports, self._ir_version
            )
        except (
            *(defs.SchemaError, shape_inference.InferenceError, checker.ValidationError),
            *(LookupError, ValueError, TypeError, RuntimeError),
        ):
            return {}
        return found

    def _type(self, name: str) -> onnx.TypeProto:
        from onnx import helper

        if name not in self._types:
            self._types[name] = helper.make_tensor_type_proto(self._element_types[name], self._shapes[name])
        return self._types[name]


def _has_body(node: onnx.NodeProto) -> bool:
    return any(attribute.HasField("g") or attribute.graphs for attribute in node.attribute)


def _short(domain: str) -> str:
    return "" if domain == "ai.onnx" else domain
