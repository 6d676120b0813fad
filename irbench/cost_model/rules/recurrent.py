"""Recurrent operators: the products of inputs and states with their weights in each step, and the gates."""

from __future__ import annotations

from math import prod
from typing import NamedTuple

from irbench.cost_model.rules.elementwise import SIGMOID
from irbench.cost_model.tensors import NodeView
from irbench.cost_model.work import Rule, Rules, Work


class _Cell(NamedTuple):
    """One step, for each element of the state.

    Attributes:
        gates: How many products with weights it takes.
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
