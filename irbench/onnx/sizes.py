"""Sizes of axes, some of them dynamic, such as ``4*batch`` or ``past + tokens``, and elements made of sizes.

A sum is one name, written in one way whatever the order in which it was added up. So sums are equal where their names
are, and products treat them like any other dimension.
"""

from __future__ import annotations

import math
import operator
import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from functools import reduce
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    import onnx_ir as ir

_NAME = re.compile(r"[^\W\d]\w*")
_FACTOR = rf"{_NAME.pattern}|\d+|\([^()]+\)"
_PRODUCT = re.compile(rf"(?:{_FACTOR})(?:\*(?:{_FACTOR}))*")
"""Numbers, names, and in brackets what else a model calls a dimension, such as ``2*(length + 1)`` or ``2*(7)``."""
_TERM = rf"(?:{_NAME.pattern}|\d+)(?:\*(?:{_NAME.pattern}|\d+))*"
_SUM = re.compile(rf"{_TERM}(?: *\+ *{_TERM})+")


class Size(NamedTuple):
    """How long one axis is.

    Attributes:
        names: Dynamic dimensions it is multiplied with, sorted.
    """

    factor: int
    names: tuple[str, ...] = ()

    @property
    def number(self) -> int | None:
        """The size if nothing in it is dynamic."""
        return None if self.names else self.factor


ONE = Size(1)


def parse(dimension: int | str) -> Size:
    """Return the size that a dimension of a shape writes; the inverse of :func:`text`.

    What is neither a product nor a sum of names and numbers, such as ``length - 1`` or ``7``, is one name.
    """
    if isinstance(dimension, int):
        return Size(dimension)
    if "+" in dimension and _SUM.fullmatch(dimension):
        summed = total(_written_terms(dimension))
        return summed if summed is not None and summed.names else Size(1, (dimension,))
    parts = re.findall(_FACTOR, dimension) if _PRODUCT.fullmatch(dimension) else []
    if all(part.isdecimal() for part in parts):
        return Size(1, (dimension,))
    return product(Size(int(part)) if part.isdecimal() else Size(1, (part.strip("()"),)) for part in parts)


def text(size: Size) -> int | str:
    """Return a size as the dimension of a shape."""
    if not size.names:
        return size.factor
    factors = [*([] if size.factor == 1 else [str(size.factor)]), *size.names]
    if len(factors) == 1:
        return factors[0]
    names = [name if _NAME.fullmatch(name) else f"({name})" for name in size.names]
    return "*".join([*factors[: -len(names)], *names])


def product(sizes: Iterable[Size]) -> Size:
    """Multiply sizes; the product of none is one."""
    result = ONE
    for size in sizes:
        result = Size(result.factor * size.factor, tuple(sorted((*result.names, *size.names))))
    return result


def quotient(dividend: Size, divisor: Size) -> Size | None:
    """Return the quotient, or ``None`` where it is not known to be whole."""
    names = Counter(dividend.names)
    names.subtract(divisor.names)
    if divisor.factor == 0 or dividend.factor % divisor.factor or any(count < 0 for count in names.values()):
        return None
    return Size(dividend.factor // divisor.factor, tuple(sorted(names.elements())))


def total(sizes: Iterable[Size]) -> Size | None:
    """Add sizes, of which there is at least one; ``None`` where the sum cannot be written.

    Only names of dimensions are added up, no other texts, and nothing that might be negative.
    """
    added: Counter[tuple[str, ...]] = Counter()
    for size in sizes:
        terms = _terms(size)
        if terms is None:
            return None
        added.update(terms)
    return _sum_of(added)


def difference(whole: Size, part: Size) -> Size | None:
    """Return what is left of a size without another one, ``None`` where it may be negative or cannot be written."""
    if whole == part:
        return Size(0)
    terms, taken = _terms(whole), _terms(part)
    if terms is None or taken is None:
        return None
    terms.subtract(taken)
    return _sum_of(terms)


def _terms(size: Size) -> Counter[tuple[str, ...]] | None:
    """Return how often each product of names is added up; numbers are the product of none."""
    sums = [name for name in size.names if _SUM.fullmatch(name)]
    names = [name for name in size.names if name not in sums]
    if len(sums) > 1 or not all(_NAME.fullmatch(name) for name in names):
        return None
    parts = _written_terms(sums[0]) if sums else [ONE]
    every = (product([part, Size(size.factor, tuple(names))]) for part in parts)
    return Counter({part.names: part.factor for part in every})


def _written_terms(name: str) -> list[Size]:
    """Return what is added up in the name of a sum."""
    factors = ([factor.strip() for factor in term.split("*")] for term in name.split("+"))
    return [
        product(Size(int(factor)) if factor.isdecimal() else Size(1, (factor,)) for factor in term) for term in factors
    ]


def _sum_of(terms: Counter[tuple[str, ...]]) -> Size | None:
    """Return a sum of products: common factors and names stand before it, numbers come last in it."""
    held = {names: count for names, count in terms.items() if count}
    if any(count < 0 for count in held.values()):
        return None
    if len(held) < 2:
        return next((Size(count, names) for names, count in held.items()), Size(0))
    factor = math.gcd(*held.values())
    common = reduce(operator.and_, (Counter(names) for names in held))
    parts = [
        Size(count // factor, tuple(sorted((Counter(names) - common).elements()))) for names, count in held.items()
    ]
    parts.sort(key=lambda part: (not part.names, part.names))
    name = " + ".join(str(text(part)) for part in parts)
    return Size(factor, tuple(sorted([*common.elements(), name])))


def sizes_of(value: ir.Value | None) -> Sequence[Size] | None:
    """Return the sizes of a value's axes, or ``None`` if one of them has neither number nor name."""
    sizes = partial_sizes(value)
    known = [size for size in sizes or () if size is not None]
    return known if sizes is not None and len(known) == len(sizes) else None


def partial_sizes(value: ir.Value | None) -> list[Size | None] | None:
    """Return the sizes of a value's axes, ``None`` for each that has neither number nor name."""
    if value is None or value.shape is None:
        return None
    dimensions = [size if isinstance(size, int) else size.value for size in value.shape]
    return [None if dimension is None else parse(dimension) for dimension in dimensions]


_MOST = 64
"""Shapes and axes are shorter; longer constants are weights, which no shape depends on."""
_BOOL = 9
"""ONNX's number of the type."""

Elements = tuple[Size | None, ...]
"""What is known of the elements of an integer tensor with at most one axis."""


def _shape(node: ir.Node, _: dict[ir.Value, Elements]) -> Elements | None:
    source = node.inputs[0]
    if source is None or source.shape is None:
        return None
    start, end = (int(node.attributes[name].as_int()) if name in node.attributes else None for name in ("start", "end"))
    dimensions = [size if isinstance(size, int) else size.value for size in source.shape]
    return tuple(None if dimension is None else parse(dimension) for dimension in dimensions[start:end])


def _same(node: ir.Node, known: dict[ir.Value, Elements]) -> Elements | None:
    source = node.inputs[0]
    return known.get(source) if source is not None and _is_scalar_or_vector(node.outputs[0]) else None


def _cast(node: ir.Node, known: dict[ir.Value, Elements]) -> Elements | None:
    """Return the same elements, or as booleans whether each is not zero: a dynamic size may be."""
    elements = _same(node, known)
    if elements is None or node.attributes.get_int("to", 0) != _BOOL:
        return elements
    return tuple(None if size is None or size.number is None else Size(int(size.number != 0)) for size in elements)


def _is_scalar_or_vector(value: ir.Value | None) -> bool:
    return value is not None and value.shape is not None and len(value.shape) <= 1


def _gather(node: ir.Node, known: dict[ir.Value, Elements]) -> Elements | None:
    source, places = (known.get(tensor) if tensor else None for tensor in node.inputs)
    if source is None or places is None:
        return None
    numbers = [place.number if place is not None else None for place in places]
    if any(number is None or not -len(source) <= number < len(source) for number in numbers):
        return None
    return tuple(source[number] for number in numbers if number is not None)


def _slice(node: ir.Node, known: dict[ir.Value, Elements]) -> Elements | None:
    source, *bounds = (known.get(tensor) if tensor else None for tensor in node.inputs)
    numbers = [bound[0].number if bound and bound[0] is not None else None for bound in bounds]
    if source is None or any(number is None for number in (*numbers[:2], *numbers[3:])):
        return None
    return source[numbers[0] : numbers[1] : numbers[3] if len(numbers) > 3 else 1]


def _concat(node: ir.Node, known: dict[ir.Value, Elements]) -> Elements | None:
    parts = [known.get(tensor) if tensor else None for tensor in node.inputs]
    return None if None in parts else tuple(element for part in parts for element in part or ())


def _reduce_product(node: ir.Node, known: dict[ir.Value, Elements]) -> Elements | None:
    source, *axes = (known.get(tensor) if tensor else () for tensor in node.inputs)
    if not axes and node.attributes.get_int("noop_with_empty_axes", 0) == 1:
        return source
    if source is None or None in source or axes not in ([], [(Size(0),)]) or not _is_scalar_or_vector(node.inputs[0]):
        return None
    return (product(size for size in source if size is not None),)


def _pairwise(compute: Callable[[Size, Size], Size | None]) -> Callable[..., Elements | None]:
    def evaluate(node: ir.Node, known: dict[ir.Value, Elements]) -> Elements | None:
        operands = [known.get(tensor) if tensor else None for tensor in node.inputs]
        left, right = operands if len(operands) == 2 else (None, None)
        if not left or not right:
            return None
        length = max(len(left), len(right))
        pairs = zip(left * (length // len(left)), right * (length // len(right)), strict=True)
        return tuple(
            compute(first, second) if first is not None and second is not None else None for first, second in pairs
        )

    return evaluate


def _sum(first: Size, second: Size) -> Size | None:
    if Size(0) in (first, second):
        return second if first == Size(0) else first
    return total((first, second)) if first.names or second.names else Size(first.factor + second.factor)


def _difference(first: Size, second: Size) -> Size | None:
    if second == Size(0):
        return first
    return difference(first, second) if first.names or second.names else Size(first.factor - second.factor)


def _equality(first: Size, second: Size) -> Size | None:
    """Return one for equal elements, zero for those that differ: no product of sizes is negative by itself."""
    if first == second:
        return ONE
    lower, higher = sorted((first, second))
    differ = (not lower.names and not higher.names) or (not lower.names and lower.factor < 0 <= higher.factor)
    return Size(0) if differ else None


def _larger(first: Size, second: Size) -> Size | None:
    if first == second:
        return first
    return None if first.names or second.names else Size(max(first.factor, second.factor))


def _smaller(first: Size, second: Size) -> Size | None:
    if first == second:
        return first
    return None if first.names or second.names else Size(min(first.factor, second.factor))


def elements_of(tensor: ir.TensorProtocol) -> Elements | None:
    """Return the elements of a small constant of integers or booleans with at most one axis; ``None`` of others."""
    if len(tensor.shape) > 1 or tensor.size > _MOST or not (tensor.dtype.is_integer() or tensor.dtype.name == "BOOL"):
        return None
    return tuple(Size(int(number)) for number in tensor.numpy().reshape(-1))


def _constant_of_shape(node: ir.Node, known: dict[ir.Value, Elements]) -> Elements | None:
    count, filling = (known.get(node.inputs[0]) or (None,)) if node.inputs[0] else (None,), node.attributes.get("value")
    length = count[0].number if len(count) == 1 and count[0] is not None else None
    if filling is None or length is None or not 0 <= length <= _MOST:
        return None  # without a value it is filled with floats
    element = elements_of(filling.as_tensor())
    return element * length if element is not None and len(element) == 1 else None


def _where(node: ir.Node, known: dict[ir.Value, Elements]) -> Elements | None:
    operands = [known.get(tensor) if tensor else None for tensor in node.inputs]
    condition, first, second = operands
    if not condition or not first or not second:
        return None
    length = max(len(condition), len(first), len(second))
    columns = (elements * (length // len(elements)) for elements in (condition, first, second))
    return tuple(_chosen(*column) for column in zip(*columns, strict=True))


def _chosen(condition: Size | None, first: Size | None, second: Size | None) -> Size | None:
    if condition is None or condition.number is None:
        return first if first == second else None
    return second if condition.number == 0 else first


EVALUATED: dict[str, Callable[[Any, dict[Any, Elements]], Elements | None]] = {
    "Shape": _shape,
    "Cast": _cast,
    "Identity": _same,
    "Reshape": _same,
    "Squeeze": _same,
    "Unsqueeze": _same,
    "Gather": _gather,
    "Slice": _slice,
    "Concat": _concat,
    "ConstantOfShape": _constant_of_shape,
    "ReduceProd": _reduce_product,
    "Add": _pairwise(_sum),
    "Sub": _pairwise(_difference),
    "Div": _pairwise(quotient),
    "Equal": _pairwise(_equality),
    "Mul": _pairwise(lambda first, second: product((first, second))),
    "Max": _pairwise(_larger),
    "Min": _pairwise(_smaller),
    "Where": _where,
}
"""What computes the elements of an operator's result; truth is one, untruth zero."""
