"""Fuse rotary position embedding (Su et al., 2021) into RotaryEmbedding.

A pair (a, b) is one element of each half of the last axis of x, or two neighbours on it:

1. x * cos + (-b, a) * sin                           -> RotaryEmbedding(x, cos, sin)
2. (a * cos - b * sin, b * cos + a * sin)            -> RotaryEmbedding(x, cos, sin)
3. Concat(rule 1 or 2 of the first elements of x,    -> RotaryEmbedding(x, cos, sin), rotary_embedding_dim
   the other elements of x)

The axes of x are (batch, heads, length, width), (batch, length, heads, width) or (batch, length, width), in float32 or
float16; cosines and sines are constants or computed, the same for all heads, with the length of x and its batch or
none. In rule 1 they hold every number twice, which constants, a Concat, a stack or a Tile prove; half of them is
computed then. What is put together again may be concatenated or stacked.

The operator has no axis of heads where they follow the length: those are merged with the width and split again. Tables
without a batch are made as large as that of x, once for all layers, because ONNX Runtime does not stretch them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from irbench.onnx.shapes import infer, set_sizes
from irbench.onnx.sizes import ONE, Size, product, sizes_of
from irbench.optimizer.pass_tools.edit import (
    add_constant,
    clean,
    described,
    insert,
    insert_reshape,
    is_node,
    only_reader,
    replace,
    weight,
)
from irbench.optimizer.pass_tools.rotation import HalfTables, Known, Rotation, cut, read_rotation
from irbench.optimizer.passes import Rewrite
from irbench.spi import Pass

if TYPE_CHECKING:
    from collections.abc import Sequence

    import onnx_ir as ir

_TYPES = ("FLOAT", "FLOAT16")
_HEADS_FIRST = [0, 2, 1, 3]


def _fuse_rotary_embedding(model: ir.Model) -> bool:
    known = infer(model)
    fusion = _Fusion(known)
    candidates = [node for node in model.graph if is_node(node.outputs[0], "Add", "Concat", "Reshape")]
    changed = sum([fusion.fuse(node) for node in candidates]) > 0
    clean(model)  # halves of tables whose other half differs are left unread
    return changed


class _Fusion:
    """Fuses one rotation after another, in the order of computation; tables are made once for all of them."""

    def __init__(self, known: Known) -> None:
        self._known = known
        self._halves = {neighbours: HalfTables(neighbours) for neighbours in (False, True)}
        self._tables: dict[tuple[ir.Value, tuple[Size, ...], int], ir.Value | None] = {}

    def fuse(self, node: ir.Node) -> bool:
        rotation = read_rotation(node, self._known) if node.graph is not None else None
        if rotation is None or rotation.source.dtype is None or rotation.source.dtype.name not in _TYPES:
            return False
        sizes = sizes_of(rotation.source)
        axis = _axis_of_length(sizes, rotation)
        if sizes is None or axis is None or sizes[-1].number is None:
            return False
        shared = [*sizes[:1], sizes[axis]]
        tables = [self._table(table, rotation, shared, axis, node) for table in (rotation.cosine, rotation.sine)]
        if None in tables:
            return False
        return self._write(node, rotation, tables, axis)

    def _table(
        self, table: ir.Value, rotation: Rotation, shared: Sequence[Size], axis: int, before: ir.Node
    ) -> ir.Value | None:
        """Return cosines or sines with the axes (batch, length, half the width)."""
        whole, own = (sizes_of(value) or [ONE] for value in (rotation.source, table))
        half = Size((whole[-1].number or 0) // 2)
        half_table = table if own[-1] == half else self._halves[rotation.neighbours].half(table, before)
        target_sizes = (*shared, half)
        if half_table is None:
            return None
        key = (half_table, target_sizes, axis)
        if key not in self._tables:
            self._tables[key] = _stretched(half_table, target_sizes, len(whole), axis, rotation.source, before)
        return self._tables[key]

    def _write(self, node: ir.Node, rotation: Rotation, tables: Sequence[ir.Value | None], axis: int) -> bool:
        last, source, width = self._whole(node, rotation)
        attributes = {"interleaved": 1} if rotation.neighbours else {}
        attributes |= {"rotary_embedding_dim": width} if source is not rotation.source else {}
        embedding = (_heads_first if axis == 2 else _length_first)(last, source, tables, attributes)
        if embedding is None:
            return False
        replace(last.outputs[0], embedding)
        return True

    def _whole(self, node: ir.Node, rotation: Rotation) -> tuple[ir.Node, ir.Value, int]:
        """Return what rule 3 fuses, if it applies: its last node, what is rotated in part, and how much of it is."""
        width = (sizes_of(rotation.source) or [ONE])[-1].number or 0
        alone = node, rotation.source, width
        first, reader = cut(rotation.source, self._known), only_reader(node.outputs[0])
        if first is None or reader is None or not is_node(reader.outputs[0], "Concat") or len(reader.inputs) != 2:
            return alone
        rest, sizes = cut(reader.inputs[1], self._known), sizes_of(first.source)
        rank = len(sizes or ())
        if sizes is None or reader.attributes.get_int("axis", 0) % rank != rank - 1:
            return alone
        if reader.inputs[0] is not node.outputs[0] or first[1:] != (0, width, 1):
            return alone
        return (reader, first.source, width) if rest == (first.source, width, sizes[-1].number, 1) else alone


def _axis_of_length(sizes: Sequence[Size] | None, rotation: Rotation) -> int | None:
    """Return which axis of what is rotated cosines and sines go along, besides the last one and perhaps the batch."""
    tables = [sizes_of(table) for table in (rotation.cosine, rotation.sine)]
    if sizes is None or len(sizes) not in (3, 4) or tables[0] is None or tables[0] != tables[1]:
        return None
    aligned = [ONE] * (len(sizes) - len(tables[0])) + list(tables[0])
    width = sizes[-1].number
    if len(aligned) > len(sizes) or width is None or aligned[-1].number not in (width, width // 2):
        return None
    for axis in (1, 2)[: len(sizes) - 2]:
        others = [aligned[place] for place in range(1, len(sizes) - 1) if place != axis]
        if aligned[0] in (ONE, sizes[0]) and aligned[axis] == sizes[axis] and others in ([], [ONE]):
            return axis
    return None


def _stretched(
    table: ir.Value, target_sizes: tuple[Size, ...], rank: int, axis: int, source: ir.Value, before: ir.Node
) -> ir.Value | None:
    """Return a table with the axes (batch, length, half the width), the batch that of the source."""
    own = sizes_of(table)
    if own is None or before.graph is None:
        return None
    aligned = [ONE] * (rank - len(own)) + list(own)
    array, sizes = weight(table), [aligned[0], aligned[axis], aligned[-1]]
    numbers = [size.number for size in target_sizes]
    if array is not None and None not in numbers:
        flat = array.reshape([size.factor for size in sizes])
        return add_constant(before.graph, np.broadcast_to(flat, [number or 0 for number in numbers]), table)
    flat_table = table if list(own) == sizes else insert_reshape(before, table, sizes)
    if flat_table is None or sizes[0] == target_sizes[0]:
        return flat_table
    return _repeated(flat_table, target_sizes, source, before)


def _repeated(table: ir.Value, target_sizes: tuple[Size, ...], source: ir.Value, before: ir.Node) -> ir.Value:
    import onnx_ir as ir

    graph = before.graph
    assert graph is not None
    if target_sizes[0].number is not None:
        target = add_constant(graph, np.array([target_sizes[0].number, 1, 1], np.int64), table)
    else:
        batch = insert(before, "Shape", [source], {"start": 0, "end": 1})
        target = insert(before, "Concat", [batch, add_constant(graph, np.ones(2, np.int64), table)], {"axis": 0})
        described(batch, ir.DataType.INT64, [ONE])
        described(target, ir.DataType.INT64, [Size(3)])
    expanded = insert(before, "Expand", [table, target])
    expanded.type = table.type
    set_sizes(expanded, target_sizes)
    return expanded


def _heads_first(
    node: ir.Node, source: ir.Value, tables: Sequence[ir.Value | None], attributes: dict[str, int]
) -> ir.Value | None:
    """Rotate (batch, heads, length, width), before heads and length change places if they do."""
    turn = source.producer() if is_node(source, "Transpose") else None
    before = turn.inputs[0] if turn is not None else None
    if turn is not None and before is not None and list(turn.attributes.get_ints("perm", [])) == _HEADS_FIRST:
        embedding = _length_first(node, before, tables, attributes)
        if embedding is None:
            return None
        turned = insert(node, "Transpose", [embedding], {"perm": _HEADS_FIRST})
        set_sizes(turned, sizes_of(source) or ())
        return turned
    embedding = insert(node, "RotaryEmbedding", [source, *tables], attributes)
    set_sizes(embedding, sizes_of(source) or ())
    return embedding


def _length_first(
    node: ir.Node, source: ir.Value, tables: Sequence[ir.Value | None], attributes: dict[str, int]
) -> ir.Value | None:
    """Rotate (batch, length, heads, width), or (batch, length, width) as one head."""
    sizes = list(sizes_of(source) or ())
    heads = sizes[2].number if len(sizes) == 4 else 1
    if heads is None or not sizes:
        return None
    merged = [*sizes[:2], product(sizes[2:])]
    joined = source if len(sizes) == 3 else insert_reshape(node, source, merged)
    if joined is None:
        return None
    embedding = insert(node, "RotaryEmbedding", [joined, *tables], {**attributes, "num_heads": heads})
    set_sizes(embedding, merged)
    return embedding if len(sizes) == 3 else insert_reshape(node, embedding, sizes)


fuse_rotary_embedding: Pass = Rewrite(
    "fuse_rotary_embedding", "rotary position embedding in one node", _fuse_rotary_embedding, opset=23
)
