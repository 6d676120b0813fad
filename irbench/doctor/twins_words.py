"""What came of a backend against itself, in words."""

from __future__ import annotations

from irbench.doctor.resolution import FOUND
from irbench.doctor.twins import Twins
from irbench.phrases import percent, plural
from irbench.render.figures import ratio
from irbench.result import Speedup

__all__ = ["twins_message"]


def twins_message(twins: Twins) -> str:
    """Return what it means, what to do about it, and how small a difference such a run finds."""
    return " ".join(filter(None, (_outcome(twins), _resolution(twins))))


def _outcome(twins: Twins) -> str:
    found, launches, backend = twins.speedup, twins.table.launches, twins.table.cells[0].backend
    if twins.outcome == "interrupted":
        return f"Interrupted after {plural(launches, 'launch')}: nothing is decided."
    if found is None:
        return f"Failed: {backend} has no two valid results to compare; its row says why."
    if found.verdict == "preview":
        needed = plural(twins.timing.min_launches, "launch")
        return f"Undecided: {launches} of at least {needed} fitted in. Give it more time with --budget."
    if twins.outcome == "busy":
        share = f"{twins.table.blocks_disturbed} of {plural(twins.table.blocks_measured, 'block')}"
        return (
            f"Undecided: other programs disturbed {share}, so this run says nothing of {backend} or of this machine."
            " Close what else runs (top shows it) and repeat it."
        )
    value, low, high = ratio(found.value, found.low, found.high)
    itself, band = f"{backend} against itself is {value}x [{low}, {high}]", f"±{100 * twins.timing.within:g} %"
    if twins.outcome == "failed":
        return (
            f"Failed: {itself}, so this machine tells a backend from itself. One run in twenty does so by chance:"
            " repeat it. If it fails again, mend what disturbs; until it passes, do not trust differences of this size"
            " here."
        )
    if twins.outcome == "undecided":
        return (
            f"Undecided: {itself}, which neither stays within {band} nor leaves 1 out. Mend what disturbs, or give it"
            " more time with --budget."
        )
    return f"Passed: {itself}{_place(found, band)}."


def _place(found: Speedup, band: str) -> str:
    """Return where a passed interval lies; inside the band it may still leave 1 out."""
    if not found.excludes_one:
        return f", within {band}"
    return f": it differs from itself by {percent(abs(found.value - 1))}, inside the {band} that counts as the same"


def _resolution(twins: Twins) -> str:
    smallest = twins.smallest_difference
    if smallest is None:
        return ""
    return (
        f"In a run of this length ({plural(twins.table.launches, 'launch')}) a true difference of about"
        f" {100 * smallest:.2g} % is found in {percent(FOUND, 0)} of runs, a smaller one in fewer."
    )
