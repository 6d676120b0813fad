"""The variances of launches and of blocks, and the number of blocks per launch that is optimal for them."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from irbench.spec import Timing
from irbench.stats.observed import Observed

_EFFICIENCY = math.pi / 3
"""Variance of a Hodges-Lehmann estimate of n normal values, as a multiple of their variance over n."""


@dataclass(frozen=True)
class Scatter:
    """The variance of a log ratio on both levels.

    Attributes:
        between: Of the launches' estimates.
        within: Of the blocks of a launch, mean over launches.
        blocks: In a launch, on average.
    """

    between: float
    within: float
    blocks: float

    @property
    def within_estimate(self) -> float:
        """What the blocks alone let a launch's estimate vary by."""
        return _EFFICIENCY * self.within / self.blocks

    @property
    def launch(self) -> float:
        """The variance that launches have of their own; 0 where blocks explain all of it."""
        return max(0.0, self.between - self.within_estimate)


def scatter_of(launches: Sequence[Observed], cell: str, other: str) -> Scatter | None:
    """Return how ln(cell / other) scatters; ``None`` with fewer than two launches of several blocks each."""
    estimates: list[float] = []
    variances: list[float] = []
    counts: list[int] = []
    for launch in launches:
        own, others = launch.log_ns.get(cell, {}), launch.log_ns.get(other, {})
        ratios = [own[block] - others[block] for block in launch.counted if block in own and block in others]
        if len(ratios) > 1:
            estimates.append(statistics.fmean(ratios))
            variances.append(statistics.variance(ratios))
            counts.append(len(ratios))
    if len(estimates) < 2:
        return None
    return Scatter(statistics.variance(estimates), statistics.fmean(variances), statistics.fmean(counts))


def blocks_worth_taking(scatters: Sequence[Scatter], start_s: float, block_s: float, timing: Timing) -> int:
    """Return how many clean blocks a launch should have so that time buys the most certainty.

    With variance b of blocks and l of launches, a launch of n blocks costs ``start_s + n block_s`` and tells the ratio
    with variance l + b / n; the product is least at n = sqrt(start_s / block_s * b / l). Variances are summed over the
    pairs that are compared, because a single pair's own are known from few launches. Between ``timing.min_blocks`` and
    ``timing.most_blocks``.
    Source: Kalibera and Jones, "Rigorous Benchmarking in Reasonable Time", ISMM 2013, section 6.

    Args:
        scatters: Of the pairs that are compared, from at least two launches; none leaves ``timing.blocks``.
        start_s: What a launch costs besides its blocks, in seconds.
        block_s: What a block costs, in seconds.
        timing: The protocol's numbers.
    """
    within = _EFFICIENCY * sum(scatter.within for scatter in scatters)
    if not within or block_s <= 0:
        return timing.blocks
    launch = sum(scatter.launch for scatter in scatters)
    worth = math.sqrt(start_s / block_s * within / launch) if launch else math.inf
    return round(max(timing.min_blocks, min(timing.most_blocks, worth)))
