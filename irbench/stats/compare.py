"""Two cells compared: in pairs within a block, then over the blocks of a launch, then over launches."""

from __future__ import annotations

import math
from collections.abc import Sequence

from irbench.result import Speedup, Verdict
from irbench.spec import Timing
from irbench.stats.intervals import Interval, median_interval
from irbench.stats.observed import Observed, log_ratio_of_launch

__all__ = ["is_preview", "launch_ratios", "log_ratio", "speedup", "verdict", "within_band"]


def launch_ratios(
    launches: Sequence[Observed], cell: str, other: str, *, all_blocks: bool = False
) -> tuple[float, ...]:
    """Return ln(time of cell / time of other) for each launch that measured both; negative where cell is faster."""
    found = (log_ratio_of_launch(one, cell, other, all_blocks=all_blocks) for one in launches)
    return tuple(ratio for ratio in found if ratio is not None)


def log_ratio(launches: Sequence[Observed], cell: str, other: str, confidence: float) -> Interval | None:
    """Return the median over launches of ln(cell / other) with its interval; ``None`` where none measured both.

    Swapping the two negates the result exactly, and scaling all times changes nothing.
    """
    ratios = launch_ratios(launches, cell, other)
    return median_interval(ratios, confidence) if ratios else None


def speedup(
    launches: Sequence[Observed], cell: str, baseline: str, timing: Timing, reason: str | None = None
) -> Speedup | None:
    """Return how much faster ``cell`` is than ``baseline``: exp(-m) of the median log ratio m.

    Args:
        launches: Every launch, reduced.
        cell: Whose speedup.
        baseline: Relative to whom.
        timing: Confidence, launches for an interval, and the band called the same.
        reason: Why the value is marked.
    """
    ratio = log_ratio(launches, cell, baseline, timing.confidence)
    if ratio is None:
        return None
    faster = -ratio
    everything = -median_interval(launch_ratios(launches, cell, baseline, all_blocks=True), timing.confidence)
    return Speedup(
        value=math.exp(faster.value),
        low=math.exp(faster.low),
        high=math.exp(faster.high),
        verdict=verdict(faster, timing),
        excludes_one=faster.low > 0 or faster.high < 0,
        all_blocks_value=math.exp(everything.value),
        reason=reason,
        all_blocks_verdict=verdict(everything, timing),
    )


def verdict(faster: Interval, timing: Timing) -> Verdict:
    """Return what the interval of a log speedup says."""
    if is_preview(faster, timing):
        return "preview"
    if within_band(faster.low, faster.high, timing.within):
        return "same"
    if faster.low > 0:
        return "faster"
    return "slower" if faster.high < 0 else "undecided"


def is_preview(interval: Interval, timing: Timing) -> bool:
    """Whether there are too few launches for an interval of the plan's confidence."""
    return interval.count < timing.min_launches or interval.coverage < timing.confidence


def within_band(low: float, high: float, within: float) -> bool:
    """Whether a log ratio is practically none: between 1 / (1 + within) and 1 + within.

    Symmetric in the logarithm, so that the verdict does not depend on which cell is the baseline.
    """
    edge = math.log1p(within)
    return -edge <= low and high <= edge
