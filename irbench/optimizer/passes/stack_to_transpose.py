"""Write a stack of all parts of an axis as the change of layout that it is.

1. Concat(Unsqueeze(a), Unsqueeze(b), ..) along the new axis,    -> Transpose(Reshape(x))
   a, b, .. all equal parts of the last axis of x, in order

Parts are what a Split gives, or slices: each n-th element counts too. ``remove_redundant``'s first rule then joins this
with what comes before and after. Gemma exchanges the elements of its queries and keys so.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from irbench.onnx.shapes import infer, set_sizes
from irbench.onnx.sizes import ONE, Size, sizes_of
from irbench.optimizer.pass_tools.edit import clean, insert, insert_reshape, is_node, replace
from irbench.optimizer.pass_tools.rotation import Known, cut
from irbench.optimizer.passes import Rewrite
from irbench.spi import Pass

if TYPE_CHECKING:
    from collections.abc import Sequence

    import onnx_ir as ir


def _stack_to_transpose(model: ir.Model) -> bool:
    known = infer(model)
    stacks = [node for node in model.graph if is_node(node.outputs[0], "Concat")]
    changed = sum([_replace(node, known) for node in stacks]) > 0
    if changed:
        clean(model)
    return changed


def _replace(node: ir.Node, known: Known) -> bool:
    """Rule 1."""
    parts = [_unstacked(value, node) for value in node.inputs]
    stacked = _parts(parts, known)
    sizes = sizes_of(node.outputs[0])
    if stacked is None or sizes is None or len(parts) < 2:
        return False
    source, interleaved = stacked
    whole, count = list(sizes_of(source) or ()), Size(len(parts))
    length = Size((whole[-1].number or 0) // len(parts))
    rank = len(whole)
    place = rank if interleaved else rank - 1
    axis = node.attributes.get_int("axis", 0) % len(sizes)
    order = [other for other in range(rank + 1) if other != place]
    order.insert(axis, place)
    value = insert_reshape(node, source, [*whole[:-1], *([length, count] if interleaved else [count, length])])
    if value is None:
        return False
    if order != sorted(order):
        value = insert(node, "Transpose", [value], {"perm": order})
        set_sizes(value, sizes)
    replace(node.outputs[0], value)
    return True


def _unstacked(value: ir.Value | None, stack: ir.Node) -> ir.Value | None:
    """Return what an operand of a Concat is before the axis of size one was added along which the stack goes."""
    node = value.producer() if value is not None and is_node(value, "Unsqueeze", "Reshape") else None
    sizes, before = sizes_of(value), sizes_of(node.inputs[0]) if node is not None else None
    if node is None or sizes is None or before is None:
        return None
    axis = stack.attributes.get_int("axis", 0) % len(sizes)
    return node.inputs[0] if list(sizes) == [*before[:axis], ONE, *before[axis:]] else None


def _parts(parts: Sequence[ir.Value | None], known: Known) -> tuple[ir.Value, bool] | None:
    cuts = [cut(part, known) for part in parts]
    first = cuts[0]
    sizes = sizes_of(first.source) if first is not None else None
    length = sizes[-1].number if sizes else None
    count = len(parts)
    if first is None or not length or length % count:
        return None
    each = length // count
    in_turn = [(first.source, place * each, (place + 1) * each, 1) for place in range(count)]
    interleaved = [(first.source, place, length, count) for place in range(count)]
    if cuts in (in_turn, interleaved):
        return first.source, cuts == interleaved
    return None


stack_to_transpose: Pass = Rewrite(
    "stack_to_transpose", "stacks of all parts of an axis as a change of layout", _stack_to_transpose
)
