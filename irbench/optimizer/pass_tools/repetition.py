"""Find heads that are repeated: keys and values that several heads of queries share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from irbench.onnx.sizes import ONE, Size, sizes_of
from irbench.optimizer.pass_tools import layout as layouts
from irbench.optimizer.pass_tools.edit import LAYOUT, insert_reshape, is_node, weight
from irbench.optimizer.pass_tools.layout import Layout, write_steps

if TYPE_CHECKING:
    import onnx_ir as ir

_HEADS = 1


class Repetition(NamedTuple):
    """Values of the axes (batch, heads, length, width), each head of them ``groups`` times in succession.

    Attributes:
        sizes: The sizes of the source, an axis of size one after its heads; that axis is repeated.
        layout: Of the values, starting at ``sizes`` with ``groups`` on that axis.
    """

    source: ir.Value
    sizes: tuple[Size, ...]
    axis: int
    groups: int
    layout: Layout


def read_repetition(value: ir.Value | None) -> Repetition | None:
    """Return how a value repeats heads, if it does; changes of layout after the repetition are looked through."""
    chain: list[ir.Node] = []
    while value is not None and is_node(value, *LAYOUT):
        node = value.producer()
        assert node is not None
        chain.append(node)
        value = node.inputs[0]
    repeated, sizes = _repeated(value), sizes_of(value)
    layout = layouts.reshape(repeated.layout, sizes) if repeated is not None and sizes is not None else None
    for node in chain[::-1]:
        layout = _followed(layout, node) if layout is not None else None
    if repeated is None or layout is None or len(layout.sizes) != 4:
        return None
    own = [atom for atom in ((repeated.axis - 1,), (repeated.axis,)) if atom in layout.atoms]
    return repeated._replace(layout=layout) if list(layout.axes[_HEADS]) == own else None


def write_unrepeated(repetition: Repetition, before: ir.Node) -> ir.Value | None:
    """Return the values of a repetition with every head once, computed in front of a node."""
    once = [*repetition.sizes[: repetition.axis], *repetition.sizes[repetition.axis + 1 :]]
    source = (
        repetition.source if sizes_of(repetition.source) == once else insert_reshape(before, repetition.source, once)
    )
    atoms = {
        _without(atom, repetition.axis): size
        for atom, size in repetition.layout.atoms.items()
        if atom != (repetition.axis,)
    }
    axes = [
        [_without(atom, repetition.axis) for atom in axis if atom != (repetition.axis,)]
        for axis in repetition.layout.axes
    ]
    sizes = [*repetition.layout.sizes]
    sizes[_HEADS] = repetition.sizes[repetition.axis - 1]
    layout = Layout(tuple(once), atoms, tuple(map(tuple, axes)), tuple(sizes))
    return write_steps(before, source, layouts.steps(layout)) if source is not None else None


def _without(atom: tuple[int, ...], axis: int) -> tuple[int, ...]:
    return (atom[0] - 1, *atom[1:]) if atom[0] > axis else atom


def _followed(layout: Layout, node: ir.Node) -> Layout | None:
    if node.op_type == "Transpose":
        backwards = range(len(layout.sizes))[::-1]
        return layouts.transpose(layout, node.attributes.get_ints("perm", list(backwards)))
    sizes = sizes_of(node.outputs[0])
    return layouts.reshape(layout, sizes) if sizes is not None else None


def _repeated(value: ir.Value | None) -> Repetition | None:
    node = value.producer() if value is not None and is_node(value, "Tile", "Expand", "Gather", "Concat") else None
    if node is None:
        return None
    if node.op_type in ("Tile", "Expand"):
        return _along_new_axis(node)
    return _gathered(node) if node.op_type == "Gather" else _concatenated(node)


def _along_new_axis(node: ir.Node) -> Repetition | None:
    before, after = sizes_of(node.inputs[0]), sizes_of(node.outputs[0])
    if node.inputs[0] is None or before is None or after is None or len(before) != len(after):
        return None
    changed = [place for place, (old, new) in enumerate(zip(before, after, strict=True)) if old != new]
    if len(changed) != 1 or before[changed[0]] != ONE or changed[0] == 0:
        return None
    return _repetition(node.inputs[0], before, changed[0], after[changed[0]])


def _gathered(node: ir.Node) -> Repetition | None:
    """Read the indices 0, 0, 1, 1, .. of an axis."""
    source, places = node.inputs[0], weight(node.inputs[1])
    sizes = sizes_of(source)
    if source is None or not sizes or places is None:
        return None
    axis = node.attributes.get_int("axis", 0) % len(sizes)
    heads = sizes[axis].number
    if not heads or places.tolist() != np.arange(heads).repeat(places.size // heads).tolist():
        return None
    split = [*sizes[: axis + 1], ONE, *sizes[axis + 1 :]]
    return _repetition(source, split, axis + 1, Size(places.size // heads))


def _concatenated(node: ir.Node) -> Repetition | None:
    """Read the same single head, several times."""
    source, sizes = node.inputs[0], sizes_of(node.inputs[0])
    if source is None or not sizes or any(value is not source for value in node.inputs):
        return None
    axis = node.attributes.get_int("axis", 0) % len(sizes)
    if sizes[axis] != ONE:
        return None
    split = [*sizes[: axis + 1], ONE, *sizes[axis + 1 :]]
    return _repetition(source, split, axis + 1, Size(len(node.inputs)))


def _repetition(source: ir.Value, sizes: Sequence[Size], axis: int, groups: Size) -> Repetition | None:
    if groups.number is None or groups.number < 2:
        return None
    start = layouts.start([*sizes[:axis], groups, *sizes[axis + 1 :]])
    return Repetition(source, tuple(sizes), axis, groups.number, start)
