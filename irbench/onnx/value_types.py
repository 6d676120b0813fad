"""Types of values that only the bodies of control flow, or functions of the model, determine."""

from __future__ import annotations

from typing import TYPE_CHECKING

from irbench.onnx.contributed import contributed_schemas

if TYPE_CHECKING:
    import onnx
    import onnx_ir as ir


def infer_types(model: ir.Model) -> None:
    """Write a type onto each value of the main graph that has none, as far as ONNX can infer it.

    :func:`irbench.onnx.shapes.infer` asks ONNX node by node and gets no answer for SequenceMap and calls of functions,
    nor for bodies around them and what follows; here ONNX sees the whole graph, but no weights. What stays without a
    type follows an operation that nobody here knows.
    """
    import onnx
    import onnx_ir as ir

    outputs = [value for node in model.graph for value in node.outputs if value.name]
    if all(value.type is not None for value in outputs):
        return
    outline = _outline(model)
    with contributed_schemas(outline):
        inferred = onnx.shape_inference.infer_shapes(outline).graph
    types = {value.name: value.type for value in (*inferred.value_info, *inferred.output)}
    for value in outputs:
        if value.type is None and value.name in types:
            value.type = ir.serde.deserialize_type_proto_for_type(types[value.name])


def _outline(model: ir.Model) -> onnx.ModelProto:
    """Return a model with the initializers of the main graph as inputs."""
    import onnx_ir as ir
    from onnx import helper

    graph = model.graph
    fed = {value.name: value for value in (*graph.inputs, *graph.initializers.values())}
    known = [value for node in graph for value in node.outputs if value.name and value.type is not None]
    outline = helper.make_graph(
        [ir.to_proto(node) for node in graph],
        "outline",
        [ir.to_proto(value) for value in fed.values()],
        [ir.to_proto(value) for value in graph.outputs],
        value_info=[ir.to_proto(value) for value in known if not value.is_graph_output()],
    )
    opsets = [helper.make_opsetid(domain, version) for domain, version in model.graph.opset_imports.items()]
    functions = [ir.to_proto(function) for function in model.functions.values()]
    return helper.make_model(outline, opset_imports=opsets, functions=functions)
