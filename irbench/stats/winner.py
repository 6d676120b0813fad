r"""The fastest cell against its nearest rival, adjusted for having been chosen by the same data.

Let k cells have true log speeds, b be the one that looks best, t the one that is, and r the true nearest rival of t.
For every pair (i, j) the launches give an interval [L_ij, U_ij] for how much faster i is than j, by order statistics
whose ends each miss with probability e; note L_ij = -U_ji. The statement about b against its nearest rival is

    min over j of L_bj  <=  (log speed of b) - max over j != b of (log speed of j)  <=  min over j of U_bj

If b = t, the lower end can only be wrong where L_tr misses (one event). If b is not t, it is wrong only where L_bt
misses, and the upper end is right because the truth is not above 0 and a chosen b has U_bj >= 0 for all j. If b = t,
the upper end is wrong only where some U_tj misses, which is the event that L_jt misses. In all these are k events:
the interval covers with probability 1 - k e at least. That b is the fastest at all (lower end above 0) is wrong
only in the k - 1 events L_bt with b not t: 1 - (k - 1) e. For two cells this is the two-sided interval of the rows.

The true medians of pairs are taken to add up, which they do unless launches scatter very unevenly. The argument is
Hsu's for comparisons with the best, without its constraint to intervals that contain 0, and with Bonferroni's bound in
place of the multivariate t, because nothing is known of the distribution: Hsu, "Multiple Comparisons" (1996),
chapter 4; Edwards and Hsu, "Multiple Comparisons with the Best Treatment", JASA 78 (1983).

At 95 % six launches (e = 1/64) give the interval for up to three cells and the claim for four; seven do for six cells.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from irbench.result import Winner
from irbench.spec import Timing
from irbench.stats.compare import launch_ratios, within_band
from irbench.stats.intervals import Interval, deepest_rank, launches_for, one_sided_miss, ranked_interval
from irbench.stats.observed import Observed

__all__ = ["Finding", "find_winner", "launches_for_interval"]


@dataclass(frozen=True)
class Finding:
    """What can be said of the fastest cell.

    Attributes:
        winner: The claim: speedups over the nearest rival. ``None`` where it cannot be made.
        leader: The cell that looks fastest; ``None`` with fewer than two cells.
        rival: The cell that comes next.
        ratio: ln(time of rival / time of leader): the estimate and its adjusted interval.
        coverage: What the interval is worth after the adjustment.
        reason: ``preview`` with too few launches, ``undecided`` where the interval holds 1, ``same`` where the
            difference lies within the band that counts as none; ``None`` with a winner.
    """

    winner: Winner | None = None
    leader: str | None = None
    rival: str | None = None
    ratio: Interval | None = None
    coverage: float = 0.0
    reason: str | None = None


def find_winner(launches: Sequence[Observed], ranked: Sequence[str], timing: Timing) -> Finding:
    """Compare the best cell with each rival directly, block by block.

    Args:
        launches: Every launch, reduced.
        ranked: Ids of the cells that may be compared, fastest first.
        timing: Confidence, launches for an interval, and the band called the same.
    """
    if len(ranked) < 2:
        return Finding()
    leader, *rivals = ranked
    ratios = {rival: launch_ratios(launches, rival, leader) for rival in rivals}
    count = min(len(one) for one in ratios.values())
    if not count:
        return Finding()
    miss = 1 - timing.confidence
    rank = max(1, deepest_rank(count, miss / len(ranked)))
    intervals = {rival: ranked_interval(one, rank) for rival, one in ratios.items()}
    rival = min(intervals, key=lambda one: intervals[one].value)
    ratio = Interval(
        value=intervals[rival].value,
        low=min(one.low for one in intervals.values()),
        high=min(one.high for one in intervals.values()),
        rank=rank,
        count=count,
    )
    coverage = max(0.0, 1 - len(ranked) * one_sided_miss(count, rank))
    enough = count >= timing.min_launches and len(rivals) * one_sided_miss(count, rank) <= miss
    reason = _why_not(ratio, timing, claimable=enough)
    return Finding(None if reason else _winner(leader, rival, ratio), leader, rival, ratio, coverage, reason)


def launches_for_interval(cells: int, confidence: float) -> int:
    """Return how many launches the adjusted interval needs to cover ``confidence``."""
    return launches_for((1 - confidence) / cells)


def _why_not(ratio: Interval, timing: Timing, *, claimable: bool) -> str | None:
    if not claimable:
        return "preview"
    if within_band(ratio.low, ratio.high, timing.within):
        return "same"
    return "undecided" if ratio.low <= 0 else None


def _winner(leader: str, rival: str, ratio: Interval) -> Winner:
    return Winner(leader, rival, math.exp(ratio.value), math.exp(ratio.low), math.exp(ratio.high))
