"""Numbers, shares, times and lists as words: only digits that mean something, and ``-`` for what was not measured."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterable
from datetime import datetime
from typing import Literal, TypeAlias

ThroughputUnit: TypeAlias = Literal["FPS", "samples/s", "tokens/s"]
"""Of samples, which training steps do not call frames, or of the tokens that calls generate."""
NOT_MEASURED = "-"

_FEWEST_DIGITS = 2
_USUAL_DIGITS = 3
_MOST_DIGITS = 4
LONGEST_LISTING = 4
"""Rows that a sentence names one by one."""
_LEAST, _LARGEST = 1e-9, 1e15
"""Beyond these, which no machine measures, numbers have an exponent."""
_MOST_APART = 8
"""Decimals, at the most, that tell two figures apart."""
_UNITS = (("d", 86400), ("h", 3600), ("min", 60))
_STEPS = ("B", "KiB", "MiB", "GiB")


def percent(fraction: float, digits: int = 1) -> str:
    """Return ``0.018`` as ``1.8 %``."""
    return f"{100 * fraction:.{digits}f} %"


def apart(value: float, bound: float, write: Callable[[float, int], str], digits: int) -> tuple[str, str]:
    """Return a figure and what it is compared with, with as many more digits as it takes to read that they differ."""
    telling = (count for count in range(digits, _MOST_APART) if write(value, count) != write(bound, count))
    most = digits if value == bound else next(telling, digits)
    return write(value, most), write(bound, most)


def percents_apart(value: float, bound: float) -> tuple[str, str]:
    """Return two fractions as percentages: ``("1.44 %", "1.40 %")`` where tenths are equal."""
    return apart(value, bound, percent, 1)


def times(ratio: float) -> str:
    """Return a ratio as a factor: ``1.14x``."""
    return f"{ratio:.2f}x"


def plural(count: int, noun: str) -> str:
    """Return ``1 launch``, ``2 launches``, ``3 blocks``."""
    ending = "" if count == 1 else "es" if noun.endswith("ch") else "s"
    return f"{count} {noun}{ending}"


def duration_text(seconds: float) -> str:
    """Return a duration: ``45 s``, ``100 s``, ``2 min 30 s`` (to ten seconds), ``12 min``, ``3 h 20 min``."""
    if seconds < 119.5:
        return f"{seconds:.0f} s"
    if seconds < 595:
        whole, tens = divmod(round(seconds / 10), 6)
        return f"{whole} min {10 * tens} s" if tens else f"{whole} min"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 100 else f"{minutes // 60} h {minutes % 60} min"


def listing(names: Iterable[str]) -> str:
    """Return names separated by commas, the last by ``and``; an empty text without any."""
    *rest, last = tuple(names) or ("",)
    return f"{', '.join(rest)} and {last}" if rest else last


def shortened(names: Iterable[str], noun: str) -> str:
    """Return names like :func:`listing`, or none; of more than four the first three: ``A, B, C and 9 more rows``."""
    names = tuple(names)
    if len(names) <= LONGEST_LISTING:
        return listing(names) if names else ""
    shown = names[: LONGEST_LISTING - 1]
    return f"{', '.join(shown)} and {len(names) - len(shown)} more {noun}s"


def binary_size(count: int) -> str:
    """Return the size of a cache in its largest whole unit: ``48 KiB``, ``300 MiB``."""
    step = 0
    while step < len(_STEPS) - 1 and count >= 1024 and count % 1024 == 0:
        count //= 1024
        step += 1
    return f"{count} {_STEPS[step]}"


def size_text(size_bytes: int) -> str:
    """Return ``102.2 MB``, in the unit that leaves the fewest digits."""
    for unit, factor in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if size_bytes >= factor:
            return f"{size_bytes / factor:.1f} {unit}"
    return f"{size_bytes} bytes"


def significant(value: float | None, relative_spread: float | None = None, *, digits: int = _USUAL_DIGITS) -> str:
    """Return a number whose last digit is of the size of its spread.

    Args:
        value: What to show; ``None`` was not measured.
        relative_spread: Its uncertainty as a fraction of it; ``digits`` are shown where it is unknown.
        digits: Significant ones.
    """
    if value is None:
        return NOT_MEASURED
    if value == 0 or not _LEAST <= abs(value) <= _LARGEST:
        return f"{value:.{digits}g}"
    leading = math.floor(math.log10(abs(value)))
    if relative_spread is not None:
        supported = leading - math.floor(math.log10(abs(value) * min(max(relative_spread, 1e-9), 1.0))) + 1
        digits = min(_MOST_DIGITS, max(_FEWEST_DIGITS, supported))
    return f"{value:.{max(0, digits - 1 - leading)}f}"


def ratio(value: float, low: float, high: float) -> tuple[str, str, str]:
    """Return a ratio and the ends of its interval: two decimals, or as many more as keep the ends apart and off 1."""
    decimals = 1 if value >= 10 else 2
    while decimals < _MOST_DIGITS and _misleads(low, high, decimals):
        decimals += 1
    return f"{value:.{decimals}f}", f"{low:.{decimals}f}", f"{high:.{decimals}f}"


def error_size(value: float | None) -> str:
    """Return an error with one significant digit: ``2e-06``; exact agreement is ``0``."""
    if value is None:
        return NOT_MEASURED
    if value >= sys.float_info.max:
        return "inf"
    return "0" if value == 0 else f"{value:.0e}"


def age(created: str, now: datetime) -> str:
    """Return how long ago a moment (ISO 8601, UTC) was, in its largest unit: ``3 d``, ``5 h``, ``2 min``."""
    seconds = max(0.0, (now - datetime.fromisoformat(created)).total_seconds())
    for unit, length in _UNITS:
        if seconds >= length:
            return f"{seconds // length:.0f} {unit}"
    return "now"


def gigabytes(count: int | None) -> str:
    """Return bytes as decimal gigabytes with two decimals, or one significant digit where that would be nothing."""
    return NOT_MEASURED if count is None else fixed(count / 1e9, 2)


def fixed(value: float, decimals: int) -> str:
    """Return a number with so many decimals, or one significant digit where they would all be 0."""
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
