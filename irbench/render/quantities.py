"""Counts, shares and lists in words."""

from __future__ import annotations

from collections.abc import Iterable

__all__ = ["listing", "percent", "plural", "times"]


def percent(fraction: float, digits: int = 1) -> str:
    """Return ``0.018`` as ``1.8 %``."""
    return f"{100 * fraction:.{digits}f} %"


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
