"""Figures over launches: a median with the interval that the protocol has for as many launches."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from irbench.core.row import Ends
from irbench.spec import Timing
from irbench.stats.intervals import Looks, interval_at

_TIMING = Timing()
_RESOLUTION_NS = 1_000


@dataclass(frozen=True)
class Estimate:
    """A median over launches.

    Attributes:
        value: It.
        low: Lower end of the interval, or of the range.
        high: Upper end.
        confidence: Of the interval; ``None`` where there are too few launches for one, and the ends are the range.
    """

    value: float
    low: float
    high: float
    confidence: float | None = None

    @property
    def ends(self) -> Ends | None:
        """The interval or range; ``None`` where both ends are the same, as after a single launch."""
        return None if self.low == self.high else Ends(self.low, self.high, is_range=self.confidence is None)

    @property
    def half_width(self) -> float:
        """The larger distance of an end from the value."""
        return max(self.value - self.low, self.high - self.value)

    @property
    def is_certain(self) -> bool:
        """Whether a difference of times, in nanoseconds, is none of scatter: its ends have one sign, and it is told.

        Runtimes tell whole microseconds.
        """
        return (self.low > 0 or self.high < 0) and abs(self.value) >= _RESOLUTION_NS

    def clamped(self, least: float, most: float) -> Estimate:
        """Return it with its ends within what is possible; its value is."""
        return Estimate(self.value, max(least, self.low), min(most, self.high), self.confidence)

    def less(self, other: Estimate) -> Estimate:
        """Return by how much it is more than an independent one: the ends are those that both intervals allow."""
        is_preview = self.confidence is None or other.confidence is None
        confidence = None if is_preview else self.confidence
        return Estimate(self.value - other.value, self.low - other.high, self.high - other.low, confidence)


def looks_at(launches: int) -> Looks:
    """Return at how many launches a profile of so many may end: its budget may end it sooner."""
    return Looks(_TIMING.min_launches, max(_TIMING.min_launches, launches))


def estimate(values: Sequence[float], looks: Looks) -> Estimate:
    """Return the estimate of one value for each launch, at least one."""
    found = interval_at(values, looks, _TIMING.confidence)
    return Estimate(found.value, found.low, found.high, found.confidence)
