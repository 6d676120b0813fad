"""Shapes of every value, and the elements of small integer tensors that are made of shapes.

ONNX's own inference is asked node by node. It gives up where a dynamic dimension passes through a Reshape, and on
everything behind that; here such sizes are computed as products of names (:mod:`irbench.onnx.sizes`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from irbench.onnx.body_shapes import bodies_of, infer_bodies
from irbench.onnx.sizes import (
    EVALUATED,
    ONE,
    Elements,
    Size,
    difference,
    elements_of,
    partial_sizes,
    product,
    quotient,
    sizes_of,
    text,
    total,
)
from irbench.onnx.slices import ELEMENTWISE, axis_slices, broadcast, length_of_slice

if TYPE_CHECKING:
    from collections.abc import Iterable

    import onnx_ir as ir

_PREFIX = "irbench_unnamed_"


class UnnamedSizes:
    """Hands out names that no size of a graph has."""

    def __init__(self, graph: ir.Graph) -> None:
        self._taken = {name for value in graph.inputs for name in _names(value)}
        self._count = 0

    def name(self, node: ir.Node) -> None:
        """Name the unknown sizes of a node's outputs; those of graph outputs stay, and so does an unknown rank."""
        import onnx_ir as ir

        for value in node.outputs:
            # the elements of a sequence share its shape, and may differ in what is unknown of it
            if value.shape is None or value.is_graph_output() or not isinstance(value.type, ir.TensorType):
                continue
            sizes = [size if isinstance(size, int) else size.value for size in value.shape]
            if None in sizes:
                value.shape = ir.Shape([self._next() if size is None else size for size in sizes])

    def _next(self) -> str:
        self._count += 1
        name = f"{_PREFIX}{self._count}"
        return self._next() if any(name in taken for taken in self._taken) else name


def _forget_names(graph: ir.Graph) -> None:
    """Make sizes unknown again that were named in a graph or in bodies inside it; those of its inputs stay."""
    for part in (graph, *graph.subgraphs()):
        for value in (
            *(part.inputs if part is not graph else ()),
            *(output for node in part for output in node.outputs),
        ):
            if any(_PREFIX in name for name in _names(value)):
                _forget(value)


def _forget(value: ir.Value) -> None:
    import onnx_ir as ir

    assert value.shape is not None
    sizes: Iterable[int | str | None] = (size if isinstance(size, int) else size.value for size in value.shape)
    value.shape = ir.Shape([None if isinstance(size, str) and _PREFIX in size else size for size in sizes])


def _names(value: ir.Value) -> list[str]:
    sizes = value.shape or ()
    return [size.value for size in sizes if not isinstance(size, int) and size.value is not None]


_MAX_ELEMENTS = 64
"""Shapes and axes are shorter; longer constants are weights, which no shape depends on."""

_COUNTING = ("FLOAT", "DOUBLE")
"""Floats that hold every length below 2**24."""

_LARGEST_DYNAMIC = 2**31 - 1
"""The largest value a dynamic size is assumed to have."""


def infer(model: ir.Model, *, names_unknown: bool = True, keeps_outputs: bool = False) -> dict[ir.Value, Elements]:
    """Write types and shapes onto the values of the main graph and of bodies, and onto constants.

    Outputs keep the numbers that are stated of their sizes; names that exporters give them may be new ones, ``total``
    for ``past + tokens``, and say less than what is inferred.

    Args:
        model: Its values are described in place.
        names_unknown: Whether a size of the main graph of which nothing is known gets a name of its own
            (:class:`UnnamedSizes`).
        keeps_outputs: Whether outputs keep the names that are stated too.

    Returns:
        The elements of every small integer tensor of the main graph of which something is known, constants included.
    """
    _forget_names(model.graph)
    _describe_constants(model.graph)
    known = {value: elements for value in model.graph.initializers.values() if (elements := _constant(value))}
    stated = [(output, output.shape) for output in model.graph.outputs]
    names = UnnamedSizes(model.graph) if names_unknown else None
    _infer_nodes(model.graph, model.graph.opset_imports, known, names, is_body=False)
    for output, shape in stated:
        output.shape = shape if keeps_outputs else _with_inferred_sizes(shape, output.shape)
    return known


def _with_inferred_sizes(stated: ir.Shape | None, inferred: ir.Shape | None) -> ir.Shape | None:
    """Return a stated shape with the sizes that are inferred where it has no numbers."""
    import onnx_ir as ir

    if stated is None or inferred is None or len(stated) != len(inferred):
        return stated
    pairs = zip(stated, inferred, strict=True)
    return ir.Shape([found if not isinstance(said, int) and _is_known(found) else said for said, found in pairs])


def _is_known(size: int | ir.SymbolicDim) -> bool:
    return isinstance(size, int) or (size.value is not None and _PREFIX not in size.value)


def _infer_nodes(
    graph: ir.Graph,
    opsets: dict[str, int],
    known: dict[ir.Value, Elements],
    names: UnnamedSizes | None = None,
    *,
    is_body: bool = True,
) -> None:
    def infer_body(body: ir.Graph) -> None:
        constants = {value: elements for value in body.initializers.values() if (elements := _constant(value))}
        _infer_nodes(body, opsets, known | constants)  # a copy: what holds in a body may hold under an assumption

    for node in graph:
        _infer_types(node, opsets)
        infer_bodies(node, infer_body)
        evaluate = EVALUATED.get(node.op_type) if node.domain == "" else None
        elements = evaluate(node, known) if evaluate else None
        if elements is not None and _fit(elements, node.outputs[0]):
            known[node.outputs[0]] = elements
        if not (is_body and node.outputs[0].is_graph_output()):  # what a body hands on is believed as it is stated
            _infer_dynamic_sizes(node, known)
        if names is not None:
            names.name(node)


def _describe_constants(graph: ir.Graph) -> None:
    """Give constants the type and shape of what they hold.

    Constant folding hands a constant the shape of the value that it replaces, which is often unknown.
    """
    import onnx_ir as ir

    for part in (graph, *graph.subgraphs()):
        for value in part.initializers.values():
            if value.const_value is not None and not value.is_graph_input():
                value.dtype, value.shape = value.const_value.dtype, ir.Shape(value.const_value.shape.numpy())


def _fit(elements: Elements, value: ir.Value) -> bool:
    """Whether a tensor of integers or booleans can hold these elements; where it cannot, they overflow."""
    dtype = value.dtype
    numbers = [_LARGEST_DYNAMIC if element.names else element.factor for element in elements if element is not None]
    if dtype is not None and dtype.name == "BOOL":
        return set(numbers) <= {0, 1}
    return dtype is not None and dtype.is_integer() and all(dtype.min <= number <= dtype.max for number in numbers)


def set_sizes(value: ir.Value, sizes: Sequence[Size]) -> None:
    """Give a value its shape."""
    import onnx_ir as ir

    value.shape = ir.Shape([text(size) for size in sizes])


def reshape_target(source: Sequence[Size], sizes: Sequence[Size]) -> list[int] | None:
    """Return the constant target that reshapes ``source`` to ``sizes``, or ``None`` if none does.

    A dynamic size is copied (0) where it stands in the same place before; otherwise it is what is left over (-1). Only
    one can be, and only if none is copied: of a tensor without elements, of a batch of 0 for example, nothing would
    tell what is left over.
    """
    places = enumerate(sizes)
    target = [size.number or (0 if source[place : place + 1] == [size] else -1) for place, size in places]
    open_places = target.count(-1)
    return None if Size(0) in sizes or open_places > 1 or (open_places and 0 in target) else target


def _constant(value: ir.Value) -> Elements | None:
    return elements_of(value.const_value) if value.const_value is not None else None


def _infer_types(node: ir.Node, opsets: dict[str, int]) -> None:
    """Ask ONNX for the outputs of one node; what it does not know stays as it is.

    ``ir.to_proto`` would find out what it is given by asking a dozen protocols, which takes longer than all the rest.
    """
    import onnx
    import onnx_ir as ir

    inputs = [value for value in node.inputs if value is not None]
    if any(value.type is None for value in inputs) or bodies_of(node):
        return
    types = {str(value.name): ir.serde.serialize_value(value).type for value in inputs}
    data = {
        str(value.name): ir.serde.serialize_tensor(value.const_value)
        for value in inputs
        if value.const_value is not None and value.const_value.size <= _MAX_ELEMENTS
    }
    try:
        schema = onnx.defs.get_schema(node.op_type, opsets[node.domain], node.domain)
        imports = [onnx.helper.make_opsetid(domain, version) for domain, version in opsets.items()]
        inferred = onnx.shape_inference.infer_node_outputs(
            schema, ir.serde.serialize_node(node), types, data, None, imports
        )
    except (onnx.defs.SchemaError, onnx.shape_inference.InferenceError, KeyError):
        return
    for value in node.outputs:
        if value.name in inferred:
            _refine(value, inferred[value.name])


def _refine(value: ir.Value, inferred: Any) -> None:
    import onnx_ir as ir

    described = ir.serde.deserialize_type_proto_for_type(inferred)
    shape = ir.serde.deserialize_type_proto_for_shape(inferred)
    value.type = described or value.type
    if shape is not None:
        value.shape = shape


def _infer_dynamic_sizes(node: ir.Node, known: dict[ir.Value, Elements]) -> None:
    """Add what ONNX's inference leaves open for the operations whose output's shape is computed."""
    output = node.outputs[0]
    if node.domain:
        return
    compute = _SIZED.get(node.op_type) or (_elementwise if node.op_type in ELEMENTWISE else None)
    sizes = compute(node, known) if compute is not None else None
    if sizes is not None and all(size is not None for size in sizes):
        set_sizes(output, [size for size in sizes if size is not None])


def _expanded(node: ir.Node, known: Mapping[ir.Value, Elements]) -> Sequence[Size | None] | None:
    source, target = partial_sizes(node.inputs[0]), known.get(node.inputs[1]) if node.inputs[1] else None
    return broadcast(source, target) if source is not None and target is not None else None


def _elementwise(node: ir.Node, _: Mapping[ir.Value, Elements]) -> Sequence[Size | None] | None:
    operands = [partial_sizes(value) for value in node.inputs]
    shapes = [operand for operand in operands if operand is not None]
    return broadcast(*shapes) if len(shapes) == len(operands) and sizes_of(node.outputs[0]) is None else None


def _counted(node: ir.Node, known: Mapping[ir.Value, Elements]) -> Sequence[Size | None] | None:
    first, limit, step = (_whole_number(tensor, known) for tensor in node.inputs)
    if first is None or limit is None or step != ONE or limit.factor < 0:
        return None
    return (limit if first == Size(0) else difference(limit, first) if first.factor > 0 else None,)


def _whole_number(value: ir.Value | None, known: Mapping[ir.Value, Elements]) -> Size | None:
    """Return what a scalar holds; of floats such that are constants, or were an integer: they count lengths exactly."""
    if value is None or value.dtype is None or value.dtype.is_integer():
        return (known.get(value) or (None,))[0] if value is not None else None
    constant, node = value.const_value, value.producer()
    if constant is not None and constant.size == 1:
        number = float(constant.numpy().item())
        return Size(int(number)) if number.is_integer() else None
    counts = value.dtype.name in _COUNTING and node is not None and (node.domain, node.op_type) == ("", "Cast")
    return _whole_number(node.inputs[0], known) if counts and node is not None else None


def _concatenated(node: ir.Node, _: Mapping[ir.Value, Elements]) -> Sequence[Size | None] | None:
    """Return the sizes that ONNX knows, and for the axis that grows the sum of the sizes of the inputs."""
    sizes, parts = partial_sizes(node.outputs[0]), [partial_sizes(value) for value in node.inputs]
    if sizes is None or "axis" not in node.attributes:
        return None
    axis = node.attributes["axis"].as_int() % len(sizes)
    lengths = [part[axis] for part in parts if part is not None and len(part) == len(sizes)]
    known = [length for length in lengths if length is not None]
    if sizes[axis] is None and len(known) == len(parts):
        sizes[axis] = total(known)
    return sizes


def _tiled(node: ir.Node, known: Mapping[ir.Value, Elements]) -> list[Size] | None:
    source, repeats = sizes_of(node.inputs[0]), known.get(node.inputs[1]) if node.inputs[1] else None
    if source is None or repeats is None or None in repeats or len(repeats) != len(source):
        return None
    return [product((size, repeat)) for size, repeat in zip(source, repeats, strict=True) if repeat is not None]


def _sliced(node: ir.Node, known: Mapping[ir.Value, Elements]) -> list[Size | None] | None:
    """Return the sizes after a Slice in steps of one; one whose bounds may lie beyond its axis leaves it unknown."""
    sizes = partial_sizes(node.inputs[0]) if sizes_of(node.outputs[0]) is None else None
    parts = axis_slices(node, known) if sizes is not None else None
    if sizes is None or parts is None or any(part.step != 1 for part in parts):
        return None
    for part in parts:
        size = sizes[part.axis]
        sizes[part.axis] = length_of_slice(size, part.start, part.end) if size is not None else None
    return sizes


def reshaped(source: Sequence[Size] | None, node: ir.Node, known: Mapping[ir.Value, Elements]) -> list[Size] | None:
    """Return the sizes after a Reshape of a tensor of sizes ``source``, if its target determines all but one."""
    target = known.get(node.inputs[1]) if node.inputs[1] else None
    is_literal = node.attributes.get_int("allowzero", 0) == 1
    if source is None or target is None or (is_literal and Size(0) in target):
        return None
    copied = [source[place] if size == Size(0) and place < len(source) else size for place, size in enumerate(target)]
    open_places = [place for place, size in enumerate(copied) if size is None or size == Size(-1)]
    if len(open_places) > 1:
        return None
    sizes = [size for place, size in enumerate(copied) if size is not None and place not in open_places]
    for place in open_places:
        rest = quotient(product(source), product(sizes))
        if rest is None:
            return None
        sizes.insert(place, rest)
    return sizes


_SIZED: dict[str, Callable[[Any, Mapping[Any, Elements]], Sequence[Size | None] | None]] = {
    "Concat": _concatenated,
    "Reshape": lambda node, known: reshaped(sizes_of(node.inputs[0]), node, known),
    "ConstantOfShape": lambda node, known: known.get(node.inputs[0]),
    "Expand": _expanded,
    "Range": _counted,
    "Slice": _sliced,
    "Tile": _tiled,
}
"""What the sizes of an operator's result are computed by, where ONNX leaves them open."""
