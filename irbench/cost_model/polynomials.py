"""Polynomials in the sizes of dynamic dimensions, found exactly from values at a grid of sizes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from math import lcm, prod
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


@dataclass(frozen=True)
class Polynomial:
    """A sum of products of sizes.

    Attributes:
        terms: For each product the exponents of the dimensions, in the order of ``names``, and its factor, which is
            never 0; the product with the most dimensions first.
    """

    names: tuple[str, ...]
    terms: tuple[tuple[tuple[int, ...], Fraction], ...] = ()

    def __add__(self, other: Polynomial) -> Polynomial:
        """Return the sum of two polynomials in the same dimensions."""
        factors = dict(self.terms)
        for powers, factor in other.terms:
            factors[powers] = factors.get(powers, Fraction(0)) + factor
        return Polynomial(self.names, _ordered(factors))

    def at(self, sizes: Mapping[str, int]) -> Fraction:
        """Return the value at a size of each dimension."""
        return sum(
            (
                factor * prod(sizes[name] ** power for name, power in zip(self.names, powers, strict=True))
                for powers, factor in self.terms
            ),
            Fraction(0),
        )


def polynomial(names: Sequence[str], coefficients: NDArray[Any]) -> Polynomial:
    """Return the polynomial with these coefficients, an axis for each name and its power along it."""
    import numpy as np

    return Polynomial(tuple(names), _ordered(dict(np.ndenumerate(coefficients))))


def _ordered(factors: Mapping[tuple[int, ...], Any]) -> tuple[tuple[tuple[int, ...], Fraction], ...]:
    """Return the terms that are not 0, those of the most dimensions first."""
    terms = [(powers, Fraction(factor)) for powers, factor in factors.items() if factor]
    return tuple(sorted(terms, key=lambda term: (-sum(term[0]), *(-power for power in term[0]))))


def degree_of(samples: Sequence[Sequence[int]]) -> int | None:
    """Return the least degree of polynomials through samples at equally spaced sizes.

    Returns:
        The degree; ``None`` where the samples are too few to tell: a degree ``d`` shows in ``d + 2`` of them.
    """
    import numpy as np

    differences = np.array([list(values) for values in samples], dtype=object)
    for degree in range(len(samples) - 1):
        differences = differences[1:] - differences[:-1]
        if not differences.any():
            return degree
    return None


def coefficients_of(grid: NDArray[Any], points: Sequence[Sequence[int]]) -> NDArray[Any]:
    """Return the coefficients of the polynomials through values on a grid.

    Args:
        grid: Integers, with an axis for each dimension, and behind them any others, along which each polynomial has its
            own values.
        points: The sizes along each of the first axes.

    Returns:
        Fractions in an array of the shape of ``grid``: along each dimension's axis lie the powers 0, 1, 2, ...
    """
    found, divisor = grid, 1
    for axis, sizes in enumerate(points):
        matrix, denominator = _inverse_vandermonde(tuple(sizes))
        found = _along(found, axis, matrix)
        divisor *= denominator
    return _divided(found, divisor)


def _along(values: NDArray[Any], axis: int, matrix: NDArray[Any]) -> NDArray[Any]:
    import numpy as np

    return np.moveaxis(np.tensordot(matrix, values, axes=(1, axis)), 0, axis)


def _divided(values: NDArray[Any], divisor: int) -> NDArray[Any]:
    import numpy as np

    flat = [Fraction(value, divisor) if value else 0 for value in values.reshape(-1)]
    found: NDArray[Any] = np.empty(len(flat), dtype=object)
    found[:] = flat
    return found.reshape(values.shape)


@cache
def _inverse_vandermonde(sizes: tuple[int, ...]) -> tuple[NDArray[Any], int]:
    """Return what makes coefficients of values at these sizes: integers, and what they are to be divided by."""
    import numpy as np

    columns = [_lagrange(sizes, place) for place in range(len(sizes))]
    denominator = lcm(*(factor.denominator for column in columns for factor in column))
    matrix: NDArray[np.object_] = np.array(
        [[int(column[power] * denominator) for column in columns] for power in range(len(sizes))], dtype=object
    )
    return matrix, denominator


def _lagrange(sizes: Sequence[int], place: int) -> list[Fraction]:
    """Return the coefficients of the polynomial that is 1 at one size and 0 at the others."""
    found = [Fraction(1)]
    for other, size in enumerate(sizes):
        if other != place:
            found = _times_linear(found, -size)
            found = [factor / (sizes[place] - size) for factor in found]
    return found


def _times_linear(coefficients: Iterable[Fraction], constant: int) -> list[Fraction]:
    """Multiply a polynomial with ``x + constant``."""
    old = list(coefficients)
    raised, scaled = [Fraction(0), *old], [*(factor * constant for factor in old), Fraction(0)]
    return [first + second for first, second in zip(raised, scaled, strict=True)]
