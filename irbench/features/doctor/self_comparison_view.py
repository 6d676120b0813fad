"""The result of comparing a backend with itself, in words."""

from __future__ import annotations

from irbench.core.quantities import percent, plural
from irbench.core.row import Speedup
from irbench.features.doctor.self_comparison import FOUND, SelfComparison
from irbench.render.figure_texts import ratio_with_ends


def self_comparison_message(compared: SelfComparison) -> str:
    """Return what it means, what to do about it, and how small a difference such a run finds."""
    return " ".join(filter(None, (_outcome(compared), _resolution(compared))))


def _outcome(compared: SelfComparison) -> str:
    found, launches, backend = compared.speedup, compared.table.launches, compared.table.cells[0].backend
    if compared.outcome == "interrupted":
        return f"Interrupted after {plural(launches, 'launch')}: there is no result."
    if found is None:
        return f"Failed: {backend} does not have two valid results to compare; its row says why."
    if found.verdict == "preview":
        needed = plural(compared.timing.min_launches, "required launch")
        return f"Undecided: only {launches} of the {needed} fit into the budget. Allow more time with --budget."
    if compared.outcome == "busy":
        share = f"{compared.table.blocks_disturbed} of {plural(compared.table.blocks_measured, 'block')}"
        return (
            f"Undecided: other programs disturbed {share}, so this run says nothing about {backend} or this machine."
            " Close other programs (top lists them), and repeat the run."
        )
    return _decided(compared, found)


def _decided(compared: SelfComparison, found: Speedup) -> str:
    value, ends = ratio_with_ends(found.value, found.ends)
    itself = f"{compared.table.cells[0].backend} against itself is {value}x{ends}"
    band = f"±{100 * compared.timing.within:g} %"
    if compared.outcome == "failed":
        return (
            f"Failed: {itself}, so a difference was found where there is none. That happens by chance in one run of"
            " twenty: repeat it. If it fails again, fix what disturbs the machine, and do not trust differences of this"
            " size here until it passes."
        )
    if compared.outcome == "undecided":
        return (
            f"Undecided: {itself}, which neither lies within {band} nor excludes 1. Fix what disturbs the machine, or"
            " allow more time with --budget."
        )
    return f"Passed: {itself}{_place(found, band)}."


def _place(found: Speedup, band: str) -> str:
    """Return where a passed interval lies; inside the band it may still leave 1 out."""
    if not found.excludes_one:
        return f", within {band}"
    return f": it differs from itself by {percent(abs(found.value - 1))}, inside the {band} that counts as the same"


def _resolution(compared: SelfComparison) -> str:
    smallest = compared.smallest_difference
    if smallest is None:
        return ""
    return (
        f"In a run of this length ({plural(compared.table.launches, 'launch')}) a true difference of about"
        f" {100 * smallest:.2g} % is detected in {percent(FOUND, 0)} of the runs, and a smaller one in fewer."
    )
