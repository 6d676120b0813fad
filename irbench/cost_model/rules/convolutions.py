"""Convolutions: one multiply-accumulate for each weight of a window, at each place of the output."""

from __future__ import annotations

from math import prod

from irbench.cost_model.rules.elementwise import activation_operations
from irbench.cost_model.tensors import NodeView
from irbench.cost_model.work import LINEAR_SAMPLE, Rule, Rules, Work


def convolution(weight: int = 1, bias: int | None = 2) -> Rule:
    """Return the rule of a convolution.

    Each place of an output channel meets the weights of its group: ``channels / groups`` times the kernel, which is
    the weight's shape without its first axis. Padding counts as if it were data; dilation changes nothing.

    Args:
        weight: Place of the weight among the inputs.
        bias: Place of the bias; ``None`` where there is none.
    """

    def count(node: NodeView) -> Work:
        outputs = node.output_elements()
        macs = outputs * prod(node.input_shape(weight)[1:])
        return Work(macs, outputs if bias is not None and node.has_input(bias) else 0)

    return count


def _transposed_convolution(node: NodeView) -> Work:
    """Count the weights of a group that each element of the input meets."""
    outputs = node.output_elements()
    macs = node.input_elements() * prod(node.input_shape(1)[1:])
    return Work(macs, outputs if node.has_input(2) else 0)


def _fused_convolution(node: NodeView) -> Work:
    macs, others = convolution()(node)
    outputs = node.output_elements()
    added = outputs if node.has_input(3) else 0
    return Work(macs, others + added + outputs * activation_operations(node.attribute("activation", "")))


def _deformable_convolution(node: NodeView) -> Work:
    """Count the convolution, and the interpolation of every value of a window at its own place."""
    macs = node.output_elements() * prod(node.input_shape(1)[1:])
    batch, channels = node.input_shape(0)[:2]
    kernel = prod(node.input_shape(1)[2:])
    samples = batch * channels * kernel * prod(node.output_shape()[2:])
    masked = samples if node.has_input(4) else 0
    return Work(macs, samples * LINEAR_SAMPLE + masked + (node.output_elements() if node.has_input(3) else 0))


CONVOLUTIONS: Rules = {
    "Conv": _fused_convolution,
    "ConvInteger": convolution(bias=None),
    "ConvTranspose": _transposed_convolution,
    "ConvTransposeWithDynamicPads": _transposed_convolution,
    "DeformConv": _deformable_convolution,
    "FusedConv": _fused_convolution,
    "NhwcConv": convolution(),
    "NhwcFusedConv": _fused_convolution,
}
