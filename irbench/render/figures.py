"""Format numbers: only the digits that the spread supports, and "-" for what was not measured."""

from __future__ import annotations

import math
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from irbench.result import Speedup

__all__ = ["NOT_MEASURED", "error_size", "gigabytes", "percent", "ratio", "seconds", "significant", "speedup_cell"]

NOT_MEASURED = "-"
_FEWEST_DIGITS = 2
_USUAL_DIGITS = 3
_MOST_DIGITS = 4


def significant(value: float | None, relative_spread: float | None = None) -> str:
    """Return a number whose last digit is of the size of its spread.

    Args:
        value: What to show; ``None`` was not measured.
        relative_spread: Its uncertainty as a fraction of it; three significant digits are shown where it is unknown.
    """
    if value is None:
        return NOT_MEASURED
    if value == 0 or not math.isfinite(value):
        return f"{value:g}"
    leading = math.floor(math.log10(abs(value)))
    digits = _USUAL_DIGITS
    if relative_spread is not None:
        supported = leading - math.floor(math.log10(abs(value) * max(relative_spread, 1e-9))) + 1
        digits = min(_MOST_DIGITS, max(_FEWEST_DIGITS, supported))
    return f"{value:.{max(0, digits - 1 - leading)}f}"


def percent(fraction: float | None) -> str:
    """Return ``±0.4 %``, or ``±12 %`` where tenths mean nothing."""
    if fraction is None:
        return NOT_MEASURED
    return f"±{fraction * 100:.1f} %" if fraction < 0.0995 else f"±{fraction * 100:.0f} %"


def ratio(value: float, low: float, high: float) -> tuple[str, str, str]:
    """Return a ratio and the ends of its interval: two decimals, or as many more as keep the ends apart and off 1."""
    decimals = 1 if value >= 10 else 2
    while decimals < _MOST_DIGITS and _misleads(low, high, decimals):
        decimals += 1
    return f"{value:.{decimals}f}", f"{low:.{decimals}f}", f"{high:.{decimals}f}"


def speedup_cell(speedup: Speedup | None, *, is_baseline: bool) -> str:
    """Return ``1.31 [1.29, 1.33]``, or ``1 baseline``; without brackets where a single launch gives no range.

    A question mark behind the value says that nothing was held against the answers.
    """
    if is_baseline:
        return "1 baseline"
    if speedup is None:
        return NOT_MEASURED
    value, low, high = ratio(speedup.value, speedup.low, speedup.high)
    shown = f"{value} ?" if speedup.verified is False else value
    return shown if speedup.low == speedup.high else f"{shown} [{low}, {high}]"


def error_size(value: float | None) -> str:
    """Return an error with one significant digit: ``2e-06``; exact agreement is ``0``."""
    if value is None:
        return NOT_MEASURED
    if value >= sys.float_info.max:
        return "inf"
    return "0" if value == 0 else f"{value:.0e}"


def seconds(milliseconds: float | None) -> str:
    """Return milliseconds as seconds with one decimal, or one significant digit where that would be nothing."""
    return NOT_MEASURED if milliseconds is None else _fixed(milliseconds / 1e3, 1)


def gigabytes(count: int | None) -> str:
    """Return bytes as decimal gigabytes with two decimals, or one significant digit where that would be nothing."""
    return NOT_MEASURED if count is None else _fixed(count / 1e9, 2)


def _fixed(value: float, decimals: int) -> str:
    if 0 < value < 0.5 * 10**-decimals:
        return f"{value:.{-math.floor(math.log10(value))}f}"
    return f"{value:.{decimals}f}"


def _misleads(low: float, high: float, decimals: int) -> bool:
    """Whether so few decimals would hide the interval's width, or that it leaves out 1."""
    shown_low, shown_high = f"{low:.{decimals}f}", f"{high:.{decimals}f}"
    if shown_low == shown_high:
        return low != high
    excludes_one = low > 1 or high < 1
    return excludes_one and float(shown_low) <= 1 <= float(shown_high)
