"""One backend measured against itself: whether the machine tells it from itself, and what it lets one see."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path

from irbench.errors import ExitCode
from irbench.render.figures import ratio
from irbench.result import GroupResult, RunDocument, Speedup
from irbench.spec import Timing
from irbench.stats.phrases import plural

__all__ = ["Twins", "judge_twins"]

_FAILED = (
    "Failed: {itself}, so this machine tells a backend from itself. One run in twenty does so by chance: repeat it. If"
    " it fails again, mend what disturbs; until it passes, do not trust differences of this size here."
)
_MEANING = {
    "same": "Passed: {itself}, within {band}.",
    "undecided": "Undecided: {itself}, which neither stays within {band} nor leaves 1 out. Mend what disturbs, or give"
    " it more time with --budget.",
    "faster": _FAILED,
    "slower": _FAILED,
}


@dataclass(frozen=True)
class Twins:
    """What came of measuring a backend twice.

    Attributes:
        run_id: Of the stored run.
        folder: Where it is stored.
        table: Its only table.
        within: Half-width of the band around 1 that is called the same.
    """

    run_id: str
    folder: Path
    table: GroupResult
    within: float

    @property
    def speedup(self) -> Speedup | None:
        """The second against the first; ``None`` where one of them has no valid result."""
        return next((cell.speedup for cell in self.table.cells if cell.speedup is not None), None)

    @property
    def smallest_difference(self) -> float | None:
        """The least difference between two backends that such a run would show, as a fraction.

        It is the half-width of the interval of ln(speedup), as a ratio less 1: a true difference of that size moves
        the interval just off 1. ``None`` without an interval.
        """
        found = self.speedup
        if found is None or found.verdict == "preview":
            return None
        return math.expm1((math.log(found.high) - math.log(found.low)) / 2)

    @property
    def exit_code(self) -> ExitCode:
        """What the process tells: not different passes, different fails, and the rest is undecided."""
        found = self.speedup
        if self.table.stopped_by == "interrupt":
            return ExitCode.INTERRUPTED
        if found is None:
            wrong = any(cell.state == "mismatch" for cell in self.table.cells)
            return ExitCode.DIFFERENT if wrong else ExitCode.FAILED_CELL
        if found.verdict == "same":
            return ExitCode.OK
        return ExitCode.DIFFERENT if found.verdict in ("faster", "slower") else ExitCode.UNDECIDED

    @property
    def message(self) -> str:
        """What that means, and what to do about it."""
        return " ".join(filter(None, (self._outcome(), self._resolution())))

    def _outcome(self) -> str:
        found, launches, backend = self.speedup, self.table.launches, self.table.cells[0].backend
        if self.exit_code == ExitCode.INTERRUPTED:
            return f"Interrupted after {plural(launches, 'launch')}: nothing is decided."
        if found is None:
            return f"Failed: {backend} has no two valid results to compare; its row says why."
        if found.verdict == "preview":
            needed = plural(Timing().min_launches, "launch")
            return f"Undecided: {launches} of at least {needed} fitted in. Give it more time with --budget."
        value, low, high = ratio(found.value, found.low, found.high)
        return _MEANING[found.verdict].format(
            itself=f"{backend} against itself is {value}x [{low}, {high}]", band=f"±{100 * self.within:g} %"
        )

    def _resolution(self) -> str:
        smallest = self.smallest_difference
        if smallest is None:
            return ""
        return (
            f"The smallest difference that this machine lets one see is about {100 * smallest:.2g} %:"
            f" the half-width of that interval over {self.table.launches} launches."
        )


def judge_twins(document: RunDocument, folder: Path, within: float) -> Twins:
    """Return what a run of one backend named twice says of the machine.

    Args:
        document: The run, with one table.
        folder: Where it is stored.
        within: Half-width of the band around 1 that was called the same.
    """
    (table,) = document.groups
    return Twins(document.run_id, folder, table, within)
