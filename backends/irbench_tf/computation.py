"""A graph as one function that XLA compiles as a whole."""

from __future__ import annotations

from typing import Any

from irbench.spec import Artifact

_FUNCTION = "irbench_model"


def bind_shapes(graph_def: Any, artifact: Artifact) -> None:
    """Give the placeholders, in place, the concrete shapes of the artifact's inputs."""
    shapes = {spec.name: spec.shape for spec in artifact.inputs}
    for node in graph_def.node:
        if node.op == "Placeholder" and node.name in shapes:
            shape = node.attr["shape"].shape
            shape.Clear()
            shape.SetInParent()
            for size in shapes[node.name]:
                shape.dim.add(size=size)


def as_one_computation(graph_def: Any, artifact: Artifact) -> Any:
    """Return a graph with the same placeholders and outputs that calls the rest as a function compiled by XLA.

    This is what ``tf.function(jit_compile=True)`` makes of a graph, without tracing it again.
    """
    from tensorflow.core.framework import graph_pb2

    inputs = {spec.name for spec in artifact.inputs}
    placeholders = {node.name: node for node in graph_def.node if node.name in inputs}
    results = {node.name: node for node in graph_def.node if node.name in {spec.name for spec in artifact.outputs}}
    outer = graph_pb2.GraphDef(versions=graph_def.versions, library=graph_def.library)
    function = outer.library.function.add()
    function.signature.name = _FUNCTION
    call = graph_pb2.GraphDef().node.add(name=f"{_FUNCTION}_call", op="StatefulPartitionedCall")
    for index, spec in enumerate(artifact.inputs):
        placeholder = placeholders[spec.name]
        outer.node.add().CopyFrom(placeholder)
        function.signature.input_arg.add(name=f"argument_{index}", type=placeholder.attr["dtype"].type)
        call.input.append(spec.name)
        call.attr["Tin"].list.type.append(placeholder.attr["dtype"].type)
    _fill_body(function, graph_def, {spec.name: f"argument_{index}" for index, spec in enumerate(artifact.inputs)})
    for index, spec in enumerate(artifact.outputs):
        element = results[spec.name].attr["T"].type
        function.signature.output_arg.add(name=f"result_{index}", type=element)
        function.ret[f"result_{index}"] = f"{spec.name}:output:0"
        call.attr["Tout"].list.type.append(element)
        outer.node.add(name=spec.name, op="Identity", input=[f"{call.name}:{index}"]).attr["T"].type = element
    call.attr["f"].func.name = _FUNCTION
    call.attr["_XlaMustCompile"].b = True
    outer.node.append(call)
    return outer


def _fill_body(function: Any, graph_def: Any, arguments: dict[str, str]) -> None:
    """Add every node but the placeholders, with references as function bodies write them: ``node:port:index``."""
    ports = {node.name: _output_ports(node) for node in graph_def.node}
    for node in graph_def.node:
        if node.name in arguments:
            continue
        inner = function.node_def.add()
        inner.CopyFrom(node)
        for index, reference in enumerate(node.input):
            name, _, position = reference.partition(":")
            if reference.startswith("^"):
                if name.removeprefix("^") in arguments:
                    inner.input[index] = f"^{arguments[name.removeprefix('^')]}"
            elif name in arguments:
                inner.input[index] = arguments[name]
            else:
                inner.input[index] = f"{name}:{ports[name][int(position or 0)]}"


def _output_ports(node: Any) -> list[str]:
    """Return ``port:index`` of each of a node's outputs, in order."""
    from tensorflow.python.framework import op_def_registry

    ports: list[str] = []
    definition: Any = op_def_registry.get(node.op)
    for argument in definition.output_arg:
        if argument.number_attr:
            count = node.attr[argument.number_attr].i
        elif argument.type_list_attr:
            count = len(node.attr[argument.type_list_attr].list.type)
        else:
            count = 1
        ports.extend(f"{argument.name}:{index}" for index in range(count))
    return ports
