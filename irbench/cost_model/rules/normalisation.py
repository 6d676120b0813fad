"""Normalisations, softmax among them, pooling and reductions."""

from __future__ import annotations

from math import prod

from irbench.cost_model.known_tensors import LINEAR_SAMPLE, NodeView, Rule, Rules, UnknownShape, Work
from irbench.cost_model.rules.elementwise import SILU, per_output

SOFTMAX = 5
"""Maximum, subtract, exp, sum, divide."""
_BY_MEAN_AND_VARIANCE = 5
"""Sum, subtract, square, sum, multiply with the inverse of the standard deviation."""
_BY_ROOT_MEAN_SQUARE = 3
"""Square, sum, multiply."""


def _with_scale(operations: int, bias: int | None = None) -> Rule:
    """Return a rule for what is normalised and then scaled, and shifted where a bias is given at that place."""

    def count(node: NodeView) -> Work:
        shifted = bias is not None and node.has_input(bias)
        return Work(0, (operations + 1 + shifted) * node.output_elements())

    return count


def _after_skip(operations: int, beta: int | None, bias: int) -> Rule:
    """Return a rule for what adds a residual, and a bias where one is given, before it normalises."""

    def count(node: NodeView) -> Work:
        shifted = beta is not None and node.has_input(beta)
        return Work(0, (1 + node.has_input(bias) + operations + 1 + shifted) * node.output_elements())

    return count


def _batch_normalisation(node: NodeView) -> Work:
    """Count a scale and a shift: mean and variance are known, and folded into them, unless it is being trained."""
    training = 5 if node.attribute("training_mode", 0) else 0
    return Work(0, (2 + training) * node.output_elements())


def _group_normalisation(node: NodeView) -> Work:
    """Count the activation that ONNX Runtime's operator may end with."""
    activation = SILU if node.attribute("activation", 0) else 0
    return Work(0, (_BY_MEAN_AND_VARIANCE + 2 + activation) * node.output_elements())


def _embedding(node: NodeView) -> Work:
    """Count the sums of two or three embeddings, and the normalisation."""
    sums = 2 if node.has_input(1) else 1
    return Work(0, (sums + _BY_MEAN_AND_VARIANCE + 2) * node.output_elements())


def _local_response(node: NodeView) -> Work:
    """Count a square, the sum over ``size`` channels, two operations with constants, a power and a division."""
    return Work(0, (int(node.attribute("size", 1)) + 4) * node.output_elements())


NORMALISATION: Rules = {
    "BatchNormalization": _batch_normalisation,
    "BiasSoftmax": per_output(1 + SOFTMAX),
    "EmbedLayerNormalization": _embedding,
    "GroupNorm": _group_normalisation,
    "GroupNormalization": _group_normalisation,
    "Hardmax": per_output(1),
    "InstanceNormalization": per_output(_BY_MEAN_AND_VARIANCE + 2),
    "LRN": _local_response,
    "LayerNormalization": _with_scale(_BY_MEAN_AND_VARIANCE, bias=2),
    "LogSoftmax": per_output(SOFTMAX),
    "LpNormalization": per_output(3),
    "MeanVarianceNormalization": per_output(_BY_MEAN_AND_VARIANCE),
    "Normalizer": per_output(3),
    "RMSNormalization": _with_scale(_BY_ROOT_MEAN_SQUARE),
    "SimplifiedLayerNormalization": _with_scale(_BY_ROOT_MEAN_SQUARE),
    "SkipLayerNormalization": _after_skip(_BY_MEAN_AND_VARIANCE, beta=3, bias=4),
    "SkipSimplifiedLayerNormalization": _after_skip(_BY_ROOT_MEAN_SQUARE, beta=None, bias=3),
    "Softmax": per_output(SOFTMAX),
}


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
    return Work(0, sum(tensor.elements for tensor in node.input_tensors()))


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
