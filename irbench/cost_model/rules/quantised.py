"""Quantised operators: the arithmetic on integers, and what makes integers of its results.

Dequantising takes 2 operations for each element, a subtraction and a product; quantising 3, a division, a rounding and
a sum.
"""

from __future__ import annotations

from math import prod

from irbench.cost_model.rules.convolutions import convolution
from irbench.cost_model.rules.elementwise import SIGMOID, per_output
from irbench.cost_model.rules.normalisation import SOFTMAX
from irbench.cost_model.rules.products import dense_macs
from irbench.cost_model.rules.reductions import window
from irbench.cost_model.tensors import NodeView
from irbench.cost_model.work import Rule, Rules, Work

_DEQUANTISE, _QUANTISE = 2, 3
_QUANTISE_DYNAMICALLY = 5
"""The smallest and the largest element are found first."""


def _requantised(rule: Rule) -> Rule:
    """Add what makes integers of the outputs of a product."""

    def count(node: NodeView) -> Work:
        macs, others = rule(node)
        return Work(macs, others + _QUANTISE * node.output_elements())

    return count


def _on_floats(operations: int, inputs: int = 1) -> Rule:
    """Return a rule for what is computed in floating point, between dequantised inputs and quantised outputs."""
    return per_output(operations + inputs * _DEQUANTISE + _QUANTISE)


def _product(node: NodeView) -> Work:
    return Work(node.output_elements() * node.input_shape(0)[-1])


def _gemm(node: NodeView) -> Work:
    return Work(dense_macs(node), node.output_elements() if node.has_input(6) else 0)


def _product_to_float(node: NodeView) -> Work:
    macs, _ = _product(node)
    return Work(macs, node.output_elements() * (_DEQUANTISE + node.has_input(6)))


def _product_of_floats(node: NodeView) -> Work:
    macs, _ = _product(node)
    quantised = _QUANTISE_DYNAMICALLY * node.input_elements()
    return Work(macs, quantised + node.output_elements() * (_DEQUANTISE + node.has_input(4)))


def _average_pool(node: NodeView) -> Work:
    _, others = window(1)(node)
    return Work(0, others + (_DEQUANTISE + _QUANTISE) * node.output_elements())


def _global_pool(node: NodeView) -> Work:
    return Work(0, node.input_elements() + (_DEQUANTISE + _QUANTISE) * node.output_elements())


def _transposed_convolution(node: NodeView) -> Work:
    return Work(node.input_elements() * prod(node.input_shape(3)[1:]))


QUANTISED: Rules = {
    "DequantizeLinear": per_output(_DEQUANTISE),
    "DynamicQuantizeLinear": per_output(_QUANTISE_DYNAMICALLY),
    "DynamicQuantizeMatMul": _product_of_floats,
    "GatherBlockQuantized": per_output(_DEQUANTISE),
    "MatMulIntegerToFloat": _product_to_float,
    "QGemm": _requantised(_gemm),
    "QLinearAdd": _on_floats(1, inputs=2),
    "QLinearAveragePool": _average_pool,
    "QLinearConcat": _on_floats(0),
    "QLinearConv": _requantised(convolution(weight=3, bias=8)),
    "QLinearConvTranspose": _requantised(_transposed_convolution),
    "QLinearGlobalAveragePool": _global_pool,
    "QLinearLeakyRelu": _on_floats(2),
    "QLinearMatMul": _requantised(_product),
    "QLinearMul": _on_floats(1, inputs=2),
    "QLinearReduceMean": _global_pool,
    "QLinearSigmoid": _on_floats(SIGMOID),
    "QLinearSoftmax": _on_floats(SOFTMAX),
    "QLinearWhere": _on_floats(1, inputs=2),
    "QuantizeLinear": per_output(_QUANTISE),
}
