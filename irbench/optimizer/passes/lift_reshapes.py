"""Move changes of layout out of the way of matrix products and what follows them.

1. Reshape(MatMul(Reshape(x, [rows, k]), w), [..., n])   -> MatMul(Reshape(x, [..., k]), w); where n is split after
   the product, into heads for example, a Reshape that only splits it stays
2. MatMul(a, b), a and b changes of layout, one of them  -> Reshape(MatMul(Reshape(a), Reshape(b))), the leading axes
   or the result a Reshape that merges leading axes         as they are before that merging
3. Add(Reshape(x, [..., p, q]), c), c constant and no    -> Reshape(Add(x, c as [p * q]))
   larger than the axes that the last one was split into
4. Transpose or Reshape of x * s, s a constant number    -> Transpose or Reshape of x, then * s
5. Gemm(x, w) without bias or factor, w constant         -> MatMul(x, w), w transposed if Gemm says so
6. Reshape(Reshape(x) + a + b ..), as large as x again,  -> x + Reshape(a + b ..)
   one of its last two axes cut between, a + b .. whole

In rule 1 the inner Reshape goes too where x has that shape already. The changes of layout that come together are
merged by the first rule of ``remove_redundant``.

Rule 6 adds to scores before their axes are cut, not between the cut and its joining. Models that know where in an image
a query and a key are (ViTDet) add biases of rows and of columns to scores whose axes of queries and keys are cut into
rows and columns, and join them again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import reduce
from typing import TYPE_CHECKING

import numpy as np

from irbench.onnx.shapes import infer, set_sizes
from irbench.onnx.sizes import ONE, product, sizes_of
from irbench.optimizer.pass_tools.edit import (
    LAYOUT,
    Inserter,
    add_constant,
    clean,
    insert,
    insert_reshape,
    is_node,
    only_reader,
    replace,
    scalar,
    weight,
)
from irbench.optimizer.passes import Rewrite
from irbench.optimizer.passes.remove_redundant import merge_layouts
from irbench.spi import Pass

if TYPE_CHECKING:
    import onnx_ir as ir

    from irbench.onnx.sizes import Size
    from irbench.spi import Array

_SUM, _CUT = 1, 2


def add_before_cut(node: ir.Node) -> bool:
    """Rewrite Reshape(Reshape(x) + a + b ..) as x + Reshape(a + b ..), where x and the result are as large.

    Nothing else reads what is between, one of the last two axes is cut there, and a + b .. is as large as the sum: what
    is smaller would have to be stretched.
    """
    whole, target = sizes_of(node.inputs[0]), sizes_of(node.outputs[0])
    terms = _addends(node, target)
    if terms is None or whole is None or target is None or list(whole[-2:]) == list(target[-2:]):
        return False
    source, addends = terms
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


def _lift_reshapes(model: ir.Model) -> bool:
    infer(model)
    changed = False
    while any(_apply(model, rules) for rules in _ROUNDS):
        changed = True
        clean(model)
        merge_layouts(model)
        clean(model)
    clean(model)  # a rule that finds out late leaves what it has begun unread
    return changed


def _apply(model: ir.Model, rules: Mapping[str, Sequence[Callable[[ir.Node], bool]]]) -> bool:
    return sum(rule(node) for node in list(model.graph) for rule in rules.get(node.op_type, ()) if _stands(node)) > 0


def _stands(node: ir.Node) -> bool:
    return (
        node.domain == ""
        and node.graph is not None
        and bool(node.outputs[0].uses() or node.outputs[0].is_graph_output())
    )


def _keep_rows(node: ir.Node) -> bool:
    """Rule 1."""
    rows, columns = node.inputs
    after, sizes = _next(node), sizes_of(columns)
    if after is None or not is_node(rows, "Reshape") or not is_node(after, "Reshape") or sizes is None:
        return False
    source, result = _source(rows), sizes_of(after)
    if result is None or len(sizes) != 2:
        return False
    kept = next((count for count in range(len(result) - 1, 0, -1) if product(result[count:]) == sizes[1]), None)
    target_sizes = [*result[:kept], sizes[0]]
    if kept is None or sizes_of(rows) == target_sizes:
        return False
    value = source if sizes_of(source) == target_sizes else insert_reshape(node, source, target_sizes)
    if value is None:
        return False
    new_product = insert(node, "MatMul", [value, columns])
    set_sizes(new_product, [*result[:kept], sizes[1]])
    split = new_product if kept == len(result) - 1 else insert_reshape(node, new_product, result)
    if split is None:
        return False
    replace(after, split)
    return True


def _merge_later(node: ir.Node) -> bool:
    """Rule 2."""
    operands = [
        tensor
        for tensor in node.inputs
        if tensor is not None and is_node(tensor, *LAYOUT) and only_reader(tensor) is node
    ]
    merged, result = [sizes_of(operand) for operand in operands], sizes_of(node.outputs[0])
    if len(operands) < 2 or result is None or any(sizes is None or len(sizes) != len(result) for sizes in merged):
        return False
    leading = next((axes for axes in map(_leading, (*operands, _next(node))) if axes is not None), None)
    if leading is None or any((sizes or ())[:-2] != result[:-2] for sizes in merged) or len(leading) <= len(result) - 2:
        return False
    sources = [
        _apart(node, operand, [*leading, *(sizes or ())[-2:]]) for operand, sizes in zip(operands, merged, strict=True)
    ]
    if None in sources:
        return False
    new_product = insert(node, "MatMul", sources)
    set_sizes(new_product, [*leading, *result[-2:]])
    return _replaced(node.outputs[0], new_product, node) or _replaced(_next(node), new_product, node)


def _apart(before: ir.Node, value: ir.Value | None, sizes: Sequence[Size]) -> ir.Value | None:
    """Reshape an operand to ``sizes``, from what it is made of by changes of layout where that is easier to say."""
    reshaped = insert_reshape(before, value, sizes)
    source = _source(value)
    if reshaped is not None or source is None:
        return reshaped
    if is_node(value, "Reshape"):
        return insert_reshape(before, source, sizes)
    node = value.producer() if value is not None and is_node(value, "Transpose") else None
    axes = list(range(len(sizes_of(value) or ())))
    if node is None or list(node.attributes.get_ints("perm", axes[::-1])) != [*axes[:-2], *axes[:-3:-1]]:
        return None
    inner, last = _apart(before, source, [*sizes[:-2], sizes[-1], sizes[-2]]), len(sizes) - 1
    if inner is None:
        return None
    turned = insert(before, "Transpose", [inner], {"perm": [*range(last - 1), last, last - 1]})
    set_sizes(turned, sizes)
    return turned


def _replaced(value: ir.Value | None, replacement: ir.Value, before: ir.Node) -> bool:
    """Put a product, reshaped, in the place of a value that a Reshape gives, or of the product before; if possible."""
    sizes = sizes_of(value)
    is_reshaped = value is not None and (value is before.outputs[0] or is_node(value, "Reshape"))
    shaped = insert_reshape(before, replacement, sizes) if is_reshaped and sizes is not None else None
    if shaped is None or value is None:
        return False
    replace(value, shaped)
    return True


def _leading(value: ir.Value | None) -> Sequence[Size] | None:
    """Return the leading axes on the wider side of a Reshape that leaves the last two alone, but for ones."""
    before, after = sizes_of(_source(value)), sizes_of(value)
    if not is_node(value, "Reshape") or before is None or after is None:
        return None
    few, many = sorted((before, after), key=len)
    for wide in (list(many), [size for size in many if size != ONE]):
        if wide[-2:] == list(few[-2:]) and len(wide) >= len(few) and product(wide[:-2]) == product(few[:-2]):
            return wide[:-2]
    return None


def _next(node: ir.Node) -> ir.Value | None:
    reader = only_reader(node.outputs[0])
    return reader.outputs[0] if reader is not None and reader.inputs[0] is node.outputs[0] else None


def _add_before_split(node: ir.Node) -> bool:
    """Rule 3."""
    for place, value in enumerate(node.inputs):
        constant = weight(node.inputs[1 - place])
        if constant is None or value is None or not is_node(value, "Reshape") or only_reader(value) is not node:
            continue
        source = _source(value)
        before, after = sizes_of(source), sizes_of(value)
        if not before or after is None or node.graph is None or constant.size == 1:
            continue
        split = after[len(before) - 1 :]
        numbers = [size.number for size in split]
        if list(before[:-1]) != list(after[: len(before) - 1]) or None in numbers or product(split) != before[-1]:
            continue
        flat = _flat(constant, [number or 0 for number in numbers])
        if flat is None or len(after) < constant.ndim:
            continue
        total = insert(node, "Add", [source, add_constant(node.graph, flat, node.outputs[0])])
        set_sizes(total, before)
        again = insert_reshape(node, total, after)
        if again is not None:
            replace(node.outputs[0], again)
            return True
    return False


def _flat(constant: Array, sizes: Sequence[int]) -> Array | None:
    """Return the elements of a constant, repeated to fill axes of these sizes, unless it reaches beyond them."""
    leading = max(0, constant.ndim - len(sizes))
    shape = constant.shape[leading:]
    within = all(length in (1, size) for length, size in zip(shape[::-1], sizes[::-1], strict=False))
    if not within or any(size != 1 for size in constant.shape[:leading]):
        return None
    return np.broadcast_to(constant.reshape(shape), sizes).reshape(-1)


def _scale_later(node: ir.Node) -> bool:
    """Rule 4."""
    value, *rest = node.inputs
    product_node = value.producer() if value is not None and is_node(value, "Mul", "Div") else None
    if product_node is None or value is None or only_reader(value) is not node:
        return False
    for place, factor in enumerate(product_node.inputs):
        other = product_node.inputs[1 - place]
        if scalar(factor) is None or (product_node.op_type == "Div" and place == 0) or scalar(other) is not None:
            continue
        if sizes_of(other) != sizes_of(value) or sizes_of(value) is None:
            continue
        after = sizes_of(node.outputs[0])
        if factor is None or factor.shape is None or len(factor.shape) > len(after or ()):
            continue  # the scale's axes would become the result's
        moved = insert(node, node.op_type, [other, *rest], dict(node.attributes))
        new_product = insert(node, product_node.op_type, [moved, factor] if place else [factor, moved])
        if after is not None:
            set_sizes(moved, after)
            set_sizes(new_product, after)
        replace(node.outputs[0], new_product)
        return True
    return False


def _as_product(node: ir.Node) -> bool:
    """Rule 5."""
    rows, columns, *bias = node.inputs
    constant, attributes, sizes = weight(columns), node.attributes, sizes_of(node.outputs[0])
    if (
        any(bias)
        or attributes.get_float("alpha", 1.0) != 1
        or attributes.get_int("transA", 0) != 0
        or node.graph is None
    ):
        return False
    if constant is None or sizes is None:
        return False
    matrix = add_constant(node.graph, constant.T, node.outputs[0]) if attributes.get_int("transB", 0) != 0 else columns
    new_product = insert(node, "MatMul", [rows, matrix])
    set_sizes(new_product, sizes)
    replace(node.outputs[0], new_product)
    return True


def _source(value: ir.Value | None) -> ir.Value | None:
    node = value.producer() if value is not None else None
    return node.inputs[0] if node is not None else None


_ROUNDS: Sequence[Mapping[str, Sequence[Callable[[ir.Node], bool]]]] = (
    {
        "MatMul": (_keep_rows, _merge_later),
        "Add": (_add_before_split,),
        "Gemm": (_as_product,),
        "Reshape": (add_before_cut,),
    },
    {"Transpose": (_scale_later,), "Reshape": (_scale_later,)},
)
"""Rules by the operation that they begin with, rule 4 last: what it puts behind a Reshape hides that from rule 2."""

lift_reshapes: Pass = Rewrite(
    "lift_reshapes", "matrix products in place, without reshaping around them", _lift_reshapes
)
