"""Compare a backend with itself, and find the smallest difference that such a run detects."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from irbench.diagnostics.resolution import smallest_difference
from irbench.result import GroupResult, RunDocument
from irbench.row_figures import Speedup
from irbench.spec import Timing

Outcome = Literal["passed", "failed", "undecided", "busy", "mismatch", "broken", "interrupted"]
"""Not different passes and different fails; ``busy`` says nothing, because most blocks were disturbed; ``mismatch`` is
a wrong answer, ``broken`` a row without figures."""


@dataclass(frozen=True)
class SelfComparison:
    """What came of measuring a backend twice.

    Attributes:
        run_id: Of the stored run.
        folder: Where it is stored.
        table: Its only table.
        timing: The protocol's numbers, the band that is called the same among them.
    """

    run_id: str
    folder: Path
    table: GroupResult
    timing: Timing

    @property
    def speedup(self) -> Speedup | None:
        """The second against the first; ``None`` where one of them has no valid result."""
        return next((cell.speedup for cell in self.table.cells if cell.speedup is not None), None)

    @property
    def outcome(self) -> Outcome:
        """What that says of the machine."""
        found = self.speedup
        if self.table.stopped_by == "interrupt":
            return "interrupted"
        if found is None:
            return "mismatch" if any(cell.state == "mismatch" for cell in self.table.cells) else "broken"
        if self.table.is_busy and found.verdict != "preview":
            return "busy"
        if found.verdict == "same":
            return "passed"
        return "failed" if found.verdict in ("faster", "slower") else "undecided"

    @property
    def smallest_difference(self) -> float | None:
        """The least true difference that four of five such runs would find, as a fraction.

        ``None`` without an interval, and where the machine told a backend from itself: what it finds means nothing.
        """
        found = self.speedup
        if found is None or found.low is None or self.outcome not in ("passed", "undecided"):
            return None
        return smallest_difference(found, self.table.launches, self.timing)


def judge_self_comparison(document: RunDocument, folder: Path, timing: Timing) -> SelfComparison:
    """Return what a run of one backend named twice says of the machine.

    Args:
        document: The run, with one table.
        folder: Where it is stored.
        timing: The numbers it was measured by.
    """
    (table,) = document.groups
    return SelfComparison(document.run_id, folder, table, timing)
