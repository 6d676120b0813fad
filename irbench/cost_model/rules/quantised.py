"""Quantised operators: the arithmetic on integers, and what makes integers of its results; and recurrent operators.

Dequantising takes 2 operations for each element, a subtraction and a product; quantising 3, a division, a rounding and
a sum.
"""

from __future__ import annotations

from math import prod
from typing import NamedTuple

from irbench.cost_model.known_tensors import NodeView, Rule, Rules, Work
from irbench.cost_model.rules.elementwise import SIGMOID, per_output
from irbench.cost_model.rules.normalisation import SOFTMAX, window
from irbench.cost_model.rules.products import convolution, dense_macs

_DEQUANTISE, _QUANTISE = 2, 3
_QUANTISE_DYNAMICALLY = 5
"""The smallest and the largest element are found first."""


def _requantised(rule: Rule) -> Rule:
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


class _Cell(NamedTuple):
    """One step, for each element of the state.

    Attributes:
        operations: Operations besides them, by ONNX's default activations and without biases.
    """

    gates: int
    operations: int


_LSTM = _Cell(gates=4, operations=3 * SIGMOID + 2 + 3 + 1)
"""Three sigmoids, two tanh, two products and a sum for the cell, a product for the output."""
_GRU = _Cell(gates=3, operations=2 * SIGMOID + 1 + 1 + 4)
"""Two sigmoids, a tanh, a product with the reset gate, and 1 - z, two products and a sum."""
_RNN = _Cell(gates=1, operations=1)


def _recurrence(cell: _Cell, hidden_axis: int = -1) -> Rule:
    """Return the rule of a recurrence; every step of every sequence counts, whatever their lengths are."""

    def count(node: NodeView) -> Work:
        steps = prod(node.input_shape(0)[:2])  # in either layout the first two axes are steps and samples
        weights, recurrent = node.input_shape(1), node.input_shape(2)
        states = recurrent[0] * recurrent[hidden_axis]
        biases = 2 * cell.gates if node.has_input(3) else 0
        peepholes = 6 if node.has_input(7) and cell is _LSTM and node.node.op_type == "LSTM" else 0
        macs = steps * (prod(weights) + prod(recurrent))
        return Work(macs, steps * states * (cell.operations + biases + peepholes))

    return count


RECURRENT: Rules = {
    "DynamicQuantizeLSTM": _recurrence(_LSTM, hidden_axis=1),
    "GRU": _recurrence(_GRU),
    "LSTM": _recurrence(_LSTM),
    "RNN": _recurrence(_RNN),
}
