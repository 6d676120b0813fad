"""Types and shapes inside the bodies of If, Loop and Scan and the functions of a model, and of what these give.

A body is inferred like a graph once its inputs are described. The state of a Loop or Scan may have another shape after
an iteration than it started with. So it is assumed to keep the shape that it starts with, the body is inferred, and
what turns out to change becomes unknown, until nothing changes any more. By induction the rest holds in every
iteration.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
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


InferBody = Callable[["ir.Graph"], None]
"""Writes types and shapes onto the values of a body whose inputs are described."""

Dimensions = tuple[int | str | None, ...]
"""A number, a name or nothing for each axis."""

_BEFORE_STATES = 2
"""Inputs of a Loop and of its body before the states: the trip count or the iteration, and the condition."""


def bodies_of(node: ir.Node) -> list[ir.Graph]:
    """Return the graphs inside a node, in the order of its attributes."""
    graphs: list[ir.Graph] = []
    for attribute in node.attributes.values():
        if attribute.type.name == "GRAPH":
            graphs.append(attribute.as_graph())
        elif attribute.type.name == "GRAPHS":
            graphs.extend(attribute.as_graphs())
    return graphs


def infer_bodies(node: ir.Node, infer: InferBody) -> None:
    """Write types and shapes onto the values inside a node, and onto its outputs as far as they follow.

    Args:
        node: An operation with bodies. Inside others than If, Loop and Scan of ONNX's own, nothing is described.
        infer: What infers a body.
    """
    handler = _KNOWN.get(node.op_type) if node.domain == "" else None
    if handler is not None:
        handler(node, infer)


def _infer_if(node: ir.Node, infer: InferBody) -> None:
    branches = bodies_of(node)
    for branch in branches:
        infer(branch)
    for output, *answers in zip(node.outputs, *(branch.outputs for branch in branches), strict=False):
        _describe(output, answers)


def _infer_loop(node: ir.Node, infer: InferBody) -> None:
    import onnx_ir as ir

    (body,) = bodies_of(node)
    for value, dtype in zip(body.inputs[:_BEFORE_STATES], (ir.DataType.INT64, ir.DataType.BOOL), strict=False):
        value.type = value.type or ir.TensorType(dtype)
    states = _states(node.inputs[_BEFORE_STATES:], body.inputs[_BEFORE_STATES:], body.outputs[1:], node.outputs)
    _infer_states(body, states, infer)
    for output, part in zip(node.outputs[len(states) :], body.outputs[1 + len(states) :], strict=False):
        _describe_stacked(output, part, 0)


def _infer_scan(node: ir.Node, infer: InferBody) -> None:
    (body,) = bodies_of(node)
    scanned = node.attributes.get_int("num_scan_inputs", 0)
    count = len(body.inputs) - scanned
    if len(node.inputs) != len(body.inputs):  # before opset 9 lengths come first and a batch is implied
        return
    axes = node.attributes.get_ints("scan_input_axes", [0] * scanned)
    for part, whole, axis in zip(body.inputs[count:], node.inputs[count:], axes, strict=False):
        _describe_part(part, whole, axis)
    _infer_states(body, _states(node.inputs[:count], body.inputs[:count], body.outputs, node.outputs), infer)
    stacked = node.outputs[count:]
    axes = node.attributes.get_ints("scan_output_axes", [0] * len(stacked))
    for output, part, axis in zip(stacked, body.outputs[count:], axes, strict=False):
        _describe_stacked(output, part, axis)


_KNOWN: dict[str, Callable[[ir.Node, InferBody], None]] = {"If": _infer_if, "Loop": _infer_loop, "Scan": _infer_scan}


@dataclass(frozen=True)
class _State:
    """What a body hands from one iteration to the next.

    Attributes:
        stated: The shape that the file states for what the body reads, if any.
    """

    start: ir.Value | None
    inside: ir.Value
    following: ir.Value
    output: ir.Value
    stated: Dimensions | None

    @property
    def assumed(self) -> Dimensions | None:
        """The shape before the first iteration; what is unknown of it, as the file states it."""
        start = _dimensions(self.start)
        if start is None or self.stated is None or len(start) != len(self.stated):
            return self.stated if start is None else start
        return tuple(stated if size is None else size for size, stated in zip(start, self.stated, strict=True))

    def held(self, assumed: Dimensions | None) -> Dimensions | None:
        """Return what of an assumed shape is still so after an iteration.

        A size of which inference knows nothing is believed where the file states it.
        """
        following, stated = _dimensions(self.following), self.stated
        if assumed is None or (following is None and stated is None):
            return None
        sizes = following if following is not None else (None,) * len(assumed)
        if len(sizes) != len(assumed):
            return None
        said = stated if stated is not None and len(stated) == len(assumed) else (None,) * len(assumed)
        return tuple(
            size if size in ((after,) if after is not None else (believed,)) else None
            for size, after, believed in zip(assumed, sizes, said, strict=True)
        )


def _states(
    starts: Sequence[ir.Value | None],
    inside: Sequence[ir.Value],
    following: Sequence[ir.Value],
    outputs: Sequence[ir.Value],
) -> list[_State]:
    groups = zip(starts, inside, following, outputs, strict=False)
    return [_State(start, state, after, output, _dimensions(state)) for start, state, after, output in groups]


def _infer_states(body: ir.Graph, states: Sequence[_State], infer: InferBody) -> None:
    before = [(value, value.type, value.shape) for value in _values(body)]
    assumed = [state.assumed for state in states]
    while True:
        for state, dimensions in zip(states, assumed, strict=True):
            state.inside.type = state.inside.type or (state.start.type if state.start is not None else None)
            _set_dimensions(state.inside, dimensions)
        infer(body)
        kept = [state.held(dimensions) for state, dimensions in zip(states, assumed, strict=True)]
        if kept == assumed:
            break
        assumed = kept
        for value, described, shape in before:
            value.type, value.shape = described, shape
    for state in states:
        _describe(state.output, [state.inside])


def _values(graph: ir.Graph) -> Iterable[ir.Value]:
    for part in (graph, *graph.subgraphs()):
        yield from part.inputs
        for node in part:
            yield from node.outputs


def _describe(output: ir.Value, answers: Sequence[ir.Value]) -> None:
    output.type = output.type or next((value.type for value in answers if value.type is not None), None)
    shapes = [dimensions for value in answers if (dimensions := _dimensions(value)) is not None]
    if output.shape is None and len(shapes) == len(answers) and len({len(shape) for shape in shapes}) == 1:
        _set_dimensions(output, tuple(sizes[0] if len({*sizes}) == 1 else None for sizes in zip(*shapes, strict=True)))


def _describe_part(part: ir.Value, whole: ir.Value | None, axis: int) -> None:
    sizes = _dimensions(whole)
    if whole is not None:
        part.type = part.type or whole.type
    if sizes and part.shape is None:
        axis %= len(sizes)
        _set_dimensions(part, (*sizes[:axis], *sizes[axis + 1 :]))


def _describe_stacked(output: ir.Value, part: ir.Value, axis: int) -> None:
    """Describe what is made of an output of each iteration, side by side along a new axis; how many is unknown."""
    sizes = _dimensions(part)
    output.type = output.type or part.type
    if sizes is not None and output.shape is None:
        axis %= len(sizes) + 1
        _set_dimensions(output, (*sizes[:axis], None, *sizes[axis:]))


def _dimensions(value: ir.Value | None) -> Dimensions | None:
    if value is None or value.shape is None:
        return None
    return tuple(size if isinstance(size, int) else size.value for size in value.shape)


def _set_dimensions(value: ir.Value, dimensions: Dimensions | None) -> None:
    import onnx_ir as ir

    value.shape = None if dimensions is None else ir.Shape(dimensions)
