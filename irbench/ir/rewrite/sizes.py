"""Sizes of tensors, some of them free: a number times names, such as ``4*batch``."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import onnx_ir as ir

__all__ = ["ONE", "Size", "parse", "product", "quotient", "sizes_of", "text"]


class Size(NamedTuple):
    """How long one axis is.

    Attributes:
        factor: The part that is a number.
        names: Free dimensions it is multiplied with, sorted.
    """

    factor: int
    names: tuple[str, ...] = ()

    @property
    def number(self) -> int | None:
        """The size if nothing in it is free."""
        return None if self.names else self.factor


ONE = Size(1)


def parse(dimension: int | str) -> Size:
    """Return the size that a dimension of a shape writes; the inverse of :func:`text`."""
    if isinstance(dimension, int):
        return Size(dimension)
    parts = dimension.split("*")
    factors = [int(part) for part in parts if part.isdecimal()]
    return product([*map(Size, factors), Size(1, tuple(sorted(part for part in parts if not part.isdecimal())))])


def text(size: Size) -> int | str:
    """Return a size as the dimension of a shape."""
    if not size.names:
        return size.factor
    return "*".join((*(() if size.factor == 1 else (str(size.factor),)), *size.names))


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
    if value is None or value.shape is None:
        return None
    dimensions = [one if isinstance(one, int) else one.value for one in value.shape]
    return None if None in dimensions else [parse(one) for one in dimensions if one is not None]
