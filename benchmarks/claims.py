"""What one run of irbench claims of a speedup that is known."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TypeVar

from irbench.core.result import GroupResult
from irbench.core.row import Verdict
from irbench.errors import IrbenchError
from irbench.spec import Timing
from irbench.stats.intervals import Interval
from irbench.stats.speedups import verdict

T = TypeVar("T")

SHIPPED = "as shipped"
"""The way that users measure."""


@dataclass(frozen=True)
class Claim:
    """What one run said of one known ratio.

    Attributes:
        subject: What was measured: a backend, or nothing where it does what a clock says.
        way: How it was measured.
        ratio: The true speedup.
        value: The speedup that was found.
        low: Lower end of its interval.
        high: Upper end.
        verdict: What the interval says.
        launches: How many there were.
        seconds: Wall time that finding it took.
    """

    subject: str
    way: str
    ratio: float
    value: float
    low: float
    high: float
    verdict: Verdict
    launches: int
    seconds: float

    @property
    def holds(self) -> bool:
        """Whether the interval holds the truth; a preview has no interval."""
        return self.verdict != "preview" and self.low <= self.ratio <= self.high

    @property
    def error(self) -> float:
        """Of the speedup, as a fraction of the truth, without its sign."""
        return abs(self.value / self.ratio - 1)

    @property
    def half_width(self) -> float:
        """Of the interval of the speedup's logarithm."""
        return math.log(self.high / self.low) / 2

    @property
    def tells_apart(self) -> bool:
        """Whether it says which of the two is faster."""
        return self.verdict in ("faster", "slower")


def claim_of_row(table: GroupResult, label: str, ratio: float, subject: str = "", way: str = SHIPPED) -> Claim:
    """Return what a run said of the row called ``label``, which truly is ``ratio`` times as fast as the baseline.

    Raises:
        IrbenchError: The run gave no speedup.
    """
    found = known(next((row.speedup for row in table.cells if row.label == label), None), label)
    low, high, *_ = found.ends or (found.value, found.value)  # of a preview, those of the range
    return Claim(
        subject, way, ratio, found.value, low, high, found.verdict, launches=table.launches, seconds=table.seconds
    )


def claim_of_interval(
    faster: Interval, timing: Timing, whose: tuple[str, str], ratio: float, cost: tuple[int, float]
) -> Claim:
    """Return what the interval of a log speedup says, by the rule of every verdict.

    Args:
        faster: The interval.
        timing: Says which band is called the same.
        whose: Subject and way; see :class:`Claim`.
        ratio: The truth.
        cost: Launches, and wall time in seconds.
    """
    (subject, way), (launches, seconds) = whose, cost
    value, low, high = math.exp(faster.value), math.exp(faster.low), math.exp(faster.high)
    return Claim(subject, way, ratio, value, low, high, verdict(faster, timing), launches, seconds)


def known(value: T | None, row: str) -> T:
    """Return a figure that a row should have.

    Raises:
        IrbenchError: It has none.
    """
    if value is None:
        raise IrbenchError(f"A run gave no figure for {row}.", hint="Look at its table: irbench show")
    return value
