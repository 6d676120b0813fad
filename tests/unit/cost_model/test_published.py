"""Published counts of well-known networks, built here from the shapes of their layers."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from irbench.cost_model.costs import ModelCost
from irbench.cost_model.counting import cost_of_file, model_cost
from irbench.onnx.reading.signature import read
from irbench.spec import TensorSpec


class Network:
    """A network of convolutions and dense layers on one image; weights have shapes and no content."""

    def __init__(self, size: int = 224) -> None:
        self.nodes: list = []
        self.weights: list = []
        self.last, self.channels, self.size = "image", 3, size
        self.image = size

    def conv(self, channels, kernel, stride=1, pad=None, groups=1, source=None):
        """Add a convolution, and return its output."""
        name, inputs = source or (self.last, self.channels)
        weight = self.weight(channels, inputs // groups, kernel, kernel)
        pad = kernel // 2 if pad is None else pad
        output = self.add(
            "Conv", [name, weight, self.weight(channels)], strides=[stride] * 2, pads=[pad] * 4, group=groups
        )
        self.channels = channels
        return output

    def pool(self, kernel, stride, pad=0):
        return self.add("MaxPool", [self.last], kernel_shape=[kernel] * 2, strides=[stride] * 2, pads=[pad] * 4)

    def flat(self, features):
        """Make a row of the features; their number is checked by the dense layers behind."""
        self.add("Flatten", [self.last])
        self.channels = features

    def dense(self, features):
        self.add("Gemm", [self.last, self.weight(self.channels, features), self.weight(features)])
        self.channels = features

    def add(self, operator, inputs, **attributes):
        output = f"{operator}{len(self.nodes)}"
        self.nodes.append(helper.make_node(operator, inputs, [output], name=output, **attributes))
        self.last = output
        return output

    def weight(self, *shape):
        name = f"w{len(self.weights)}"
        self.weights.append(TensorProto(name=name, data_type=TensorProto.FLOAT, dims=shape))
        return name

    @property
    def cost(self) -> ModelCost:
        image = helper.make_tensor_value_info("image", TensorProto.FLOAT, [1, 3, self.image, self.image])
        output = helper.make_tensor_value_info(self.last, TensorProto.FLOAT, None)
        graph = helper.make_graph(self.nodes, "g", [image], [output], self.weights)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)])
        found = model_cost(model, [TensorSpec("image", "float32", (1, 3, self.image, self.image))])
        assert found.uncounted == ()
        return found


def alexnet() -> Network:
    net = Network()
    net.conv(64, 11, 4, pad=2)
    net.pool(3, 2)
    net.conv(192, 5)
    net.pool(3, 2)
    for channels in (384, 256, 256):
        net.conv(channels, 3)
    net.pool(3, 2)
    net.flat(256 * 6 * 6)
    for features in (4096, 4096, 1000):
        net.dense(features)
    return net


def vgg16() -> Network:
    net = Network()
    for channels, layers in ((64, 2), (128, 2), (256, 3), (512, 3), (512, 3)):
        for _ in range(layers):
            net.conv(channels, 3)
        net.pool(2, 2)
    net.flat(512 * 7 * 7)
    for features in (4096, 4096, 1000):
        net.dense(features)
    return net


def resnet50(*, stride_in_first: bool) -> Network:
    """Build ResNet-50 with the stride of a stage in its first 1x1 convolution, or in the 3x3 behind that."""
    net = Network()
    net.conv(64, 7, 2, pad=3)
    net.pool(3, 2, pad=1)
    for stage, blocks in enumerate((3, 4, 6, 3)):
        width = 64 * 2**stage
        for block in range(blocks):
            stride = 2 if stage and not block else 1
            source = (net.last, net.channels)
            net.conv(width, 1, stride if stride_in_first else 1)
            net.conv(width, 3, 1 if stride_in_first else stride)
            branch = net.conv(4 * width, 1)
            skip = source[0] if block else net.conv(4 * width, 1, stride, source=source)
            net.add("Add", [branch, skip])
            net.add("Relu", [net.last])
    net.add("GlobalAveragePool", [net.last])
    net.flat(2048)
    net.dense(1000)
    return net


def mobilenet_v2() -> Network:
    net = Network()
    net.conv(32, 3, 2)
    for expansion, channels, blocks, first in (
        (1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1), (6, 160, 3, 2), (6, 320, 1, 1),
    ):  # fmt: skip
        for block in range(blocks):
            width = expansion * net.channels
            if expansion > 1:
                net.conv(width, 1)
            net.conv(width, 3, first if block == 0 else 1, groups=width)
            net.conv(channels, 1)
    net.conv(1280, 1)
    net.add("GlobalAveragePool", [net.last])
    net.flat(1280)
    net.dense(1000)
    return net


PUBLISHED = {
    # Krizhevsky, One weird trick for parallelizing convolutional neural networks, as torchvision has it: 0.71 GMAC
    "AlexNet": (alexnet, 0.71e9, 61.1e6),
    # Simonyan and Zisserman, 2015: 138 million parameters; 15.5 GMAC, 15.3 of them in convolutions
    "VGG-16": (vgg16, 15.5e9, 138e6),
    # He et al., 2016, Table 1: 3.8e9; Keras has the stride in the first convolution, as the paper has
    "ResNet-50 as in the paper and in Keras": (lambda: resnet50(stride_in_first=True), 3.86e9, 25.5e6),
    # torchvision ("ResNet v1.5") has the stride in the 3x3 convolution: 4.09 GMAC
    "ResNet-50 as in torchvision": (lambda: resnet50(stride_in_first=False), 4.09e9, 25.5e6),
    # Sandler et al., 2018, Table 4: 300 million, 3.4 million parameters
    "MobileNetV2": (mobilenet_v2, 0.30e9, 3.5e6),
}


@pytest.mark.parametrize("name", PUBLISHED)
def test_a_network_costs_what_was_published(name):
    build, macs, parameters = PUBLISHED[name]
    cost = build().cost
    assert cost.macs == pytest.approx(macs, rel=0.01)
    assert cost.parameters == pytest.approx(parameters, rel=0.015)


def test_the_place_of_the_stride_is_all_that_tells_the_two_resnets_apart():
    first, second = (resnet50(stride_in_first=first).cost for first in (True, False))
    assert first.parameters == second.parameters
    differing = [
        (old.name, new.macs / old.macs)
        for old, new in zip(first.nodes, second.nodes, strict=True)
        if old.macs != new.macs
    ]
    assert [ratio for _, ratio in differing] == [4.0] * 3  # the first 1x1 of three stages sees four times the places


@pytest.mark.parametrize(("hidden", "inputs"), [(8, 8), (512, 512), (200, 50)])
def test_a_cell_of_an_lstm_takes_the_products_of_its_gates(hidden, inputs):
    shapes = {"w": (1, 4 * hidden, inputs), "r": (1, 4 * hidden, hidden)}
    weights = [TensorProto(name=name, data_type=TensorProto.FLOAT, dims=dims) for name, dims in shapes.items()]
    node = helper.make_node("LSTM", ["x", "w", "r"], ["y"], hidden_size=hidden)
    given = helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 1, inputs])
    made = helper.make_tensor_value_info("y", TensorProto.FLOAT, None)
    model = helper.make_model(helper.make_graph([node], "g", [given], [made], weights))
    cost = model_cost(model, [TensorSpec("x", "float32", (1, 1, inputs))])
    assert 2 * cost.macs == 8 * hidden * (hidden + inputs)
    if hidden == inputs:
        assert 2 * cost.macs == 16 * hidden**2


def test_weights_without_content_are_never_read():
    assert all(not np.any(weight.float_data) and not weight.raw_data for weight in vgg16().weights)


@pytest.mark.parametrize(
    ("name", "macs"),
    [
        ("bvlc_alexnet", 0.655e9),  # two groups, as in 2012
        ("vgg19", 19.6e9),
        ("resnet50", 4.09e9),
        ("squeezenet", 0.349e9),
        ("densenet121", 2.83e9),
        ("inception_v1", 1.43e9),
    ],
)
def test_a_network_that_onnx_brings_costs_what_is_known_of_it(name, macs):
    path = Path(onnx.__file__).parent / "backend" / "test" / "data" / "light" / f"light_{name}.onnx"
    cost = cost_of_file(path, read(path).inputs)
    assert cost.macs == pytest.approx(macs, rel=0.005)
    assert cost.uncounted == ()
