"""Figures over launches: a median with the interval that the protocol has for as many launches."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from irbench.spec import Timing
from irbench.stats.intervals import Looks, interval_at

__all__ = ["Estimate", "estimate", "looks_at"]

_TIMING = Timing()


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
    def half_width(self) -> float:
        """The larger distance of an end from the value."""
        return max(self.value - self.low, self.high - self.value)


def looks_at(launches: int) -> Looks:
    """Return at how many launches a profile of so many may end: its budget may end it sooner."""
    return Looks(_TIMING.min_launches, max(_TIMING.min_launches, launches))


def estimate(values: Sequence[float], looks: Looks) -> Estimate:
    """Return the estimate of one value for each launch, at least one."""
    found = interval_at(values, looks, _TIMING.confidence)
    return Estimate(found.value, found.low, found.high, found.confidence)
