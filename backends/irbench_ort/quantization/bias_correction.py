"""Correct the mean error that rounding weights to int8 brings into the outputs of convolutions.

Rounding shifts each output channel by the sum of the rounding errors of its weights, times the input. The mean of that
over typical inputs is subtracted from the bias: b' = b - (round(W) - W) * E[x]. (Nagel et al., Data-Free
Quantization Through Weight Equalization and Bias Correction, ICCV 2019, section 4.2; here E[x] is measured. Padding is
treated as more input of the same mean; the error of that is of second order.)
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from irbench.spi import Array

if TYPE_CHECKING:
    import onnx

_LARGEST = 127


def corrected_inputs(model: onnx.ModelProto) -> tuple[str, ...]:
    """Return the inputs of convolutions whose means :func:`correct_biases` needs, each once: (batch, channels, ...)."""
    return tuple(dict.fromkeys(node.input[0] for node, _, _ in _convolutions(model)))


def correct_biases(model: onnx.ModelProto, means: Mapping[str, Array]) -> None:
    """Change the biases of a graph in fp32, before its weights are rounded.

    Args:
        model: Changed in place.
        means: The mean of each value of :func:`corrected_inputs` by channel, (channels,).
    """
    from onnx import numpy_helper

    for node, weight, bias in _convolutions(model):
        error = _rounding_error(numpy_helper.to_array(weight))
        groups = next((attribute.i for attribute in node.attribute if attribute.name == "group"), 1)
        by_group = np.asarray(means[node.input[0]], np.float64).reshape(groups, -1)
        by_output = np.repeat(by_group, len(error) // groups, axis=0)
        corrected = numpy_helper.to_array(bias) - (error * by_output).sum(axis=1)
        bias.CopyFrom(numpy_helper.from_array(corrected.astype(np.float32), bias.name))


def _rounding_error(weight: Array) -> NDArray[np.float64]:
    """Return round(W) - W of a kernel, summed over its window: float64 (outputs, inputs of a group)."""
    kernel = weight.astype(np.float64).reshape(*weight.shape[:2], -1)
    steps = np.abs(kernel).max(axis=(1, 2), keepdims=True) / _LARGEST
    steps[steps == 0] = 1
    error: NDArray[np.float64] = (np.round(kernel / steps) * steps - kernel).sum(axis=2)
    return error


def _convolutions(model: onnx.ModelProto) -> Iterator[tuple[onnx.NodeProto, onnx.TensorProto, onnx.TensorProto]]:
    """Yield every convolution with its weight and a bias that nothing else reads."""
    constants = {initializer.name: initializer for initializer in model.graph.initializer}
    readers = Counter(name for node in model.graph.node for name in node.input)
    for node in model.graph.node:
        if node.domain or node.op_type != "Conv" or len(node.input) < 3:
            continue
        weight, bias = (constants.get(name) for name in node.input[1:3])
        if weight is not None and bias is not None and readers[bias.name] == 1:
            yield node, weight, bias
