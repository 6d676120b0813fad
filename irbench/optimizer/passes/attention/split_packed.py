"""Split a packed projection where it is computed, not behind the axes that it is cut into.

1. Split(Transpose(Reshape(x, [..., n, h, d])), n parts)     -> Transpose(Reshape(part of Split(x))), for each part
2. Gather(Transpose(Reshape(x, [..., n, h, d])), a number)   -> the same, for each number
3. Slice(Transpose(Reshape(x, [..., n, h, d])), one part)    -> the same, for each part

h may be missing. The Reshape cuts only the last axis of x, and n is the first axis that comes of it: queries, keys and
values are packed so. Every reader of what is transposed takes such a part. Each part is then cut into heads by itself,
as attention that joins its heads asks for.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from irbench.onnx.shapes import infer, set_sizes
from irbench.onnx.sizes import ONE, Elements, Size, product, sizes_of
from irbench.onnx.slices import axis_slices
from irbench.optimizer.pass_tools.edit import (
    clean,
    insert,
    insert_reshape,
    insert_with_outputs,
    is_node,
    only_reader,
    replace,
    scalar,
)
from irbench.optimizer.passes import Rewrite
from irbench.optimizer.passes.remove_redundant import merge_layouts
from irbench.spi import Pass

if TYPE_CHECKING:
    import onnx_ir as ir

_WITH_COUNT = 18
"""The operator set whose Split says how many parts there are."""


@dataclass(frozen=True)
class _Packed:
    """What is cut into axes and transposed."""

    source: ir.Value
    count: int
    part: Sequence[Size]
    perm: Sequence[int]
    axis: int


def _split_packed(model: ir.Model) -> bool:
    known = infer(model)
    changed = sum([_split(node, known) for node in list(model.graph) if is_node(node.outputs[0], "Transpose")]) > 0
    if changed:
        merge_layouts(model)
    clean(model)
    return changed


def _split(node: ir.Node, known: Mapping[ir.Value, Elements]) -> bool:
    packed = _packed(node)
    taken = None if packed is None else _taken(node, packed, known)
    if packed is None or not taken:
        return False
    parts = _parts(node, packed)
    values = [_cut(node, parts[number], packed, output) for output, number in taken]
    for (output, _), part in zip(taken, values, strict=True):
        if part is not None and None not in values:
            replace(output, part)
    return None not in values


def _cut(node: ir.Node, part: ir.Value, packed: _Packed, like: ir.Value) -> ir.Value | None:
    """Return a part with the axes that ``like`` has."""
    target_sizes, cut = sizes_of(like), insert_reshape(node, part, packed.part)
    if cut is None or target_sizes is None:
        return None
    turned = insert(node, "Transpose", [cut], {"perm": list(packed.perm)})
    set_sizes(turned, [packed.part[place] for place in packed.perm])
    return insert_reshape(node, turned, target_sizes)


def _packed(node: ir.Node) -> _Packed | None:
    """Return what a Transpose exchanges the axes of, if its last axis alone was cut."""
    cut = node.inputs[0]
    reshape = cut.producer() if is_node(cut, "Reshape") and cut is not None and only_reader(cut) is node else None
    source = reshape.inputs[0] if reshape is not None else None
    before, after = sizes_of(source), sizes_of(cut)
    if source is None or not before or after is None:
        return None
    place, reverse = len(before) - 1, list(range(len(after)))[::-1]
    perm = list(node.attributes.get_ints("perm", reverse))
    if list(after[:place]) != list(before[:-1]) or product(after[place:]) != before[-1] or len(after) < len(before) + 1:
        return None
    count = after[place].number
    rest = [axis - (axis > place) for axis in perm if axis != place]
    return (
        None
        if count is None
        else _Packed(source, count, [*after[:place], *after[place + 1 :]], rest, perm.index(place))
    )


def _taken(node: ir.Node, packed: _Packed, known: Mapping[ir.Value, Elements]) -> list[tuple[ir.Value, int]]:
    """Return what takes one part, and which; nothing where a reader takes something else."""
    turned = node.outputs[0]
    taken: list[tuple[ir.Value, int]] = []
    for use in turned.uses():
        reader = use.node
        if use.idx != 0 or reader.domain or reader.graph is not node.graph:
            return []
        axis = reader.attributes.get_int("axis", 0) % (len(packed.part) + 1)
        is_along = reader.op_type == "Slice" or (axis == packed.axis and reader.op_type in ("Split", "Gather"))
        if not is_along or turned.is_graph_output():
            return []
        part = _of_slice(reader, packed, known) if reader.op_type == "Slice" else _READ[reader.op_type](reader, packed)
        if not part:
            return []
        taken += part
    return [] if any(output.is_graph_output() for output, _ in taken) else taken


def _of_split(reader: ir.Node, packed: _Packed) -> list[tuple[ir.Value, int]]:
    sizes = [sizes_of(output) for output in reader.outputs]
    each = all(part_sizes is not None and part_sizes[packed.axis] == ONE for part_sizes in sizes)
    return (
        [(output, place) for place, output in enumerate(reader.outputs)] if each and len(sizes) == packed.count else []
    )


def _of_gather(reader: ir.Node, packed: _Packed) -> list[tuple[ir.Value, int]]:
    index = scalar(reader.inputs[1])
    if index is None or not -packed.count <= index < packed.count or sizes_of(reader.outputs[0]) is None:
        return []
    return [(reader.outputs[0], int(index) % packed.count)]


def _of_slice(reader: ir.Node, packed: _Packed, known: Mapping[ir.Value, Elements]) -> list[tuple[ir.Value, int]]:
    parts, sizes = axis_slices(reader, known) or [], sizes_of(reader.outputs[0])
    part = parts[0] if len(parts) == 1 else None
    start, end = (part.start.number, part.end.number) if part is not None else (None, None)
    if part is None or start is None or end is None or sizes is None or (part.axis, part.step) != (packed.axis, 1):
        return []
    is_one = 0 <= start < packed.count and sizes[packed.axis] == ONE
    return [(reader.outputs[0], start)] if is_one and end == start + 1 else []


_READ = {"Split": _of_split, "Gather": _of_gather}


def _parts(node: ir.Node, packed: _Packed) -> Sequence[ir.Value]:
    graph, source = node.graph, packed.source
    assert graph is not None
    before = list(sizes_of(source) or ())
    counted = graph.opset_imports.get("", 0) >= _WITH_COUNT
    attributes = {"axis": len(before) - 1, **({"num_outputs": packed.count} if counted else {})}
    parts = insert_with_outputs(node, "Split", [source], attributes, packed.count)
    for output in parts:
        output.type = source.type
        set_sizes(output, [*before[:-1], Size(before[-1].factor // packed.count, before[-1].names)])
    return parts


split_packed: Pass = Rewrite(
    "split_packed", "packed queries, keys and values are split where they are computed", _split_packed
)
"""Before :data:`irbench.optimizer.passes.attention.fuse_attention.fuse_attention`, which joins heads of each."""
