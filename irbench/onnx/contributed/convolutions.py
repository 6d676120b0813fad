"""Shapes of convolutions and pooling: in ONNX's layout, with channels last, and in blocks of channels (NCHWc)."""

from __future__ import annotations

from collections.abc import Sequence

from irbench.onnx.contributed.context import Dimension, NodeTypes, ShapeRule, ShapeRules, UnknownInputType

_MS, _BLOCKED = "com.microsoft", "com.microsoft.nchwc"


def _convolution(weight: int = 1, dtype_of: int = 0, *, channels_last: bool = False) -> ShapeRule:
    """Return the rule of a convolution."""

    def infer(node: NodeTypes) -> None:
        kernel_shape = node.shape(weight)
        kernel = node.attribute("kernel_shape", None) or kernel_shape[2:]
        last = channels_last or bool(node.attribute("channels_last", 0))
        _set_windowed(node, kernel, kernel_shape[0], dtype_of=dtype_of, last=last)

    return infer


def _pool(*, channels_last: bool = False) -> ShapeRule:
    def infer(node: NodeTypes) -> None:
        last = channels_last or bool(node.attribute("channels_last", 0))
        channels = node.shape(0)[-1 if last else 1]
        _set_windowed(node, node.attribute("kernel_shape", ()), channels, dtype_of=0, last=last)

    return infer


def _global_pool(node: NodeTypes) -> None:
    shape = node.shape(0)
    last = bool(node.attribute("channels_last", 0))
    ones: list[Dimension] = [1] * (len(shape) - 2)
    node.set_output(0, node.dtype(0), [shape[0], *ones, shape[-1]] if last else [*shape[:2], *ones])


def _set_windowed(
    node: NodeTypes, kernel: Sequence[Dimension], channels: Dimension, *, dtype_of: int, last: bool
) -> None:
    shape = node.shape(0)
    spatial = shape[1:-1] if last else shape[2:]
    if len(kernel) != len(spatial):
        raise UnknownInputType
    sizes = [_windows(node, axis, size, kernel[axis]) for axis, size in enumerate(spatial)]
    found = [shape[0], *sizes, channels] if last else [shape[0], channels, *sizes]
    node.set_output(0, node.dtype(dtype_of), found)


def _windows(node: NodeTypes, axis: int, size: Dimension, kernel: Dimension) -> Dimension:
    if not isinstance(size, int) or not isinstance(kernel, int):
        return None
    stride = _of_axis(node, "strides", axis, 1)
    padding = node.attribute("auto_pad", "NOTSET")
    if padding.startswith("SAME"):
        return -(-size // stride)
    reach = (kernel - 1) * _of_axis(node, "dilations", axis, 1) + 1
    pads = node.attribute("pads", ()) if padding == "NOTSET" else ()
    added = pads[axis] + pads[axis + len(pads) // 2] if pads else 0
    rest = size + added - reach
    if rest < 0:
        raise UnknownInputType
    return (-(-rest // stride) if node.attribute("ceil_mode", 0) else rest // stride) + 1


def _of_axis(node: NodeTypes, name: str, axis: int, default: int) -> int:
    values = node.attribute(name, ())
    return int(values[axis]) if axis < len(values) else default


def _into_blocks(node: NodeTypes) -> None:
    """Infer a tensor in blocks of channels: its axes are written in ONNX's order."""
    shape = node.shape(0)
    turned = [shape[0], shape[-1], *shape[1:-1]] if node.attribute("channels_last", 0) else shape
    node.set_output(0, node.dtype(0), turned)


def _out_of_blocks(node: NodeTypes) -> None:
    """Infer a tensor without the channels that filled its last block."""
    batch, channels, *spatial = node.shape(0)
    kept = int(node.attribute("channels", 0)) or channels
    last = bool(node.attribute("channels_last", 0))
    node.set_output(0, node.dtype(0), [batch, *spatial, kept] if last else [batch, kept, *spatial])


def _upsampled(node: NodeTypes) -> None:
    scales = node.attribute("scales", ())
    sizes = node.shape(0)
    if len(scales) != len(sizes):
        raise UnknownInputType
    pairs = zip(sizes, scales, strict=True)
    node.set_output(0, node.dtype(0), [size * int(scale) if isinstance(size, int) else None for size, scale in pairs])


CONVOLUTIONS: ShapeRules = {
    (_BLOCKED, "AveragePool"): _pool(),
    (_BLOCKED, "Conv"): _convolution(),
    (_BLOCKED, "GlobalAveragePool"): _global_pool,
    (_BLOCKED, "GlobalMaxPool"): _global_pool,
    (_BLOCKED, "MaxPool"): _pool(),
    (_BLOCKED, "ReorderInput"): _into_blocks,
    (_BLOCKED, "ReorderOutput"): _out_of_blocks,
    (_BLOCKED, "Upsample"): _upsampled,
    (_MS, "FusedConv"): _convolution(),
    (_MS, "NhwcConv"): _convolution(channels_last=True),
    (_MS, "NhwcFusedConv"): _convolution(channels_last=True),
    (_MS, "NhwcMaxPool"): _pool(channels_last=True),
    (_MS, "QLinearAveragePool"): _pool(),
    (_MS, "QLinearConv"): _convolution(weight=3),
    (_MS, "QLinearGlobalAveragePool"): _global_pool,
}
