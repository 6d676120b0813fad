"""Add to scores before their axes are cut, not between the cut and its joining.

Models that know where in an image a query and a key are (ViTDet) add biases of rows and of columns to scores whose
axes of queries and keys are cut into rows and columns, and join them again.
"""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING

from irbench.onnx.sizes import sizes_of
from irbench.optimizer.rewrite.edit import is_node, only_reader, replace
from irbench.optimizer.rewrite.inserter import Inserter

if TYPE_CHECKING:
    from collections.abc import Sequence

    import onnx_ir as ir

    from irbench.onnx.sizes import Size

_SUM, _CUT = 1, 2


def add_before_cut(node: ir.Node) -> bool:
    """Rewrite Reshape(Reshape(x) + a + b ..) as x + Reshape(a + b ..), where x and the result are as large.

    Nothing else reads what is between, one of the last two axes is cut there, and a + b .. is as large as the sum: what
    is smaller would have to be stretched.
    """
    whole, target = sizes_of(node.inputs[0]), sizes_of(node.outputs[0])
    found = _addends(node, target)
    if found is None or whole is None or target is None or list(whole[-2:]) == list(target[-2:]):
        return False
    source, addends = found
    if any(sizes_of(addend) is None for addend in addends):
        return False
    inserter = Inserter(node)
    total = reduce(lambda first, second: inserter.elementwise("Add", first, second), addends)
    joined = inserter.reshape(total, target) if sizes_of(total) == whole else None
    if joined is None:
        return False
    replace(node.outputs[0], inserter.elementwise("Add", source, joined))
    return True


def _addends(node: ir.Node, target: Sequence[Size] | None) -> tuple[ir.Value, list[ir.Value]] | None:
    """Return what is cut, as large as the target, and all that is added to it before a Reshape, at least one value."""
    value, reader = node.inputs[0], node
    addends: list[ir.Value] = []
    while value is not None and is_node(value, "Add") and only_reader(value) is reader:
        total = value.producer()
        assert total is not None
        reader = total
        first, second = sorted(reader.inputs, key=lambda operand: _likeness(operand, reader, target), reverse=True)
        addends += [second] if second is not None else []
        value = first if sizes_of(first) == sizes_of(value) else None
    cut = value.producer() if value is not None and _likeness(value, reader, target) == _CUT else None
    source = cut.inputs[0] if cut is not None else None
    return (source, addends) if source is not None and addends else None


def _likeness(value: ir.Value | None, reader: ir.Node, target: Sequence[Size] | None) -> int:
    """Return how sure it is that a sum, or a Reshape of what is as large as the target, is what is added to."""
    node = value.producer() if value is not None and only_reader(value) is reader else None
    if node is None or value is None:
        return 0
    return _CUT if is_node(value, "Reshape") and sizes_of(node.inputs[0]) == target else _SUM * is_node(value, "Add")
