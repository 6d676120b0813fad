"""Sizes of axes, some of them dynamic: a number times names, such as ``4*batch``."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import onnx_ir as ir

_NAME = re.compile(r"[^\W\d]\w*")
_FACTOR = rf"{_NAME.pattern}|\d+|\([^()]+\)"
_PRODUCT = re.compile(rf"(?:{_FACTOR})(?:\*(?:{_FACTOR}))*")
"""Numbers, names, and in brackets what else a model calls a dimension, such as ``2*(length + 1)`` or ``2*(7)``."""


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

    What is no plain product with a name in it, such as ``2*length + 1`` or ``7``, is one name.
    """
    if isinstance(dimension, int):
        return Size(dimension)
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
