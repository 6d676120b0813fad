"""Operators that compute each element of the output from one element of each input, and those that move data."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod

from irbench.cost_model.known_tensors import NodeView, Rule, Rules, Work
from irbench.onnx.operator_classes import OPERATORS, OperatorClass

SIGMOID = 4
"""Negate, exp, add, divide."""
SILU = SIGMOID + 1
GELU_BY_ERF = 5
"""Divide, erf, add, and two products."""
GELU_BY_TANH = 9
"""A cube of two products, scale, add, scale, tanh, add, and two products."""

_ONE = """
    Abs Acos Acosh Add And Asin Asinh Atan Atanh Binarizer BitShift BitwiseAnd BitwiseNot BitwiseOr BitwiseXor Ceil Cos
    Cosh Div Equal Erf Exp Floor Greater GreaterOrEqual Imputer IsInf IsNaN Less LessOrEqual Log Mod Mul MulInteger Neg
    Not Or Pow Reciprocal Relu Round Scale Sign Sin Sinh Sqrt Sub Tan Tanh ThresholdedRelu Where Xor
"""
"""Arithmetic, comparisons and logic, and functions that are evaluated once."""

_SEVERAL: Mapping[str, int] = {
    "Affine": 2,
    "BiasAdd": 2,
    "BiasDropout": 1,
    "BiasGelu": 1 + GELU_BY_ERF,
    "BiasSplitGelu": 2 + GELU_BY_ERF + 1,
    "BitmaskBiasDropout": 1,
    "BitmaskDropout": 0,
    "Celu": 5,
    "ComplexMul": 3,
    "ComplexMulConj": 3,
    "Dropout": 0,
    "Elu": 4,
    "GemmaRotaryEmbedding": 3,
    "HardSigmoid": 4,
    "HardSwish": 5,
    "ImageScaler": 2,
    "LeakyRelu": 2,
    "MRotaryEmbedding": 3,
    "Mish": 5,
    "PRelu": 2,
    "ParametricSoftplus": 5,
    "QuickGelu": 1 + SILU,
    "RotaryEmbedding": 3,
    "ScaledSiLU": 1 + SILU,
    "ScaledTanh": 3,
    "Scaler": 2,
    "Selu": 5,
    "Shrink": 2,
    "Sigmoid": SIGMOID,
    "Softplus": 3,
    "Softsign": 3,
    "SwiGLU": SILU + 1,
    "Swish": SILU,
    "Trilu": 0,
}
"""Operations for each element of the output, where they are not one."""

_ACTIVATIONS: Mapping[str, int] = {
    "": 0, "Clip": 2, "Gelu": GELU_BY_ERF, "HardSigmoid": 4, "HardSwish": 5, "LeakyRelu": 2, "Relu": 1,
    "Sigmoid": SIGMOID, "Tanh": 1,
}  # fmt: skip


def activation_operations(name: str) -> int:
    """Return the operations for each element of an activation that is fused into another operator."""
    return _ACTIVATIONS.get(name, 1)


def per_output(operations: int) -> Rule:
    """Return a rule that counts so many operations for each element of the first output."""

    def count(node: NodeView) -> Work:
        return Work(0, operations * node.output_elements() if operations else 0)

    return count


def _between_inputs(further: int = 0) -> Rule:
    """Return a rule for what combines any number of inputs, two at a time."""

    def count(node: NodeView) -> Work:
        return Work(0, (len(node.node.input) - 1 + further) * node.output_elements())

    return count


def _clip(node: NodeView) -> Work:
    limits = (node.has_input(1) or node.attribute("min", None) is not None) + (
        node.has_input(2) or node.attribute("max", None) is not None
    )
    return Work(0, limits * node.output_elements())


def _gelu(node: NodeView) -> Work:
    by_tanh = node.node.op_type == "FastGelu" or node.attribute("approximate", "none") == "tanh"
    operations = GELU_BY_TANH if by_tanh else GELU_BY_ERF
    return Work(0, (operations + node.has_input(1)) * node.output_elements())


def _affine_grid(node: NodeView) -> Work:
    """Count a product with the row of a matrix for each coordinate."""
    *_, coordinates = shape = node.output_shape()
    return Work(prod(shape) * (coordinates + 1))


ELEMENTWISE: Rules = {
    **{name: per_output(1) for name in _ONE.split()},
    **{name: per_output(operations) for name, operations in _SEVERAL.items()},
    "AffineGrid": _affine_grid,
    "Clip": _clip,
    "FastGelu": _gelu,
    "Gelu": _gelu,
    "Max": _between_inputs(),
    "Mean": _between_inputs(further=1),
    "Min": _between_inputs(),
    "Sum": _between_inputs(),
}


_NEIGHBOURS = {"linear": 2, "bilinear": 2, "cubic": 4, "bicubic": 4}
"""How many neighbours along an axis are combined."""


def _nothing(_: NodeView) -> Work:
    return Work()


def _resize(node: NodeView) -> Work:
    """Count the products and sums of the neighbours along every axis whose size changes."""
    neighbours = _NEIGHBOURS.get(str(node.attribute("mode", "nearest")))
    if neighbours is None:
        return Work()
    before, after = node.input_shape(0), node.output_shape()
    axes = sum(old != new for old, new in zip(before, after, strict=True))
    return _interpolated(node, neighbours**axes) if axes else Work()


def _grid_sample(node: NodeView) -> Work:
    """Count the neighbours of each place, whose coordinates are inputs."""
    neighbours = _NEIGHBOURS.get(str(node.attribute("mode", "linear")))
    return Work() if neighbours is None else _interpolated(node, neighbours ** (len(node.input_shape(0)) - 2))


def _crop_and_resize(node: NodeView) -> Work:
    return _interpolated(node, 4) if node.attribute("mode", "bilinear") == "bilinear" else Work()


def _interpolated(node: NodeView, neighbours: int) -> Work:
    return Work(0, (2 * neighbours - 1) * node.output_elements())


def _scatter(node: NodeView) -> Work:
    combines = node.attribute("reduction", "none") != "none"
    return Work(0, node.input_elements(2) if combines else 0)


MOVEMENT: Rules = {
    **{name: _nothing for name, operators in OPERATORS.items() if operators is OperatorClass.MOVEMENT},
    "CropAndResize": _crop_and_resize,
    "GridSample": _grid_sample,
    "MultilevelCropAndResize_TRT": _crop_and_resize,
    "Resize": _resize,
    "ScatterElements": _scatter,
    "ScatterND": _scatter,
    "Upsample": _resize,
}
