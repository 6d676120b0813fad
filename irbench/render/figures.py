"""Numbers as words: no more digits than the spread supports, and "-" for what was not measured."""

from __future__ import annotations

import math

from irbench.result import Speedup

__all__ = ["NOT_MEASURED", "error_size", "gigabytes", "percent", "ratio", "seconds", "significant", "speedup_cell"]

NOT_MEASURED = "-"


def significant(value: float | None, relative_spread: float | None) -> str:
    """Return a number with the digits that a relative spread leaves meaningful: three to five in all.

    Args:
        value: What to show; ``None`` was not measured.
        relative_spread: Half the range as a fraction of the value; ``None`` is treated as 1 %.
    """
    if value is None:
        return NOT_MEASURED
    if value == 0:
        return "0"
    spread = 0.01 if relative_spread is None else max(relative_spread, 1e-4)
    digits = min(5, max(3, 1 - math.floor(math.log10(spread))))
    decimals = max(0, digits - 1 - math.floor(math.log10(abs(value))))
    return f"{value:.{decimals}f}"


def percent(fraction: float | None) -> str:
    """Return ``±0.4 %``, or ``±12 %`` where tenths mean nothing."""
    if fraction is None:
        return NOT_MEASURED
    return f"±{fraction * 100:.1f} %" if fraction < 0.0995 else f"±{fraction * 100:.0f} %"


def ratio(value: float, low: float, high: float) -> tuple[str, str, str]:
    """Return a ratio and the ends of its interval with the digits its half-width supports: two to four decimals."""
    half = max(high - value, value - low, 1e-9)
    decimals = min(4, max(2 if value < 10 else 1, -math.floor(math.log10(half))))
    return f"{value:.{decimals}f}", f"{low:.{decimals}f}", f"{high:.{decimals}f}"


def speedup_cell(one: Speedup | None, *, is_baseline: bool) -> str:
    """Return ``1.31 [1.29, 1.33]``, or ``1 baseline``."""
    if is_baseline:
        return "1 baseline"
    if one is None:
        return NOT_MEASURED
    value, low, high = ratio(one.value, one.low, one.high)
    return f"{value} [{low}, {high}]"


def error_size(value: float | None) -> str:
    """Return an error with one significant digit: ``2e-06``; exact agreement is ``0``."""
    if value is None:
        return NOT_MEASURED
    return "0" if value == 0 else f"{value:.0e}"


def seconds(milliseconds: float | None) -> str:
    """Return milliseconds as seconds with one decimal."""
    return NOT_MEASURED if milliseconds is None else f"{milliseconds / 1e3:.1f}"


def gigabytes(count: int | None) -> str:
    """Return bytes as decimal gigabytes with two decimals."""
    return NOT_MEASURED if count is None else f"{count / 1e9:.2f}"
