"""Shapes of what computes element by element, normalises, or embeds."""

from __future__ import annotations

from itertools import zip_longest

from irbench.onnx.contributed.context import Dimension, NodeTypes, ShapeRule, ShapeRules, Sizes, UnknownInputType

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
    """Return the rule that outputs have the shape of the first input."""

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
