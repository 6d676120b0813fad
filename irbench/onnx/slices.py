"""Sizes of axes that ONNX's own inference leaves open: of slices, and of what is computed element by element.

A slice to a dynamic end is as long as that end, but no longer than the axis: ``length<=512`` long, if the axis is 512
long. Where such a tensor meets one that is ``length`` long, the result has that length, because the model can be run
with no other: lengths that meet are equal, or one of them is one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import zip_longest
from typing import TYPE_CHECKING, NamedTuple

from irbench.onnx.sizes import ONE, Elements, Size, difference, partial_sizes

if TYPE_CHECKING:
    import onnx_ir as ir

UNLIMITED = 10**9
"""Ends that are as large mean the end of the axis: tf2onnx writes it, other exporters 2**31 - 1 or 2**63 - 1."""

ELEMENTWISE = {
    *("Add", "And", "Div", "Equal", "Greater", "GreaterOrEqual", "Less", "LessOrEqual", "Max", "Min", "Mod", "Mul"),
    *("Or", "Pow", "Sub", "Where", "Xor"),
}
"""Operators whose inputs all are stretched to each other."""

_UP_TO = "<="


def end_of_slice(size: Size, end: Size | None) -> Size | None:
    """Return how long a slice from 0 is in steps of one, or ``None`` where nothing can say it."""
    if end is None or end.factor < 0:
        return None
    if end == size:
        return size
    limit, length = end.number, size.number
    if limit is not None:
        return Size(min(limit, length)) if length is not None else size if limit >= UNLIMITED else None
    is_plain = len(end.names) == 1 and end.factor == 1 and _UP_TO not in end.names[0]
    return Size(1, (f"{end.names[0]}{_UP_TO}{length}",)) if length is not None and length > 1 and is_plain else None


def length_of_slice(size: Size, start: Size, end: Size | None) -> Size | None:
    """Return how long a slice in steps of one is, or ``None`` where nothing can say it.

    What begins behind a part of a sum is as long as the rest: ``past + tokens`` from ``past`` on is ``tokens`` long.
    """
    stop = end_of_slice(size, end)
    if stop is None or start == Size(0):
        return stop
    return difference(stop, start) if start.factor > 0 else None


def broadcast(*operands: Sequence[Size | None]) -> list[Size | None]:
    """Return the sizes of what is computed from tensors of these sizes, ``None`` for those that nothing can say."""
    columns = zip_longest(*(tuple(sizes)[::-1] for sizes in operands), fillvalue=ONE)
    return [_together(column) for column in columns][::-1]


def _together(column: Sequence[Size | None]) -> Size | None:
    sizes = {size for size in column if size != ONE}
    fixed = [size for size in sizes if size is not None and size.number is not None]
    if fixed:
        return fixed[0] if len(fixed) == 1 else None  # all others are one, or as long
    if None in sizes:
        return None
    named = {size for size in sizes if size is not None}
    longest = {size for size in named if not any(is_part(size, other) for other in named)}
    return longest.pop() if len(longest) == 1 else ONE if not longest else None


def is_part(size: Size, whole: Size) -> bool:
    """Whether a size is another one, or a limit if that is smaller."""
    name = size.names[0] if len(size.names) == 1 and size.factor == 1 else ""
    return whole.factor == 1 and len(whole.names) == 1 and name.startswith(f"{whole.names[0]}{_UP_TO}")


class AxisSlice(NamedTuple):
    """What is taken of one axis; start and end may lie beyond it, as Slice allows."""

    axis: int
    start: Size
    end: Size
    step: int


def axis_slices(node: ir.Node, known: Mapping[ir.Value, Elements]) -> list[AxisSlice] | None:
    """Return what a Slice takes of the axes it names, or ``None`` where an axis, a bound or a step is unknown."""
    source = node.inputs[0]
    if source is None or source.shape is None:
        return None
    inputs = [None if value is None else known.get(value, ()) for value in node.inputs[1:]]
    starts, ends, axes, steps = (inputs + [None] * 4)[:4]
    count = len(starts or ())
    axes = tuple(map(Size, range(count))) if axes is None else axes
    steps = (Size(1),) * count if steps is None else steps
    if not starts or not ends or {len(ends), len(axes), len(steps)} != {count}:
        return None
    parts = [_axis_slice(*part) for part in zip(axes, starts, ends, steps, strict=True)]
    rank = len(source.shape)
    slices = [part._replace(axis=part.axis % rank) for part in parts if part is not None]
    return slices if len(slices) == count else None


def _axis_slice(axis: Size | None, start: Size | None, end: Size | None, step: Size | None) -> AxisSlice | None:
    numbers = [size.number if size is not None else None for size in (axis, step)]
    if numbers[0] is None or numbers[1] is None or start is None or end is None:
        return None
    return AxisSlice(numbers[0], start, end, numbers[1])


def is_whole(part: AxisSlice, value: ir.Value) -> bool:
    """Whether a slice takes all of its axis of a value; a size that is not a number is taken to be below 10**9."""
    sizes = partial_sizes(value)
    size = sizes[part.axis] if sizes is not None else None
    if part.start != Size(0) or part.step != 1:
        return False
    if part.end == size:
        return True
    limit, length = part.end.number, size.number if size is not None else None
    return limit is not None and limit >= (UNLIMITED if length is None else length)
