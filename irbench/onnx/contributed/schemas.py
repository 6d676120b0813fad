"""Contributed operators: the shapes of their outputs, and their schemas, registered with ONNX while they are needed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import zip_longest
from typing import TYPE_CHECKING, Any, TypeAlias

from irbench.onnx.contributed.attention import ATTENTION
from irbench.onnx.contributed.context import Dimension, NodeTypes, ShapeRule, ShapeRules, Sizes, UnknownInputType

if TYPE_CHECKING:
    import onnx

_MS = "com.microsoft"
_SAME = """
    BiasAdd BiasGelu BiasSoftmax FastGelu Gelu GemmaRotaryEmbedding GroupNorm MoE QLinearLeakyRelu QLinearSigmoid
    QLinearSoftmax QMoE QOrderedGelu QuickGelu RotaryEmbedding ScaledSiLU Trilu
"""
"""What has the type of its first input."""


def broadcast(*shapes: Sizes) -> list[Dimension]:
    """Return the shape that several shapes are stretched to, aligned at their last axes."""
    turned = zip_longest(*(list(reversed(shape)) for shape in shapes), fillvalue=1)
    return [_common(sizes) for sizes in turned][::-1]


def _common(sizes: tuple[Dimension, ...]) -> Dimension:
    """Return the one size that is not 1; the size is unknown where several might be it."""
    others = {size for size in sizes if size != 1}
    return 1 if not others else next(iter(others)) if len(others) == 1 else None


def _like(*outputs: int, dtype_of: int = 0) -> ShapeRule:

    def infer(node: NodeTypes) -> None:
        for place in outputs:
            node.set_output(place, node.dtype(dtype_of), node.shape(0))

    return infer


def _quantised(node: NodeTypes) -> None:
    from onnx import TensorProto

    dtype = node.dtype(2) if node.has_input(2) else TensorProto.UINT8
    node.set_output(0, dtype, node.shape(0))


def _broadcast(first: int, second: int) -> ShapeRule:
    def infer(node: NodeTypes) -> None:
        node.set_output(0, node.dtype(first), broadcast(node.shape(first), node.shape(second)))

    return infer


def _split_in_halves(node: NodeTypes) -> None:
    *leading, width = node.shape(0)
    node.set_output(0, node.dtype(0), [*leading, width // 2 if isinstance(width, int) else None])


def _embedding(node: NodeTypes) -> None:
    """Infer the sum of embeddings that is normalised, the lengths of the sequences, and the sum itself."""
    from onnx import TensorProto

    words, dtype = node.shape(2), node.dtype(2)
    tokens = node.shape(0)
    embedded = [*tokens, words[1]]
    node.set_output(0, dtype, embedded)
    node.set_output(1, TensorProto.INT32, tokens[:1])
    node.set_output(2, dtype, embedded)


def _concatenated(node: NodeTypes) -> None:
    """Infer what is joined: behind a scale and a zero point, each tensor with its own."""
    shapes = [node.shape(place) for place in range(2, node.inputs(), 3)]
    axis = int(node.attribute("axis", 1))
    if not shapes or not -len(shapes[0]) <= axis < len(shapes[0]):
        raise UnknownInputType
    total: Dimension = 0
    for shape in shapes:
        size = shape[axis]
        total = total + size if isinstance(total, int) and isinstance(size, int) else None
    joined = list(shapes[0])
    joined[axis] = total
    node.set_output(0, node.dtype(2), joined)


ELEMENTWISE: ShapeRules = {
    **{(_MS, name): _like(0) for name in _SAME.split()},
    ("", "SimplifiedLayerNormalization"): _like(0),
    (_MS, "BiasSplitGelu"): _split_in_halves,
    (_MS, "DequantizeLinear"): _like(0, dtype_of=1),
    (_MS, "EmbedLayerNormalization"): _embedding,
    (_MS, "QLinearAdd"): _broadcast(0, 3),
    (_MS, "QLinearConcat"): _concatenated,
    (_MS, "QLinearMul"): _broadcast(0, 3),
    (_MS, "QuantizeLinear"): _quantised,
    (_MS, "SimplifiedLayerNormalization"): _like(0),
    (_MS, "SkipGroupNorm"): _like(0, 1),
    (_MS, "SkipLayerNormalization"): _like(0, 3),
    (_MS, "SkipSimplifiedLayerNormalization"): _like(0, 3),
}


_MS, _BLOCKED = "com.microsoft", "com.microsoft.nchwc"


def _convolution(weight: int = 1, dtype_of: int = 0, *, channels_last: bool = False) -> ShapeRule:

    def infer(node: NodeTypes) -> None:
        kernel_shape = node.shape(weight)
        kernel = node.attribute("kernel_shape", None) or kernel_shape[2:]
        last = channels_last or bool(node.attribute("channels_last", 0))
        _set_windowed(node, kernel, kernel_shape[0], dtype_of=dtype_of, last=last)

    return infer


def _pool(*, channels_last: bool = False) -> ShapeRule:
    def infer(node: NodeTypes) -> None:
        last = channels_last or bool(node.attribute("channels_last", 0))
        channels = node.shape(0)[-1 if last else 1]
        _set_windowed(node, node.attribute("kernel_shape", ()), channels, dtype_of=0, last=last)

    return infer


def _global_pool(node: NodeTypes) -> None:
    shape = node.shape(0)
    last = bool(node.attribute("channels_last", 0))
    ones: list[Dimension] = [1] * (len(shape) - 2)
    node.set_output(0, node.dtype(0), [shape[0], *ones, shape[-1]] if last else [*shape[:2], *ones])


def _set_windowed(
    node: NodeTypes, kernel: Sequence[Dimension], channels: Dimension, *, dtype_of: int, last: bool
) -> None:
    shape = node.shape(0)
    spatial = shape[1:-1] if last else shape[2:]
    if len(kernel) != len(spatial):
        raise UnknownInputType
    sizes = [_windows(node, axis, size, kernel[axis]) for axis, size in enumerate(spatial)]
    result = [shape[0], *sizes, channels] if last else [shape[0], channels, *sizes]
    node.set_output(0, node.dtype(dtype_of), result)


def _windows(node: NodeTypes, axis: int, size: Dimension, kernel: Dimension) -> Dimension:
    if not isinstance(size, int) or not isinstance(kernel, int):
        return None
    stride = _of_axis(node, "strides", axis, 1)
    padding = node.attribute("auto_pad", "NOTSET")
    if padding.startswith("SAME"):
        return -(-size // stride)
    reach = (kernel - 1) * _of_axis(node, "dilations", axis, 1) + 1
    pads = node.attribute("pads", ()) if padding == "NOTSET" else ()
    added = pads[axis] + pads[axis + len(pads) // 2] if pads else 0
    rest = size + added - reach
    if rest < 0:
        raise UnknownInputType
    return (-(-rest // stride) if node.attribute("ceil_mode", 0) else rest // stride) + 1


def _of_axis(node: NodeTypes, name: str, axis: int, default: int) -> int:
    values = node.attribute(name, ())
    return int(values[axis]) if axis < len(values) else default


def _into_blocks(node: NodeTypes) -> None:
    """Infer a tensor in blocks of channels: its axes are written in ONNX's order."""
    shape = node.shape(0)
    turned = [shape[0], shape[-1], *shape[1:-1]] if node.attribute("channels_last", 0) else shape
    node.set_output(0, node.dtype(0), turned)


def _out_of_blocks(node: NodeTypes) -> None:
    """Infer a tensor without the channels that filled its last block."""
    batch, channels, *spatial = node.shape(0)
    kept = int(node.attribute("channels", 0)) or channels
    last = bool(node.attribute("channels_last", 0))
    node.set_output(0, node.dtype(0), [batch, *spatial, kept] if last else [batch, kept, *spatial])


def _upsampled(node: NodeTypes) -> None:
    scales = node.attribute("scales", ())
    sizes = node.shape(0)
    if len(scales) != len(sizes):
        raise UnknownInputType
    pairs = zip(sizes, scales, strict=True)
    node.set_output(0, node.dtype(0), [size * int(scale) if isinstance(size, int) else None for size, scale in pairs])


CONVOLUTIONS: ShapeRules = {
    (_BLOCKED, "AveragePool"): _pool(),
    (_BLOCKED, "Conv"): _convolution(),
    (_BLOCKED, "GlobalAveragePool"): _global_pool,
    (_BLOCKED, "GlobalMaxPool"): _global_pool,
    (_BLOCKED, "MaxPool"): _pool(),
    (_BLOCKED, "ReorderInput"): _into_blocks,
    (_BLOCKED, "ReorderOutput"): _out_of_blocks,
    (_BLOCKED, "Upsample"): _upsampled,
    (_MS, "FusedConv"): _convolution(),
    (_MS, "NhwcConv"): _convolution(channels_last=True),
    (_MS, "NhwcFusedConv"): _convolution(channels_last=True),
    (_MS, "NhwcMaxPool"): _pool(channels_last=True),
    (_MS, "QLinearAveragePool"): _pool(),
    (_MS, "QLinearConv"): _convolution(weight=3),
    (_MS, "QLinearGlobalAveragePool"): _global_pool,
}


def _product(dtype_of: int = 0) -> ShapeRule:

    def infer(node: NodeTypes) -> None:
        first, second = node.shape(0), node.shape(1)
        if node.attribute("transBatchA", 0) or node.attribute("transBatchB", 0) or min(len(first), len(second)) < 2:
            raise UnknownInputType
        rows = first[-1] if node.attribute("transA", 0) else first[-2]
        columns = second[-2] if node.attribute("transB", 0) else second[-1]
        node.set_output(0, node.dtype(dtype_of), [*broadcast(first[:-2], second[:-2]), rows, columns])

    return infer


def _integer_product(node: NodeTypes) -> None:
    from onnx import TensorProto

    first, second = node.shape(0), node.shape(1)
    node.set_output(0, TensorProto.INT32, [*broadcast(first[:-2], second[:-2]), first[-2], second[-1]])


def _quantised_gemm(node: NodeTypes) -> None:
    """Infer integers where the output has a zero point, and floating point where it has none."""
    first, second = node.shape(0), node.shape(3)
    rows = first[1] if node.attribute("transA", 0) else first[0]
    columns = second[0] if node.attribute("transB", 0) else second[1]
    node.set_output(0, node.dtype(8 if node.has_input(8) else 1), [rows, columns])


def _packed_weights(node: NodeTypes) -> None:
    columns = int(node.attribute("N", 0))
    if not columns:
        raise UnknownInputType
    node.set_output(0, node.dtype(0), [*node.shape(0)[:-1], columns])


def _dynamically_quantised_lstm(node: NodeTypes) -> None:
    steps, batch, _ = node.shape(0)
    directions: Dimension
    directions, hidden, _ = node.shape(2)
    dtype = node.dtype(0)
    node.set_output(0, dtype, [steps, directions, batch, hidden])
    node.set_output(1, dtype, [directions, batch, hidden])
    node.set_output(2, dtype, [directions, batch, hidden])


PRODUCTS: ShapeRules = {
    (_MS, "DynamicQuantizeLSTM"): _dynamically_quantised_lstm,
    (_MS, "DynamicQuantizeMatMul"): _product(),
    (_MS, "FusedGemm"): _product(),
    (_MS, "FusedMatMul"): _product(),
    (_MS, "FusedMatMulActivation"): _product(),
    (_MS, "GemmFastGelu"): _product(),
    (_MS, "MatMulBnb4"): _packed_weights,
    (_MS, "MatMulInteger16"): _integer_product,
    (_MS, "MatMulIntegerToFloat"): _product(dtype_of=2),
    (_MS, "MatMulNBits"): _packed_weights,
    (_MS, "QGemm"): _quantised_gemm,
    (_MS, "TransposeMatMul"): _product(),
}


SHAPE_RULES: ShapeRules = {**ATTENTION, **CONVOLUTIONS, **ELEMENTWISE, **PRODUCTS}
_VERSION = 1
"""Of every domain that ONNX Runtime adds."""

_Operator: TypeAlias = tuple[str, str]
"""Its domain and its type."""
_Attributes: TypeAlias = dict[_Operator, dict[str, int]]


@contextmanager
def contributed_schemas(model: onnx.ModelProto) -> Iterator[None]:
    """Let ONNX infer the shapes of those operators of a model that it does not know, while the context lasts.

    The schemas are withdrawn afterwards: ONNX's checker must not take them for complete.
    """
    from onnx import defs

    registered: list[_Operator] = []
    try:
        for operator, attributes in sorted(_used(model.graph).items()):
            if not defs.has(operator[1], operator[0]):
                defs.register_schema(_schema(operator, attributes))
                registered.append(operator)
        yield
    finally:
        for domain, name in registered:
            defs.deregister_schema(name, _VERSION, domain)


def _used(graph: onnx.GraphProto) -> _Attributes:
    operators: _Attributes = {}
    for node in graph.node:
        operator = node.domain, node.op_type
        if operator in SHAPE_RULES:
            operators.setdefault(operator, {}).update({attribute.name: attribute.type for attribute in node.attribute})
        for body in (attribute.g for attribute in node.attribute if attribute.HasField("g")):
            for inner, attributes in _used(body).items():
                operators.setdefault(inner, {}).update(attributes)
    return operators


def _schema(operator: _Operator, attributes: Mapping[str, int]) -> Any:
    """Return a schema that takes and makes any tensors; only its shape inference matters."""
    from onnx import defs

    schema: Any = defs.OpSchema
    every = _tensor_types()
    option = schema.FormalParameterOption.Variadic

    def anything(parameter: str, kind: str) -> Any:
        return schema.FormalParameter(parameter, kind, param_option=option, is_homogeneous=False, min_arity=0)

    domain, name = operator
    created = schema(
        name,
        domain,
        _VERSION,
        inputs=[anything("inputs", "I")],
        outputs=[anything("outputs", "O")],
        type_constraints=[("I", every, ""), ("O", every, "")],
        attributes=[
            schema.Attribute(attribute, schema.AttrType(kind), required=False) for attribute, kind in attributes.items()
        ],
    )
    created.set_type_and_shape_inference_function(_guarded(SHAPE_RULES[operator]))
    return created


def _tensor_types() -> list[str]:
    names = "float double float16 bfloat16 int8 int16 int32 int64 uint8 uint16 uint32 uint64 bool string int4 uint4"
    return [f"tensor({name})" for name in names.split()]


def _guarded(rule: ShapeRule) -> Callable[[Any], None]:
    """Return what ONNX calls; where the rule knows too little, the outputs stay unknown."""

    def infer(context: Any) -> None:
        try:
            rule(NodeTypes(context))
        except (LookupError, ValueError, TypeError, ZeroDivisionError):  # sizes that no such operator can have
            return

    return infer
