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

Where there are more cells than one launch holds, not every pair is launched together, but each cell is with the
baseline. Such a pair is compared through it: the intervals of both to the baseline add up, and each may miss half as
often as the pair may. A pair that meets directly later on may be told from either: they share what the pair may miss.

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
from typing import Literal

from irbench.core.result import Condition, Contradiction, Lead, NoWinner
from irbench.spec import Timing
from irbench.stats.figures import frames_by_launch, sustained_by_launch
from irbench.stats.intervals import Interval, interval_at, looks_of
from irbench.stats.notice_rules.table_state import TableState
from irbench.stats.observed import Observed, is_as_loaded, reduction_of
from irbench.stats.speedups import launch_ratios, within_band

_DIRECT_SHARE = 0.5
"""Of what a pair may miss that can be compared in two ways, the part of the launches that measured both."""

_FEWEST_QUIET = 2
"""Launches with enough undisturbed blocks that contradict what all blocks say."""


@dataclass(frozen=True)
class _Ratio:
    """ln(time of other / time of cell), from launches of both, or through a cell that both were launched with.

    Attributes:
        legs: The values over launches of what adds up to it.
        share: Of what the pair may miss, the part that this way of comparing it may.
    """

    legs: tuple[Sequence[float], ...]
    share: float = 1.0

    @property
    def value(self) -> float:
        return sum(map(statistics.median, self.legs))

    def interval(self, miss: float, timing: Timing) -> Interval:
        """Return its interval, which may miss with probability ``share * miss``, both ends together."""
        each = self.share * miss / len(self.legs)
        parts = [interval_at(values, looks_of(timing), 1 - each) for values in self.legs]
        if len(parts) == 1:
            return parts[0]
        return Interval(
            value=self.value,
            low=sum(part.low for part in parts),
            high=sum(part.high for part in parts),
            count=min(part.count for part in parts),
            confidence=None if any(part.confidence is None for part in parts) else 1 - miss,
            bound=max((part.bound for part in parts), key=lambda bound: bound.stretch),
        )


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

    def as_lead(
        self,
        reason: NoWinner | None = None,
        condition: Condition | None = None,
        contradiction: Contradiction | None = None,
    ) -> Lead | None:
        """Return it for the document, with what is known from outside the comparison."""
        if self.leader is None or self.rival is None or self.ratio is None:
            return None
        return Lead(
            cell=self.leader,
            rival=self.rival,
            value=math.exp(self.ratio.value),
            **self.ratio.ends(math.exp),
            launches=self.ratio.count,
            reason=reason or self.reason,
            assumes_one_mode=self.ratio.assumes_one_mode,
            condition=condition,
            contradiction=contradiction,
        )


def find_winner(
    launches: Sequence[Observed], cells: Sequence[str], timing: Timing, link: str | None = None
) -> LeadEstimate:
    """Compare the best cell with each rival, block by block.

    Args:
        launches: Every launch, reduced; each may have measured some of the cells only.
        cells: Ids of those that may be called the fastest.
        timing: Confidence, looks, and the band called the same.
        link: The cell that pairs are compared through which were not launched together; ``None`` where one launch
            holds all cells.
    """
    known = {cell: _ratios_of(cell, launches, cells, timing, link) for cell in cells}
    complete = [cell for cell, ratios in known.items() if len(ratios) == len(cells) - 1]
    if len(cells) < 2 or not complete:
        return LeadEstimate()
    leader = max(complete, key=lambda cell: min(ratio.value for ratio in known[cell].values()))
    rivals = _intervals(known[leader], len(cells), timing)
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


def rivals_of(
    cell: str, launches: Sequence[Observed], cells: Sequence[str], timing: Timing, link: str | None = None
) -> dict[str, Interval]:
    """Return the interval of each other cell's log time relative to one's, which need not be the fastest.

    Takes what :func:`find_winner` takes, and the intervals miss as seldom as those of the leader.
    """
    return _intervals(_ratios_of(cell, launches, cells, timing, link), len(cells), timing)


def _intervals(ratios: Mapping[str, _Ratio], cells: int, timing: Timing) -> dict[str, Interval]:
    miss = lead_miss(cells, timing)
    return {cell: ratio.interval(miss, timing) for cell, ratio in ratios.items()}


def lead_miss(cells: int, timing: Timing) -> float:
    """Return how often the interval of a pair may miss, both ends together, so that the lead's keeps its promise."""
    return 2 * (1 - timing.confidence) / max(2, cells)


def _ratios_of(
    cell: str, launches: Sequence[Observed], cells: Sequence[str], timing: Timing, link: str | None
) -> dict[str, _Ratio]:
    ratios = {other: _ratio(cell, other, launches, timing, link) for other in cells if other != cell}
    return {other: ratio for other, ratio in ratios.items() if ratio is not None}


def _ratio(cell: str, other: str, launches: Sequence[Observed], timing: Timing, link: str | None) -> _Ratio | None:
    direct = launch_ratios(launches, other, cell)
    if link is None or link in (cell, other):
        return _Ratio((direct,)) if direct else None
    if len(direct) >= timing.min_launches:
        return _Ratio((direct,), _DIRECT_SHARE)
    legs = launch_ratios(launches, other, link), launch_ratios(launches, link, cell)
    return _Ratio(legs, 1 - _DIRECT_SHARE) if all(legs) else None


def _why_not(ratio: Interval, timing: Timing) -> NoWinner | None:
    if ratio.confidence is None:
        return "preview"
    if within_band(ratio.low, ratio.high, timing.within):
        return "same"
    return "undecided" if ratio.low <= 0 else None


def doubt(state: TableState, finding: LeadEstimate) -> NoWinner | None:
    """Return what forbids to call the leader the fastest; ``None`` where nothing does.

    A machine that disturbed most blocks says nothing of the cells where it is not known in whose turns. Where it is,
    the claim is of the machine as loaded as it was, and holds unless cells met unequal loads. A leader that another
    cell beats once other blocks count, or that its rival beats in throughput or running alone, in the median over
    launches by more than counts as the same, is not the fastest for everybody.
    """
    if finding.reason == "preview":
        return None  # what is missing first are launches
    if state.uneven_load is not None:
        return "uneven-load"
    if reduction_of(state.launches) == "disturbed":
        return "busy"
    leader, rival = finding.leader, finding.rival
    if finding.reason is not None or leader is None or rival is None:
        return None
    if contradiction(finding, state.launches, state.otherwise, state.timing) is not None:
        return "all-blocks-disagree"
    if is_as_loaded(state.launches):
        return None
    edge = -math.log1p(state.timing.within)
    if state.group.goal is not None and state.group.objective != "fps":
        return None  # a row that is best in what was asked for need not be so in throughput
    if state.group.objective == "latency":
        throughput = throughput_ratio(state, leader, rival)
        if throughput is not None and throughput.value < edge:
            return "throughput-disagrees"
    alone = log_ratio_by_launch(_alone(state, leader, rival), _alone(state, rival, leader), state)
    disagrees = alone is not None and alone.confidence is not None and alone.value < edge
    return "sustained-disagrees" if disagrees else None


def contradiction(
    finding: LeadEstimate, launches: Sequence[Observed], otherwise: Sequence[Observed], timing: Timing
) -> Contradiction | None:
    """Return the cell that beats the leader most once other blocks count; ``None`` where none does.

    Args:
        finding: Says who leads, and whom it was compared with.
        launches: Every launch, reduced as the lead was found.
        otherwise: The same, reduced in the other way: :func:`irbench.stats.observed.observe_otherwise`.
        timing: Says which difference counts as none.
    """
    leader = finding.leader
    if leader is None:
        return None
    others = finding.rivals or filter(None, (finding.rival,))
    ratios = {other: launch_ratios(otherwise, leader, other) for other in others}
    # one launch with undisturbed blocks says nothing of launches, and all of them have all blocks
    least = _FEWEST_QUIET if is_as_loaded(launches) else 1
    ahead = {other: statistics.median(values) for other, values in ratios.items() if len(values) >= least}
    cell = max(ahead, key=ahead.__getitem__, default=None)
    if cell is None or ahead[cell] <= math.log1p(timing.within):
        return None
    blocks: Literal["all", "undisturbed"] = "undisturbed" if is_as_loaded(launches) else "all"
    return Contradiction(cell, math.exp(ahead[cell]), blocks, len(ratios[cell]))


def log_ratio_by_launch(own: Mapping[int, float], other: Mapping[int, float], state: TableState) -> Interval | None:
    """Return the interval of ln(own / other) over the launches that have both figures; ``None`` where none has."""
    ratios = [math.log(own[launch] / other[launch]) for launch in own.keys() & other.keys()]
    return interval_at(ratios, looks_of(state.timing), state.timing.confidence) if ratios else None


def throughput_ratio(state: TableState, own: str, other: str) -> Interval | None:
    """Return the interval of ln of the ratio of two cells' throughputs; ``None`` where no launch measured both."""
    return log_ratio_by_launch(_frames(state, own, other), _frames(state, other, own), state)


def _frames(state: TableState, cell: str, beside: str) -> Mapping[int, float]:
    return frames_by_launch(state.records, state.launches, cell, state.rows[cell].batch, beside)


def _alone(state: TableState, cell: str, beside: str) -> Mapping[int, float]:
    return sustained_by_launch(state.counted_records(cell, beside), cell, state.rows[cell].batch)
