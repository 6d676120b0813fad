"""Format numbers: only the digits that the spread supports, and "-" for what was not measured."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from irbench.core.quantities import NOT_MEASURED, fixed, plural, ratio, significant

if TYPE_CHECKING:
    from irbench.core.row import Ends, Speedup, WithEnds

RANGE = "range"
"""What the smallest and the largest of a few launches are called, which are not a confidence interval."""


def percent(fraction: float | None) -> str:
    """Return ``±0.4 %``, or ``±12 %`` where tenths mean nothing."""
    if fraction is None:
        return NOT_MEASURED
    return f"±{fraction * 100:.1f} %" if fraction < 0.0995 else f"±{fraction * 100:.0f} %"


def are_ranges(figures: Iterable[WithEnds | None]) -> bool:
    """Whether some figures of a column have ends, and none of them has a confidence interval."""
    kinds = (ends.is_range for figure in figures if figure is not None and (ends := figure.ends) is not None)
    return next(kinds, False) and all(kinds)


def ends_heading(name: str, figures: Iterable[WithEnds | None], confidence: float) -> str:
    """Return the heading of a column of figures, which says what the brackets in it are."""
    known = [figure for figure in figures if figure is not None]
    if all(figure.ends is None for figure in known):
        return name
    return f"{name} [{RANGE if are_ranges(known) else f'{100 * confidence:g} %'}]"


def ends_text(ends: Ends | None, shown: Callable[[float], str] = significant, *, marks_ranges: bool = False) -> str:
    """Return `` [1.29, 1.33]`` with a space before it; nothing where a figure has neither interval nor range."""
    if ends is None:
        return ""
    return f" [{shown(ends.low)}, {shown(ends.high)}]{f' {RANGE}' if ends.is_range and marks_ranges else ''}"


def ratio_with_ends(value: float, ends: Ends | None, *, marks_ranges: bool = False) -> tuple[str, str]:
    """Return a ratio, and its ends in brackets with a space before them; see :func:`ends_text`."""
    if ends is None:
        return ratio(value, value, value)[0], ""
    shown, low, high = ratio(value, ends.low, ends.high)
    return shown, ends_text(ends, {ends.low: low, ends.high: high}.__getitem__, marks_ranges=marks_ranges)


def as_fast_text(name: str, other: str, speedup: Speedup) -> str:
    """Return ``tf is 1.31x as fast as ort [1.29, 1.33]``."""
    value, ends = ratio_with_ends(speedup.value, speedup.ends)
    return f"{name} is {value}x as fast as {other}{ends}{range_note(speedup)}"


def range_note(speedup: Speedup) -> str:
    """Return ``, the range over 3 launches`` where the brackets before it are not an interval; empty where they are.

    Several launches without either are those of a load that is tied to turns, of which there is no interval.
    """
    if speedup.low is not None:
        return ""
    if speedup.ends is None:
        return ", after only one launch" if speedup.launches in (None, 1) else ""
    launches = "few launches" if speedup.launches is None else plural(speedup.launches, "launch")
    return f", the {RANGE} over {launches}"


def speedup_cell(speedup: Speedup | None, *, is_baseline: bool, marks_ranges: bool = False) -> str:
    """Return ``1.31 [1.29, 1.33]``, or ``1 baseline``; without brackets where a single launch gives no range.

    A question mark behind the value says that nothing was compared with the answers.
    """
    if is_baseline:
        return "1 baseline"
    if speedup is None:
        return NOT_MEASURED
    value, ends = ratio_with_ends(speedup.value, speedup.ends, marks_ranges=marks_ranges)
    return f"{value}{' ?' if speedup.verified is False else ''}{ends}"


def seconds(milliseconds: float | None) -> str:
    """Return milliseconds as seconds with one decimal, or one significant digit where that would be nothing."""
    return NOT_MEASURED if milliseconds is None else fixed(milliseconds / 1e3, 1)
