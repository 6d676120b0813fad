"""Two figures and the change between them, with as many digits as make the change follow from the figures."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from irbench.core.quantities import NOT_MEASURED, significant
from irbench.options.conditions import Unit

_FEWEST_DIGITS, _MOST_DIGITS = 3, 9
_LEAST_WITH_ONE_DECIMAL = 0.0005
_SCALES: Mapping[Unit, float] = {"bytes": 1e6, "ms": 1, "fps": 1, "J": 1, "": 1}
"""What figures are divided by where they are shown: bytes are shown as megabytes."""
_NAMES: Mapping[Unit, str] = {"bytes": "MB", "ms": "ms", "fps": "FPS", "J": "J", "": ""}


def change_and_figures(base: float, new: float, unit: Unit, *, relative: bool = True) -> tuple[str, str, str]:
    """Return ``37.04 ms``, ``39.26 ms`` and ``+6.0 %``: the change is what a reader computes from both figures.

    Args:
        base: The older figure.
        new: The newer one.
        unit: Of both.
        relative: Whether the change is a fraction of ``base``, which is above 0 then, or in the unit.
    """
    before, after = (value / _SCALES[unit] for value in (base, new))
    if relative:
        digits, change = digits_for_changes([(before, after)], _relative), _relative(before, after)
    else:
        digits, change = _difference(before, after, unit)
    first, last = (_with_unit(significant(value, digits=digits), unit) for value in (before, after))
    return first, last, change


def digits_for_changes(steps: Iterable[tuple[float, float]], shown: Callable[[float, float], str]) -> int:
    """Return how many significant digits figures take so that the changes between them follow from what is shown.

    Args:
        steps: Pairs of figures.
        shown: Returns what is shown of the change from one figure to another.
    """
    pairs = list(steps)
    for digits in range(_FEWEST_DIGITS, _MOST_DIGITS):
        rounded = ((float(significant(value, digits=digits)) for value in pair) for pair in pairs)
        if all(shown(*pair) == shown(*exact) for pair, exact in zip(rounded, pairs, strict=True)):
            return digits
    return _MOST_DIGITS


def signed_percent(fraction: float) -> str:
    """Return ``+5.2 %``; whole percents from 100 on, and no sign where all digits are 0."""
    shown = f"{100 * fraction:+.1f}" if abs(fraction) < 1 else f"{100 * fraction:+.0f}"
    return f"{'0.0' if float(shown) == 0 else shown} %"


def signed_percent_end(fraction: float) -> str:
    """Return the end of an interval: as :func:`signed_percent`, with a sign also where it is next to 0.

    On which side of 0 it lies is what a verdict follows from.
    """
    if fraction == 0 or abs(fraction) >= _LEAST_WITH_ONE_DECIMAL:
        return signed_percent(fraction)
    return f"{100 * fraction:+.2g} %"


def amount(value: float | None, unit: Unit) -> str:
    """Return a figure with its unit: ``37.1 ms``, ``310 MB``."""
    return NOT_MEASURED if value is None else _with_unit(significant(value / _SCALES[unit]), unit)


def signed_amount(value: float, unit: Unit) -> str:
    """Return a difference with its sign and its unit: ``+2.30 ms``."""
    return f"{'+' if value >= 0 else ''}{amount(value, unit)}"


def _relative(base: float, new: float) -> str:
    return signed_percent(new / base - 1)


def _difference(base: float, new: float, unit: Unit) -> tuple[int, str]:
    """Return how many digits figures take so that their difference follows, and the difference with their decimals."""
    digits, shown = _FEWEST_DIGITS, ""
    for digits in range(_FEWEST_DIGITS, _MOST_DIGITS + 1):
        first, last = (significant(value, digits=digits) for value in (base, new))
        decimals = max(len(figure.partition(".")[2]) for figure in (first, last))
        shown = f"{new - base:+.{decimals}f}"
        is_lost = float(shown) == 0 and new != base
        if not is_lost and float(shown) == float(f"{float(last) - float(first):+.{decimals}f}"):
            break
    return digits, _with_unit(shown, unit)


def _with_unit(number: str, unit: Unit) -> str:
    return f"{number} {_NAMES[unit]}".rstrip()
