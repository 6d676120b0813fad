"""Pooling, and reductions: an operation for each element that is taken in."""

from __future__ import annotations

from math import prod

from irbench.cost_model.tensors import NodeView, UnknownShape
from irbench.cost_model.work import LINEAR_SAMPLE, Rule, Rules, Work


def window(operations: int) -> Rule:
    """Return a rule that counts so many operations for each element of each window."""

    def count(node: NodeView) -> Work:
        kernel = node.attribute("kernel_shape", None)
        if kernel is None:
            raise UnknownShape
        return Work(0, operations * prod(kernel) * node.output_elements())

    return count


def _per_input(operations: int) -> Rule:
    def count(node: NodeView) -> Work:
        return Work(0, operations * node.input_elements())

    return count


def _per_input_of_all(node: NodeView) -> Work:
    return Work(0, sum(tensor.elements for tensor in node.given()))


def _region_align(node: NodeView) -> Work:
    """Count the interpolated samples of each place, if their number does not depend on the size of the region."""
    ratio = int(node.attribute("sampling_ratio", 0))
    if ratio < 1:
        raise UnknownShape
    return Work(0, ratio * ratio * (LINEAR_SAMPLE + 1) * node.output_elements())


REDUCTIONS: Rules = {
    "ArgMax": _per_input(1),
    "ArgMin": _per_input(1),
    "AveragePool": window(1),
    "Col2Im": _per_input(1),
    "CumProd": _per_input(1),
    "CumSum": _per_input(1),
    "GlobalAveragePool": _per_input(1),
    "GlobalLpPool": _per_input(2),
    "GlobalMaxPool": _per_input(1),
    "IsAllFinite": _per_input_of_all,
    "LpPool": window(2),
    "MaxPool": window(1),
    "MaxpoolWithMask": window(1),
    "NegativeLogLikelihoodLoss": _per_input(1),
    "NhwcMaxPool": window(1),
    "ReduceL1": _per_input(2),
    "ReduceL2": _per_input(2),
    "ReduceLogSum": _per_input(1),
    "ReduceLogSumExp": _per_input(2),
    "ReduceMax": _per_input(1),
    "ReduceMean": _per_input(1),
    "ReduceMin": _per_input(1),
    "ReduceProd": _per_input(1),
    "ReduceSum": _per_input(1),
    "ReduceSumInteger": _per_input(1),
    "ReduceSumSquare": _per_input(2),
    "RoiAlign": _region_align,
    "SoftmaxCrossEntropyLoss": _per_input(6),
}
