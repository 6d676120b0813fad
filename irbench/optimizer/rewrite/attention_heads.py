"""Leave it to attention to split queries, keys and values into heads and to join the heads of its result."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from irbench.onnx.shapes import set_sizes
from irbench.onnx.sizes import ONE, Size, product, sizes_of
from irbench.optimizer.rewrite.edit import insert, is_node, only_reader, replace, weight
from irbench.optimizer.rewrite.inserter import Inserter
from irbench.optimizer.rewrite.rules import holds

if TYPE_CHECKING:
    import onnx_ir as ir

_HEADS_FIRST = [0, 2, 1, 3]
_QUERIES, _KEYS, _VALUES = 0, 1, 2


@dataclass(frozen=True)
class _Joined:
    """What follows an attention whose heads are joined.

    Attributes:
        choice: The Where that puts rows to zero before, if there is one.
    """

    result: ir.Value
    sizes: list[Size]
    choice: ir.Node | None


def join_heads(node: ir.Node) -> bool:
    """Rewrite an Attention of (batch, heads, length, width) that stands between the splitting and joining of heads.

    Returns:
        Whether it stood there.
    """
    sources = [_before_split(value) for value in node.inputs[:3]]
    found = [source for source in sources if source is not None]
    joined = _after(node)
    if len(found) < 3 or joined is None or len(node.outputs) > 1:
        return False
    heads = [count for _, count in found]
    if heads[_KEYS] != heads[_VALUES] or heads[_QUERIES] % heads[_KEYS]:
        return False
    reader = joined.result.producer()
    assert reader is not None
    stated = {**node.attributes, "q_num_heads": heads[_QUERIES], "kv_num_heads": heads[_KEYS]}
    answer = insert(reader, "Attention", [*(value for value, _ in found), *node.inputs[3:]], stated)
    set_sizes(answer, joined.sizes)
    replace(joined.result, answer if joined.choice is None else _zeroed(answer, joined.choice, reader))
    return True


def _before_split(value: ir.Value | None) -> tuple[ir.Value, int] | None:
    if (alone := _before_heads(value)) is not None and len(sizes_of(alone) or ()) == 3:
        return alone, 1
    axes, split = [0, 1, 2, 3], value
    while split is not None and is_node(split, "Transpose"):
        node = split.producer()
        perm = list(node.attributes.get_ints("perm", [3, 2, 1, 0])) if node is not None else []
        if node is None or len(perm) != len(axes):
            return None
        axes, split = [perm[axis] for axis in axes], node.inputs[0]
    reshape = split.producer() if split is not None and is_node(split, "Reshape") else None
    source = reshape.inputs[0] if reshape is not None else None
    parts, whole = sizes_of(split), sizes_of(source)
    if axes != _HEADS_FIRST or source is None or parts is None or whole is None or len(parts) != 4:
        return None
    heads = parts[2].number
    return (source, heads) if heads and list(whole) == [*parts[:2], product(parts[2:])] else None


def _after(node: ir.Node) -> _Joined | None:
    """Read downwards from an attention to its joined heads."""
    attended, choice = node.outputs[0], None
    before, reader = sizes_of(attended), only_reader(attended)
    if reader is not None and is_node(reader.outputs[0], "Where"):
        choice = reader
        if reader.inputs[1] is not attended or not _covers_heads(reader, attended):
            return None
        reader = only_reader(reader.outputs[0])
    if reader is not None and before is not None and _drops_heads(reader, before):
        return _Joined(reader.outputs[0], [before[0], *before[2:]], choice)
    turned = reader.outputs[0] if reader is not None and is_node(reader.outputs[0], "Transpose") else None
    perm = list(reader.attributes.get_ints("perm", [3, 2, 1, 0])) if reader is not None and turned is not None else []
    last = only_reader(turned) if turned is not None and perm == _HEADS_FIRST else None
    if last is None or not is_node(last.outputs[0], "Reshape") or last.inputs[0] is not turned or before is None:
        return None
    parts, after = [before[place] for place in _HEADS_FIRST], sizes_of(last.outputs[0])
    whole = [*parts[:2], product(parts[2:])]
    return _Joined(last.outputs[0], whole, choice) if after is not None and list(after) == whole else None


def _drops_heads(reader: ir.Node, before: Sequence[Size]) -> bool:
    after = sizes_of(reader.outputs[0])
    dropped = is_node(reader.outputs[0], "Reshape", "Squeeze") and len(before) == 4 and before[1] == ONE
    return dropped and after is not None and list(after) == [before[0], *before[2:]]


def _covers_heads(choice: ir.Node, attended: ir.Value) -> bool:
    """Whether rows are put to zero whatever their head and place in it, by a number that joined heads may meet too."""
    rows, _, zero = choice.inputs
    sizes, axes = sizes_of(rows), sizes_of(zero)
    if sizes is None or axes is None or not holds(zero, 0, attended):
        return False
    return len(sizes) == 4 and sizes[1] == sizes[3] == ONE and len(axes) < len(sizes)


def _zeroed(answer: ir.Value, choice: ir.Node, before: ir.Node) -> ir.Value:
    rows, _, zero = choice.inputs
    assert rows is not None
    made = insert(before, "Where", [_of_every_head(rows, before), answer, zero])
    made.shape = answer.shape
    return made


def _of_every_head(rows: ir.Value, before: ir.Node) -> ir.Value:
    """Return which rows keep any key, without the axis of heads; where that axis was added to a mask, from before."""
    sizes, inserter = list(sizes_of(rows) or ()), Inserter(before)
    mask = _before_heads(_reduced(rows))
    if mask is not None:
        return inserter.any_of_last(mask)
    squeezed = insert(before, "Squeeze", [rows, inserter.constant(np.array([1], np.int64))])
    squeezed.type = rows.type
    set_sizes(squeezed, [sizes[0], *sizes[2:]])
    return squeezed


def _reduced(rows: ir.Value) -> ir.Value | None:
    """Return that of which rows hold whether it is true anywhere along its last axis."""
    node = rows.producer() if is_node(rows, "ReduceMax") else None
    axes = weight(node.inputs[1]) if node is not None and len(node.inputs) > 1 else None
    if node is None or axes is None or axes.tolist() != [-1] or node.attributes.get_int("keepdims", 1) != 1:
        return None
    return node.inputs[0]


def _before_heads(kept: ir.Value | None) -> ir.Value | None:
    node = kept.producer() if kept is not None and is_node(kept, "Unsqueeze", "Reshape") else None
    before, after = sizes_of(node.inputs[0]) if node is not None else None, sizes_of(kept)
    if node is None or before is None or after is None:
        return None
    return node.inputs[0] if list(after) == [*before[:1], ONE, *before[1:]] and len(before) > 1 else None
