"""Counts, bytes and formulas of a cost model in words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from operator import le

from irbench.core.quantities import NOT_MEASURED, significant
from irbench.cost_model.formulas import Polynomial
from irbench.features.cost.cost_rows import Quantity

_PREFIXES = (("T", 10**12), ("G", 10**9), ("M", 10**6), ("k", 10**3))
_SUPERSCRIPTS = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")
_EXACT_BELOW = 1000
_NEGLIGIBLE = Fraction(1, 2000)
"""Such a part of another number does not show in three digits of it."""


def count_text(quantity: Quantity, unit: str = "") -> str:
    """Return ``3.86 G``, ``3.86 G·batch + 12 k`` or ``-`` where it is unknown; a unit follows the prefix."""
    if quantity is None:
        return NOT_MEASURED
    if not isinstance(quantity, Polynomial):
        return _scaled(Fraction(quantity), unit)
    terms = [_term(quantity.names, powers, factor, unit) for powers, factor in _significant_terms(quantity)]
    return " + ".join(terms).replace("+ -", "- ") or _scaled(Fraction(0), unit)


def bytes_text(quantity: Quantity) -> str:
    """Return ``102 MB``, or a formula in bytes."""
    return count_text(quantity, "B")


def exact_text(quantity: Quantity) -> str:
    """Return every digit, for programs: ``3857973248*batch + 3/2*length**2``; empty where it is unknown."""
    if quantity is None:
        return ""
    if not isinstance(quantity, Polynomial):
        return str(quantity)
    return " + ".join(_exact_term(quantity.names, *term) for term in quantity.terms) or "0"


def _significant_terms(formula: Polynomial) -> Iterator[tuple[tuple[int, ...], Fraction]]:
    """Yield the terms that show in three digits: not those that another is many times as large as at any size."""
    for powers, factor in formula.terms:
        if not any(
            abs(factor) < abs(other) * _NEGLIGIBLE and all(map(le, powers, others)) for others, other in formula.terms
        ):
            yield powers, factor


def _term(names: Sequence[str], powers: Sequence[int], factor: Fraction, unit: str) -> str:
    symbols = [
        _symbol(name) + (str(power).translate(_SUPERSCRIPTS) if power > 1 else "")
        for name, power in zip(names, powers, strict=True)
        if power
    ]
    leading = [] if factor == 1 and symbols and not unit else [_scaled(factor, unit)]
    return "·".join((*leading, *symbols))


def _exact_term(names: Sequence[str], powers: Sequence[int], factor: Fraction) -> str:
    symbols = [
        _symbol(name) + (f"**{power}" if power > 1 else "") for name, power in zip(names, powers, strict=True) if power
    ]
    return "*".join((str(factor), *symbols))


def _symbol(name: str) -> str:
    """Return a name that stands as one factor: arithmetic in brackets."""
    return name if name.isidentifier() else f"({name})"


def _scaled(value: Fraction, unit: str) -> str:
    """Return a number with the prefix that leaves one to three digits before the point."""
    if value.denominator == 1 and abs(value) < _EXACT_BELOW:
        return f"{value} {unit}" if unit else str(value)
    rounded = float(f"{float(value):.3g}")  # which may have a digit more before the point
    prefix, size = next(((prefix, size) for prefix, size in _PREFIXES if abs(rounded) >= size), ("", 1))
    number = significant(rounded / size)
    return f"{number} {prefix}{unit}" if prefix or unit else number
