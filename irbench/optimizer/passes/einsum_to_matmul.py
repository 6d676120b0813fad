"""Write Einsum of two operands as a matrix product, which runtimes run faster.

1. Einsum(a, b), every index once in each operand that has it     -> MatMul of a and b, transposed and merged to axes
                                                                     (batch, rows, inner) and (batch, inner, columns)

Indices of both operands and of the result are the batch, of both operands alone the inner ones. Sizes are known,
dynamic ones by name. Ellipses, sums over an index of one operand and repeated indices stay an Einsum.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from irbench.onnx.shapes import infer, set_sizes
from irbench.onnx.sizes import Size, product, sizes_of
from irbench.optimizer.pass_tools.edit import clean, insert, insert_reshape, is_node, replace
from irbench.optimizer.passes import Rewrite
from irbench.optimizer.passes.remove_redundant import merge_layouts
from irbench.spi import Pass

if TYPE_CHECKING:
    import onnx_ir as ir

Axes = tuple[Sequence[str], Sequence[Sequence[str]]]
"""Indices with an axis each, MatMul takes any number of leading ones; then groups of indices with an axis together."""


_TYPES = ("FLOAT", "DOUBLE", "FLOAT16", "BFLOAT16", "INT32", "INT64", "UINT32", "UINT64")
"""What MatMul multiplies; Einsum also takes integers of fewer bits."""


def _einsum_to_matmul(model: ir.Model) -> bool:
    infer(model)
    nodes = [node for node in model.graph if is_node(node.outputs[0], "Einsum") and _multiplies(node.outputs[0])]
    changed = sum(_rewrite(node) for node in nodes) > 0
    clean(model)
    if changed:
        merge_layouts(model)
        clean(model)
    return changed


def _multiplies(value: ir.Value) -> bool:
    return value.dtype is not None and value.dtype.name in _TYPES


def _rewrite(node: ir.Node) -> bool:
    terms = _terms(str(node.attributes.get_string("equation", "")))
    size = None if terms is None else _size_of_each_index(node, *terms[:2])
    if terms is None or size is None:
        return False
    left, right, result = terms
    batch = [index for index in result if index in left and index in right]
    inner = [index for index in left if index in right and index not in result]
    rows, columns = ([index for index in result if index in term and index not in batch] for term in (left, right))
    left_axes, right_axes = ([rows, inner] if batch else [inner]), [inner, columns]
    result_axes = [rows, columns] if batch else [columns]
    leading = batch or rows
    operands = [_merged(node, 0, left, (leading, left_axes), size), _merged(node, 1, right, (batch, right_axes), size)]
    new_product = insert(node, "MatMul", operands) if None not in operands else None
    if new_product is None:
        return False
    value = _split(node, new_product, (leading, result_axes), result, size)
    if value is None:
        return False
    replace(node.outputs[0], value)
    return True


def _size_of_each_index(node: ir.Node, left: str, right: str) -> dict[str, Size] | None:
    """Return the size of each index of both operands; ``None`` where they are unknown, or an axis of 1 is stretched."""
    sizes = [sizes_of(value) for value in node.inputs]
    if len(sizes) != 2 or sizes[0] is None or sizes[1] is None:
        return None
    if (len(left), len(right)) != (len(sizes[0]), len(sizes[1])):
        return None
    size = dict(zip(left + right, [*sizes[0], *sizes[1]], strict=True))
    return size if size == dict(zip(right + left, [*sizes[1], *sizes[0]], strict=True)) else None


def _terms(equation: str) -> tuple[str, str, str] | None:
    """Return the indices of both operands and of the result, if a product can be made of them."""
    operands, arrow, result = equation.replace(" ", "").partition("->")
    left, comma, right = operands.partition(",")
    plain = all(term.isalpha() and len(set(term)) == len(term) for term in (left, right, result))
    if not arrow or not comma or not plain:
        return None
    summed_alone = (set(left) ^ set(right)) - set(result)
    return (
        None
        if summed_alone or not set(left) & set(right) or not set(result) <= set(left + right)
        else (left, right, result)
    )


def _merged(node: ir.Node, place: int, term: str, axes: Axes, size: dict[str, Size]) -> ir.Value | None:
    order = _order(axes)
    value = insert(node, "Transpose", [node.inputs[place]], {"perm": [term.index(cell) for cell in order]})
    set_sizes(value, [size[cell] for cell in order])
    return insert_reshape(node, value, _sizes(axes, size))


def _split(node: ir.Node, value: ir.Value, axes: Axes, result: str, size: dict[str, Size]) -> ir.Value | None:
    order = _order(axes)
    set_sizes(value, _sizes(axes, size))
    split = insert_reshape(node, value, [size[cell] for cell in order])
    if split is None:
        return None
    moved = insert(node, "Transpose", [split], {"perm": [order.index(index) for index in result]})
    set_sizes(moved, [size[index] for index in result])
    return moved


def _order(axes: Axes) -> list[str]:
    apart, merged = axes
    return [*apart, *(row for group in merged for row in group)]


def _sizes(axes: Axes, size: dict[str, Size]) -> list[Size]:
    apart, merged = axes
    return [*(size[index] for index in apart), *(product(size[row] for row in group) for group in merged)]


einsum_to_matmul: Pass = Rewrite("einsum_to_matmul", "Einsum of two operands as a matrix product", _einsum_to_matmul)
