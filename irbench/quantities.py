"""Format counts, shares, sizes and lists."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable

NOT_MEASURED = "-"
_MOST_DIGITS = 8
_STEPS = ("B", "KiB", "MiB", "GiB")


def percent(fraction: float, digits: int = 1) -> str:
    """Return ``0.018`` as ``1.8 %``."""
    return f"{100 * fraction:.{digits}f} %"


def apart(value: float, bound: float, write: Callable[[float, int], str], digits: int) -> tuple[str, str]:
    """Return a figure and what it is compared with, with as many more digits as it takes to read that they differ.

    Args:
        value: The figure.
        bound: What it is compared with.
        write: Writes a number with so many digits.
        digits: So many where they suffice.
    """
    wanted = (found for found in range(digits, _MOST_DIGITS) if write(value, found) != write(bound, found))
    most = digits if value == bound else next(wanted, digits)
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


def listing(names: Iterable[str]) -> str:
    """Return names separated by commas, the last by ``and``."""
    *rest, last = names
    return f"{', '.join(rest)} and {last}" if rest else last


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


def gigabytes(count: int | None) -> str:
    """Return bytes as decimal gigabytes with two decimals, or one significant digit where that would be nothing."""
    return NOT_MEASURED if count is None else fixed(count / 1e9, 2)


def fixed(value: float, decimals: int) -> str:
    """Return a number with so many decimals, or one significant digit where they would all be 0."""
    if 0 < value < 0.5 * 10**-decimals:
        return f"{value:.{-math.floor(math.log10(value))}f}"
    return f"{value:.{decimals}f}"
