"""Shapes of every value, and the elements of small integer tensors that are made of shapes.

ONNX's own inference is asked node by node. It gives up where a dynamic dimension passes through a Reshape, and on
everything behind that; here such sizes are computed as products of names (:mod:`irbench.onnx.sizes`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from irbench.onnx.sizes import ONE, Size, parse, product, quotient, sizes_of, text

if TYPE_CHECKING:
    import onnx_ir as ir

__all__ = ["Elements", "infer", "reshape_target", "reshaped", "set_sizes"]

Elements = tuple[Size | None, ...]
"""What is known of the elements of an integer tensor with at most one axis."""

_MAX_ELEMENTS = 64
"""Shapes and axes are shorter; longer constants are weights, which no shape depends on."""

_LARGEST_DYNAMIC = 2**31 - 1
"""The largest value a dynamic size is assumed to have."""


def infer(model: ir.Model) -> dict[ir.Value, Elements]:
    """Write types and shapes onto the values of the main graph.

    Returns:
        The elements of every small integer tensor of which something is known, constants included.
    """
    known = {value: elements for value in model.graph.initializers.values() if (elements := _constant(value))}
    for node in model.graph:
        _infer_types(node, model.graph.opset_imports)
        evaluate = _EVALUATED.get(node.op_type) if node.domain == "" else None
        elements = evaluate(node, known) if evaluate else None
        if elements is not None and _fit(elements, node.outputs[0]):
            known[node.outputs[0]] = elements
        _infer_dynamic_sizes(node, known)
    return known


def _fit(elements: Elements, value: ir.Value) -> bool:
    """Whether an integer tensor can hold these elements; where it cannot, they overflow."""
    dtype = value.dtype
    numbers = [_LARGEST_DYNAMIC if element.names else element.factor for element in elements if element is not None]
    return dtype is not None and dtype.is_integer() and all(dtype.min <= number <= dtype.max for number in numbers)


def set_sizes(value: ir.Value, sizes: Sequence[Size]) -> None:
    """Give a value its shape."""
    import onnx_ir as ir

    value.shape = ir.Shape([text(size) for size in sizes])


def reshape_target(source: Sequence[Size], sizes: Sequence[Size]) -> list[int] | None:
    """Return the constant target that reshapes ``source`` to ``sizes``, or ``None`` if two dynamic sizes remain.

    A dynamic size is copied (0) where it stands in the same place before; otherwise it is what is left over (-1).
    """
    places = enumerate(sizes)
    target = [size.number or (0 if source[place : place + 1] == [size] else -1) for place, size in places]
    return None if target.count(-1) > 1 or Size(0) in sizes else target


def _constant(value: ir.Value) -> Elements | None:
    constant = value.const_value
    if constant is None or len(constant.shape) > 1 or constant.size > _MAX_ELEMENTS or not constant.dtype.is_integer():
        return None
    return tuple(Size(int(number)) for number in constant.numpy().reshape(-1))


def _infer_types(node: ir.Node, opsets: dict[str, int]) -> None:
    """Ask ONNX for the outputs of one node; what it does not know stays as it is.

    ``ir.to_proto`` would find out what it is given by asking a dozen protocols, which takes longer than all the rest.
    """
    import onnx
    import onnx_ir as ir

    inputs = [value for value in node.inputs if value is not None]
    if any(value.type is None for value in inputs) or any(
        _is_graph(attribute) for attribute in node.attributes.values()
    ):
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
    if shape is not None and not value.is_graph_output():
        value.shape = shape


def _is_graph(attribute: ir.Attr) -> bool:
    return attribute.type.name in ("GRAPH", "GRAPHS")


def _infer_dynamic_sizes(node: ir.Node, known: dict[ir.Value, Elements]) -> None:
    """Add what ONNX's inference leaves open for the operations whose output's shape is computed."""
    output = node.outputs[0]
    if node.domain or output.is_graph_output():
        return
    sizes: Sequence[Size | None] | None = None
    if node.op_type == "Reshape":
        sizes = reshaped(sizes_of(node.inputs[0]), node, known)
    elif node.op_type == "ConstantOfShape" or (node.op_type == "Expand" and sizes_of(node.inputs[0]) == []):
        sizes = known.get(node.inputs[-1]) if node.inputs[-1] else None
    elif node.op_type == "Range":
        first, limit, step = ((known.get(tensor) or (None,))[0] if tensor else None for tensor in node.inputs)
        sizes = (limit,) if first == Size(0) and step == ONE else None
    if sizes is not None and all(size is not None for size in sizes):
        set_sizes(output, [size for size in sizes if size is not None])


def reshaped(source: Sequence[Size] | None, node: ir.Node, known: Mapping[ir.Value, Elements]) -> list[Size] | None:
    """Return the sizes after a Reshape of a tensor of sizes ``source``, if its target determines all but one."""
    target = known.get(node.inputs[1]) if node.inputs[1] else None
    if source is None or target is None or "allowzero" in node.attributes:
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


def _shape(node: ir.Node, _: dict[ir.Value, Elements]) -> Elements | None:
    source = node.inputs[0]
    if source is None or source.shape is None:
        return None
    start, end = (int(node.attributes[name].as_int()) if name in node.attributes else None for name in ("start", "end"))
    dimensions = [size if isinstance(size, int) else size.value for size in source.shape]
    return tuple(None if dimension is None else parse(dimension) for dimension in dimensions[start:end])


def _same(node: ir.Node, known: dict[ir.Value, Elements]) -> Elements | None:
    source = node.inputs[0]
    return known.get(source) if source is not None and _is_scalar_or_vector(node.outputs[0]) else None


def _is_scalar_or_vector(value: ir.Value | None) -> bool:
    return value is not None and value.shape is not None and len(value.shape) <= 1


def _gather(node: ir.Node, known: dict[ir.Value, Elements]) -> Elements | None:
    source, places = (known.get(tensor) if tensor else None for tensor in node.inputs)
    if source is None or places is None:
        return None
    numbers = [place.number if place is not None else None for place in places]
    if any(number is None or not -len(source) <= number < len(source) for number in numbers):
        return None
    return tuple(source[number] for number in numbers if number is not None)


def _slice(node: ir.Node, known: dict[ir.Value, Elements]) -> Elements | None:
    source, *bounds = (known.get(tensor) if tensor else None for tensor in node.inputs)
    numbers = [bound[0].number if bound and bound[0] is not None else None for bound in bounds]
    if source is None or any(number is None for number in (*numbers[:2], *numbers[3:])):
        return None
    return source[numbers[0] : numbers[1] : numbers[3] if len(numbers) > 3 else 1]


def _concat(node: ir.Node, known: dict[ir.Value, Elements]) -> Elements | None:
    parts = [known.get(tensor) if tensor else None for tensor in node.inputs]
    return None if None in parts else tuple(element for part in parts for element in part or ())


def _reduce_product(node: ir.Node, known: dict[ir.Value, Elements]) -> Elements | None:
    source, *axes = (known.get(tensor) if tensor else () for tensor in node.inputs)
    if not axes and node.attributes.get_int("noop_with_empty_axes", 0) == 1:
        return source
    if source is None or None in source or axes not in ([], [(Size(0),)]) or not _is_scalar_or_vector(node.inputs[0]):
        return None
    return (product(size for size in source if size is not None),)


def _pairwise(compute: Callable[[Size, Size], Size | None]) -> Callable[..., Elements | None]:
    def evaluate(node: ir.Node, known: dict[ir.Value, Elements]) -> Elements | None:
        operands = [known.get(tensor) if tensor else None for tensor in node.inputs]
        left, right = operands if len(operands) == 2 else (None, None)
        if not left or not right:
            return None
        length = max(len(left), len(right))
        pairs = zip(left * (length // len(left)), right * (length // len(right)), strict=True)
        return tuple(
            compute(first, second) if first is not None and second is not None else None for first, second in pairs
        )

    return evaluate


def _larger(first: Size, second: Size) -> Size | None:
    if first == second:
        return first
    return None if first.names or second.names else Size(max(first.factor, second.factor))


_EVALUATED: dict[str, Callable[[Any, dict[Any, Elements]], Elements | None]] = {
    "Shape": _shape,
    "Cast": _same,
    "Identity": _same,
    "Squeeze": _same,
    "Unsqueeze": _same,
    "Gather": _gather,
    "Slice": _slice,
    "Concat": _concat,
    "ReduceProd": _reduce_product,
    "Mul": _pairwise(lambda first, second: product((first, second))),
    "Max": _pairwise(_larger),
}
