"""Give each normalisation of a value its own mean and variance where several share them.

Blocks that run side by side normalise the same value, each with a scale and bias of its own; exporters and
``remove_redundant`` then compute mean and variance once. A fusion asks that nobody else reads what it replaces.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from irbench.optimizer.rewrite.edit import insert, is_node, weight
from irbench.optimizer.rewrite.normalized_axes import last_axes

if TYPE_CHECKING:
    import onnx_ir as ir


def unshare_moments(model: ir.Model) -> bool:
    """Copy what computes the reciprocal of a standard deviation for each constant that it is multiplied with.

    Returns:
        Whether something was copied.
    """
    inverses = [node for node in model.graph if is_node(node.outputs[0], "Reciprocal")]
    return sum([_unshare(node) for node in inverses]) > 0


def _unshare(inverse: ir.Node) -> bool:
    chain, factors = _moments(inverse), [use.node for use in inverse.outputs[0].uses()]
    if not chain or len(factors) < 2 or inverse.outputs[0].is_graph_output():
        return False
    if not all(_is_scaled(factor) and factor.graph is inverse.graph for factor in factors):
        return False
    for factor in factors[1:]:
        copies = _copies(chain, factor)
        for node in (factor, *[use.node for use in factor.outputs[0].uses()]):
            for place, value in enumerate(node.inputs):
                if value in copies:
                    node.replace_input_with(place, copies[value])
    return True


def _is_scaled(factor: ir.Node) -> bool:
    return is_node(factor.outputs[0], "Mul") and any(weight(value) is not None for value in factor.inputs)


def _moments(inverse: ir.Node) -> list[ir.Node]:
    """Return what computes 1 / sqrt(mean(d * d) + epsilon), d = x or x - mean(x), in order; none if it is nothing such.

    The mean is over the last axes. Its negative is part of what is returned.
    """
    found = [inverse]
    for operation in ("Sqrt", "Add", "ReduceMean", "Mul", "Sub"):
        node = _producer(found[-1], operation)
        if node is None and not (operation == "Sub" and len(found) == 5):
            return []
        found += [node] if node is not None else []
    variance, difference = found[3], found[-1]
    x = difference.inputs[0]
    if x is None or last_axes(x, variance.outputs[0], range(len(x.shape or ()))) is None:
        return []
    mean = _producer(difference, "ReduceMean") if len(found) == 6 else None
    if mean is not None:
        negatives = [use.node for use in mean.outputs[0].uses() if is_node(use.node.outputs[0], "Neg")]
        found += [*negatives, mean]
    return found[::-1] if len(found) in (5, 7, 8) else []


def _producer(node: ir.Node, operation: str) -> ir.Node | None:
    return next((value.producer() for value in node.inputs if value is not None and is_node(value, operation)), None)


def _copies(chain: Sequence[ir.Node], before: ir.Node) -> dict[ir.Value, ir.Value]:
    copies: dict[ir.Value, ir.Value] = {}
    for node in chain:
        operands = [copies.get(value, value) if value is not None else None for value in node.inputs]
        made = insert(before, node.op_type, operands, node.attributes)
        made.type, made.shape = node.outputs[0].type, node.outputs[0].shape
        copies[node.outputs[0]] = made
    return copies
