"""Operators that move data, which compute nothing, but for those that interpolate or sum while they do."""

from __future__ import annotations

from irbench.cost_model.tensors import NodeView
from irbench.cost_model.work import Rules, Work
from irbench.onnx.operator_classes import OPERATORS, OperatorClass

_NEIGHBOURS = {"linear": 2, "bilinear": 2, "cubic": 4, "bicubic": 4}
"""How many neighbours along an axis are combined."""


def _nothing(_: NodeView) -> Work:
    return Work()


def _resize(node: NodeView) -> Work:
    """Count the products and sums of the neighbours along every axis whose size changes."""
    neighbours = _NEIGHBOURS.get(str(node.attribute("mode", "nearest")))
    if neighbours is None:
        return Work()
    before, after = node.input_shape(0), node.output_shape()
    axes = sum(old != new for old, new in zip(before, after, strict=True))
    return _interpolated(node, neighbours**axes) if axes else Work()


def _grid_sample(node: NodeView) -> Work:
    """Count the neighbours of each place, whose coordinates are inputs."""
    neighbours = _NEIGHBOURS.get(str(node.attribute("mode", "linear")))
    return Work() if neighbours is None else _interpolated(node, neighbours ** (len(node.input_shape(0)) - 2))


def _crop_and_resize(node: NodeView) -> Work:
    return _interpolated(node, 4) if node.attribute("mode", "bilinear") == "bilinear" else Work()


def _interpolated(node: NodeView, neighbours: int) -> Work:
    return Work(0, (2 * neighbours - 1) * node.output_elements())


def _scatter(node: NodeView) -> Work:
    """Count one operation for each update that is combined with what was there."""
    combines = node.attribute("reduction", "none") != "none"
    return Work(0, node.input_elements(2) if combines else 0)


MOVEMENT: Rules = {
    **{name: _nothing for name, operators in OPERATORS.items() if operators is OperatorClass.MOVEMENT},
    "CropAndResize": _crop_and_resize,
    "GridSample": _grid_sample,
    "MultilevelCropAndResize_TRT": _crop_and_resize,
    "Resize": _resize,
    "ScatterElements": _scatter,
    "ScatterND": _scatter,
    "Upsample": _resize,
}
