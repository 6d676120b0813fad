"""What a Slice takes of each axis."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

from irbench.onnx.broadcasting import UNLIMITED
from irbench.onnx.elements import Elements
from irbench.onnx.sizes import Size, partial_sizes

if TYPE_CHECKING:
    import onnx_ir as ir


class AxisSlice(NamedTuple):
    """What is taken of one axis; start and end may lie beyond it, as Slice allows.

    Attributes:
        axis: From 0.
        end: The index after the last one.
    """

    axis: int
    start: Size
    end: Size
    step: int


def axis_slices(node: ir.Node, known: Mapping[ir.Value, Elements]) -> list[AxisSlice] | None:
    """Return what a Slice takes of the axes it names, or ``None`` where an axis, a bound or a step is unknown.

    Args:
        node: A Slice.
        known: The elements of small integer tensors, of :func:`irbench.onnx.shapes.infer`.
    """
    source = node.inputs[0]
    if source is None or source.shape is None:
        return None
    given = [None if value is None else known.get(value, ()) for value in node.inputs[1:]]
    starts, ends, axes, steps = (given + [None] * 4)[:4]
    count = len(starts or ())
    axes = tuple(map(Size, range(count))) if axes is None else axes
    steps = (Size(1),) * count if steps is None else steps
    if not starts or not ends or {len(ends), len(axes), len(steps)} != {count}:
        return None
    parts = [_axis_slice(*part) for part in zip(axes, starts, ends, steps, strict=True)]
    rank = len(source.shape)
    found = [part._replace(axis=part.axis % rank) for part in parts if part is not None]
    return found if len(found) == count else None


def _axis_slice(axis: Size | None, start: Size | None, end: Size | None, step: Size | None) -> AxisSlice | None:
    numbers = [size.number if size is not None else None for size in (axis, step)]
    if numbers[0] is None or numbers[1] is None or start is None or end is None:
        return None
    return AxisSlice(numbers[0], start, end, numbers[1])


def is_whole(part: AxisSlice, value: ir.Value) -> bool:
    """Whether a slice takes all of its axis of a value; a size that is no number is taken to be below 10**9."""
    sizes = partial_sizes(value)
    size = sizes[part.axis] if sizes is not None else None
    if part.start != Size(0) or part.step != 1:
        return False
    if part.end == size:
        return True
    limit, length = part.end.number, size.number if size is not None else None
    return limit is not None and limit >= (UNLIMITED if length is None else length)
