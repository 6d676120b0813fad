"""What is changed in a graph that PyTorch wrote, before any optimiser reads it."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import onnx
from onnx import numpy_helper

_LEAST_WIDTH = 8
"""Shorter constants are no biases."""
_DEVIATION = 0.02


def finish(model: onnx.ModelProto, axes: Mapping[str, Mapping[int, str]]) -> None:
    """Name dimensions and draw biases and factors, in place.

    A dynamic dimension that follows from others has lost its name. Models that were never trained have biases of 0 and
    factors of 1, which optimisers remove, and which no trained model has.
    """
    for value in model.graph.input:
        for axis, name in axes[value.name].items():
            value.type.tensor_type.shape.dim[axis].dim_param = name
    generator = np.random.default_rng(0)
    for weight in model.graph.initializer:
        if weight.data_type == onnx.TensorProto.FLOAT and len(weight.dims) == 1 and weight.dims[0] >= _LEAST_WIDTH:
            values = numpy_helper.to_array(weight)
            if np.ptp(values) == 0:
                drawn = values + generator.normal(0, _DEVIATION, values.shape).astype(np.float32)
                weight.CopyFrom(numpy_helper.from_array(drawn, weight.name))
