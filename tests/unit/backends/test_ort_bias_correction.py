"""The mean error of rounded weights is taken out of the biases."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from written_graphs import graph

from irbench_ort.quantization.tool import channel_means, correct_biases, corrected_inputs


def convolution(weight: np.ndarray, groups: int = 1, readers: int = 1) -> onnx.ModelProto:
    channels = weight.shape[1] * groups
    names = [f"y{index}" for index in range(readers)]
    graph = helper.make_graph(
        [helper.make_node("Conv", ["x", "w", "b"], [name], group=groups) for name in names],
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, (1, channels, 1, 1))],
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, (1, len(weight), 1, 1)) for name in names],
        [
            numpy_helper.from_array(weight.astype(np.float32), "w"),
            numpy_helper.from_array(np.zeros(len(weight), "f"), "b"),
        ],
    )
    return helper.make_model(graph)


def bias(model: onnx.ModelProto) -> np.ndarray:
    return numpy_helper.to_array(model.graph.initializer[1])


@pytest.mark.parametrize("groups", [1, 2])
def test_the_rounded_layer_answers_to_the_mean_input_what_the_layer_did(groups: int):
    weight = np.random.default_rng(3).normal(size=(4, 6 // groups, 1, 1))
    mean = np.random.default_rng(4).uniform(0, 2, 6)
    model = convolution(weight, groups)
    assert corrected_inputs(model) == ("x",)
    correct_biases(model, {"x": mean})
    steps = np.abs(weight).max(axis=1, keepdims=True) / 127
    rounded = np.round(weight / steps) * steps
    inputs = np.repeat(mean.reshape(groups, -1), 4 // groups, axis=0)
    wanted, given = ((item[..., 0, 0] * inputs).sum(axis=1) for item in (weight, rounded))
    np.testing.assert_allclose(given + bias(model), wanted, atol=1e-6)
    assert not np.allclose(given, wanted, atol=1e-6)


def test_a_kernel_of_zeros_needs_no_correction():
    model = convolution(np.zeros((4, 6, 1, 1)))
    correct_biases(model, {"x": np.ones(6)})
    assert (bias(model) == 0).all()


def test_a_bias_that_two_layers_share_is_left_alone():
    assert corrected_inputs(convolution(np.ones((4, 6, 1, 1)), readers=2)) == ()


def test_what_is_not_finite_on_some_inputs_leaves_a_typical_mean(tmp_path: Path):
    text = "(float[1,3,1,2] x) => (float[1,3,1,2] y) { s = Sqrt(x) y = Neg(s) }"
    onnx.save(graph(text, opset=17), tmp_path / "roots.onnx")
    feeds = [np.float32([[4, 9], [1, -1], [-1, -1]]), np.float32([[np.inf, 1], [9, 9], [-1, -1]])]
    means = channel_means(tmp_path / "roots.onnx", ["s"], [{"x": feed.reshape(1, 3, 1, 2)} for feed in feeds])
    np.testing.assert_allclose(means["s"], [2, 7 / 3, 0])
