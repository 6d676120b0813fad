r"""The fastest cell against its nearest rival, adjusted for having been chosen by the same data.

Let k cells have true log speeds, b be the one that looks best, t the one that is, and r the true nearest rival of t.
For every pair (i, j) the launches that measured both give an interval [L_ij, U_ij] for how much faster i is than j,
whose ends each miss with probability e at any look together; note L_ij = -U_ji. The statement about b against its
nearest rival is

    min over j of L_bj  <=  (log speed of b) - max over j != b of (log speed of j)  <=  min over j of U_bj

If b = t, the lower end can only be wrong where L_tr misses (one event). If b is not t, it is wrong only where L_bt
misses, and the upper end is right because the truth is not above 0 and that end is never put below 0. If b = t,
the upper end is wrong only where some U_tj misses, which is the event that L_jt misses. In all these are k events:
the interval covers with probability 1 - k e at least. For two cells this is the two-sided interval of the rows.

Pairs may have been launched together a different number of times, and how often may depend on what they showed: the
intervals hold at all looks together. The true medians of pairs are taken to add up, which they do unless launches
scatter very unevenly. The argument is Hsu's for comparisons with the best, without its constraint to intervals that
contain 0, and with Bonferroni's bound in place of the multivariate t, because nothing is known of the distribution:
Hsu, "Multiple Comparisons" (1996), chapter 4; Edwards and Hsu, "Multiple Comparisons with the Best Treatment", JASA 78
(1983).
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from irbench.result import Lead, NoWinner
from irbench.spec import Timing
from irbench.stats.compare import launch_ratios, within_band
from irbench.stats.intervals import Interval, interval_at, looks_of
from irbench.stats.observed import Observed

__all__ = ["LeadEstimate", "find_winner", "lead_miss"]

_Pairs = Mapping[str, Sequence[float]]


@dataclass(frozen=True)
class LeadEstimate:
    """What can be said of the fastest cell.

    Attributes:
        leader: The cell that looks fastest; ``None`` where no two were launched together.
        rival: The cell that comes next.
        ratio: ln(time of rival / time of leader): the estimate and its adjusted interval, whose confidence is that of
            each pair. Neither lies below 0 at its upper end: the leader was chosen as the fastest.
        rivals: The adjusted interval of each cell's log time relative to the leader's.
        reason: Why no cell can be called the fastest; ``None`` with a winner.
    """

    leader: str | None = None
    rival: str | None = None
    ratio: Interval | None = None
    rivals: Mapping[str, Interval] = field(default_factory=dict[str, Interval])
    reason: NoWinner | None = None

    def as_lead(self, reason: NoWinner | None = None) -> Lead | None:
        """Return it for the document, with a reason from outside the comparison where there is one."""
        if self.leader is None or self.rival is None or self.ratio is None:
            return None
        return Lead(
            cell=self.leader,
            rival=self.rival,
            value=math.exp(self.ratio.value),
            low=math.exp(self.ratio.low),
            high=math.exp(self.ratio.high),
            launches=self.ratio.count,
            reason=reason or self.reason,
            assumes_one_mode=self.ratio.assumes_one_mode,
        )


def find_winner(launches: Sequence[Observed], cells: Sequence[str], timing: Timing) -> LeadEstimate:
    """Compare the best cell with each rival directly, block by block.

    Args:
        launches: Every launch, reduced; each may have measured some of the cells only.
        cells: Ids of those that may be called the fastest.
        timing: Confidence, looks, and the band called the same.
    """
    known = {cell: _pairs_of(launches, cell, cells) for cell in cells}
    complete = [cell for cell, pairs in known.items() if len(pairs) == len(cells) - 1]
    if len(cells) < 2 or not complete:
        return LeadEstimate()
    leader = max(complete, key=lambda cell: min(map(statistics.median, known[cell].values())))
    miss = lead_miss(len(cells), timing)
    rivals = {cell: interval_at(values, looks_of(timing), 1 - miss) for cell, values in known[leader].items()}
    rival = min(rivals, key=lambda cell: rivals[cell].value)
    nearest = rivals[rival]
    ratio = Interval(
        value=max(0.0, nearest.value),
        low=min(interval.low for interval in rivals.values()),
        high=max(0.0, min(interval.high for interval in rivals.values())),
        count=nearest.count,
        confidence=None if any(interval.confidence is None for interval in rivals.values()) else nearest.confidence,
        bound=nearest.bound,
    )
    return LeadEstimate(leader, rival, ratio, rivals, _why_not(ratio, timing))


def lead_miss(cells: int, timing: Timing) -> float:
    """Return how often the interval of a pair may miss, both ends together, so that the lead's keeps its promise."""
    return 2 * (1 - timing.confidence) / max(2, cells)


def _pairs_of(launches: Sequence[Observed], cell: str, cells: Sequence[str]) -> _Pairs:
    """Return ln(time of other / time of cell) of each other cell that some launch measured together with this one."""
    found = {other: launch_ratios(launches, other, cell) for other in cells if other != cell}
    return {other: values for other, values in found.items() if values}


def _why_not(ratio: Interval, timing: Timing) -> NoWinner | None:
    if ratio.confidence is None:
        return "preview"
    if within_band(ratio.low, ratio.high, timing.within):
        return "same"
    return "undecided" if ratio.low <= 0 else None
