"""Bring back choices that an exporter wrote as arithmetic.

1. cast(c) * a + cast(not c) * b                        -> Where(c, a, b)
2. Where(and(t, c), a, b), t everywhere true            -> Where(c, a, b), if a or b alone has the shape of the result
3. Gather(x, Where(i < 0, i + n, i)), n elements in x   -> Gather(x, i), which counts negative indices from the end
4. x * c + d, c of zeros and ones, d zero where c is one  -> Where(c, x, d)

What rule 1 takes apart may have other readers: exporters compute the casts of a condition once for all choices.
Rule 1 keeps infinities and NaN out of where they were not chosen, as the original model did. Rule 3 refuses an index
below -n, as the original model did; the arithmetic would have counted it from the end twice.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from irbench.onnx.shapes import infer
from irbench.onnx.sizes import Size, sizes_of
from irbench.optimizer.pass_tools.edit import add_constant, clean, insert, is_node, only_reader, replace, weight
from irbench.optimizer.pass_tools.rules import Rule, apply_rules, either, holds, number_beside
from irbench.optimizer.passes import Rewrite
from irbench.spi import Array, Pass

if TYPE_CHECKING:
    import onnx_ir as ir


def _restore_select(model: ir.Model) -> bool:
    infer(model)
    changed = apply_rules(model, [Rule(_wrapped_pattern, _plain_gather, _wraps)])
    infer(model)
    for node in [node for node in model.graph if is_node(node.outputs[0], "Add")]:
        changed |= _restore_sum(node) or _restore_folded(node)
    for node in [node for node in model.graph if is_node(node.outputs[0], "Where")]:
        changed |= _drop_truth(node)
    clean(model)
    return changed


def _restore_sum(node: ir.Node) -> bool:
    """Rule 1."""
    first, second = node.inputs
    for chosen, other in ((first, second), (second, first)):
        for condition, a in _factors(chosen):
            for negated, b in _factors(other):
                if is_node(negated, "Not") and _input(negated) is condition:
                    selected = insert(node, "Where", [condition, a, b])
                    selected.shape = node.outputs[0].shape
                    replace(node.outputs[0], selected)
                    return True
    return False


def _factors(product: ir.Value | None) -> Iterator[tuple[ir.Value, ir.Value]]:
    node = product.producer() if product is not None and is_node(product, "Mul") else None
    for factor, number in () if node is None else (node.inputs, node.inputs[::-1]):
        condition = _input(factor) if is_node(factor, "Cast") else None
        dtype = condition.dtype if condition is not None else None
        if condition is not None and number is not None and dtype is not None and dtype.name == "BOOL":
            yield condition, number


def _input(value: ir.Value | None) -> ir.Value | None:
    node = value.producer() if value is not None else None
    return node.inputs[0] if node is not None else None


def _wrapped_pattern(op: Any, data: Any, index: Any, zero: Any, count: Any) -> Any:
    negative = op.Less(either(op.Cast(index, _allow_other_attributes=True), index), zero)
    wrapped = op.Where(negative, op.Add(index, count), index)
    return op.Gather(data, wrapped, _allow_other_attributes=True, _outputs=["gathered"])


def _wraps(
    _: Any, data: ir.Value, index: ir.Value, zero: ir.Value, count: ir.Value, gathered: ir.Value, **__: Any
) -> bool:
    sizes, node, number = sizes_of(data), gathered.producer(), number_beside(count, index)
    if sizes is None or node is None or number is None or not holds(zero, 0, index):
        return False
    return sizes[node.attributes.get_int("axis", 0)] == Size(int(number))


def _plain_gather(op: Any, data: ir.Value, index: ir.Value, gathered: ir.Value, **_: Any) -> Any:
    node = gathered.producer()
    return op.Gather(data, index, axis=node.attributes.get_int("axis", 0) if node is not None else 0)


def _drop_truth(node: ir.Node) -> bool:
    """Rule 2."""
    condition, *choices = node.inputs
    result = sizes_of(node.outputs[0])
    both = condition.producer() if condition is not None and is_node(condition, "And") else None
    if both is None or result is None or not any(sizes_of(choice) == result for choice in choices):
        return False
    for place, operand in enumerate(both.inputs):
        if operand is not None and _is_true(operand):
            node.replace_input_with(0, both.inputs[1 - place])
            return True
    return False


def _restore_folded(node: ir.Node) -> bool:
    """Rule 4."""
    for place, value in enumerate(node.inputs):
        factored = value.producer() if value is not None and is_node(value, "Mul") else None
        shift = weight(node.inputs[1 - place])
        if factored is None or value is None or shift is None or only_reader(value) is not node or node.graph is None:
            continue
        for side, factor in enumerate(factored.inputs):
            chosen = weight(factor)
            if chosen is None or set(np.unique(chosen)) != {0, 1} or np.where(chosen, shift, 0).any():
                continue
            source, result = factored.inputs[1 - side], sizes_of(node.outputs[0])
            constants = (chosen.astype(bool), shift)
            if result is not None and sizes_of(source) == result:
                constants = _least_choice(*constants)
            condition, other = (add_constant(node.graph, constant, node.outputs[0]) for constant in constants)
            replace(node.outputs[0], insert(node, "Where", [condition, source, other]))
            return True
    return False


def _least_choice(chosen: Array, shift: Array) -> tuple[Array, Array]:
    """Return the smallest constants that choose and give the same beside a value of the result's shape."""
    everywhere, shifts = np.broadcast_arrays(chosen, shift)
    others = shifts[~everywhere]
    return _least(chosen), others[0] if _same(others, others[:1]) else shift


def _least(array: Array) -> Array:
    for axis in range(array.ndim):
        first = array.take([0], axis)
        array = first if _same(array, first) else array
    return array


def _same(array: Array, other: Array) -> bool:
    return bool(((array == other) & (np.signbit(array) == np.signbit(other))).all())


def _is_true(value: ir.Value) -> bool:
    if is_node(value, "Expand"):
        node = value.producer()
        return node is not None and node.inputs[0] is not None and _is_true(node.inputs[0])
    constant = weight(value)
    return constant is not None and bool(constant.all())


restore_select: Pass = Rewrite("restore_select", "choices written as arithmetic become Where, or go", _restore_select)
