"""Rows that the columns of a table put in different orders: by speedup, by median latency, and by throughput.

A speedup compares two rows block by block and then launch by launch, so that what slowed both cancels. A median latency
and a throughput are of all calls of a row, in whatever state the machine was. On a quiet machine all give one order.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import combinations

from irbench.core.result import NoWinner
from irbench.core.row import CellResult, Spans
from irbench.notices.warnings import OrderRow
from irbench.stats.intervals import interval_at, looks_of
from irbench.stats.notice_rules.table_state import TableState
from irbench.stats.observed import is_as_loaded
from irbench.stats.speedups import excludes_zero, launch_ratios
from irbench.stats.winner import LeadEstimate

_MATTERS = math.log1p(0.1)
"""From this ratio on a reader sees a contradiction, whether or not the figures are known as closely."""


@dataclass(frozen=True)
class _Column:
    """A figure that rows are read by.

    Attributes:
        shown: What the table shows of a row.
        spans: The same over launches.
        sign: 1 where less is better, -1 where more is.
    """

    shown: Callable[[CellResult], float | None]
    spans: Callable[[CellResult], Spans | None]
    sign: int


_P50 = _Column(lambda row: None if row.latency_ms is None else row.latency_ms.p50, lambda row: row.p50_over_launches, 1)
_FPS = _Column(lambda row: row.fps, lambda row: row.fps_over_launches, -1)
_TOKENS = _Column(
    lambda row: None if row.generation is None else row.generation.tokens_per_s.value,
    lambda row: None if row.generation is None else row.generation.tokens_per_s,
    -1,
)


@dataclass(frozen=True)
class Against:
    """A column that contradicts the order of two rows.

    Attributes:
        own: Its value for the row that is ahead by speedup.
        other: For the row that is behind.
        is_sure: Whether their intervals, or ranges over few launches, lie apart.
    """

    own: float
    other: float
    is_sure: bool


@dataclass(frozen=True)
class OrderConflict:
    """Two rows in one order by speedup, and in the other by another column.

    Attributes:
        cell: The row that is ahead by speedup.
        other: The row that is behind.
        lead: How many times as fast the first one is by speedup.
        p50: Median latencies in milliseconds, where they contradict that.
        fps: Throughputs, where they do.
        tokens_per_s: The same of rows that generate tokens.
        believes_speedup: Whether the interval of the speedup tells the two apart, and the other figures do not.
    """

    cell: str
    other: str
    lead: float
    p50: Against | None
    fps: Against | None
    believes_speedup: bool
    tokens_per_s: Against | None = None

    @property
    def weight(self) -> tuple[bool, float]:
        """What makes a conflict the one to name: a p50 that surely contradicts, then the largest log ratio."""
        return self.p50 is not None and self.p50.is_sure, self._size

    @property
    def _size(self) -> float:
        return max(
            abs(math.log(figure.own / figure.other))
            for figure in (self.p50, self.fps, self.tokens_per_s)
            if figure is not None
        )


def order_conflicts(state: TableState) -> tuple[OrderConflict, ...]:
    """Return all pairs in conflict, from the top down: first what contradicts each row most, then the rest.

    Two rows are in conflict where a column turns their order round by more than counts as the same and its intervals
    over launches (in a preview: its ranges) lie apart, or by more than 10 % whatever is known of it.
    """
    ranked = [cell for cell in state.rows if cell in state.eligibility.compared]
    found = [conflict for pair in combinations(ranked, 2) if (conflict := _conflict(state, *pair)) is not None]
    worst: dict[str, OrderConflict] = {}
    for conflict in found:
        if conflict.cell not in worst or conflict.weight > worst[conflict.cell].weight:
            worst[conflict.cell] = conflict
    return (*worst.values(), *(conflict for conflict in found if conflict is not worst[conflict.cell]))


def order_doubt(state: TableState, finding: LeadEstimate) -> NoWinner | None:
    """Return that the leader cannot be called the fastest, where a row has surely the lower median latency."""
    if finding.reason is not None or finding.leader is None:
        return None
    others = (row for row in state.eligibility.compared if row != finding.leader)
    return next(filter(None, (pair_order_doubt(state, finding.leader, other) for other in others)), None)


def pair_order_doubt(state: TableState, ahead: str, behind: str) -> NoWinner | None:
    """Return that the row behind by speedup has surely the lower median latency, where rows are compared by that."""
    if state.group.objective != "latency" or is_as_loaded(state.launches):
        return None
    conflict = _conflict(state, ahead, behind)
    return "p50-disagrees" if conflict is not None and conflict.p50 is not None and conflict.p50.is_sure else None


def as_row(conflict: OrderConflict) -> OrderRow:
    """Return a conflict as a row of a warning."""
    return OrderRow(
        conflict.cell,
        conflict.other,
        lead=conflict.lead,
        p50_ms=None if conflict.p50 is None else (conflict.p50.own, conflict.p50.other),
        fps=None if conflict.fps is None else (conflict.fps.own, conflict.fps.other),
        tokens_per_s=None
        if conflict.tokens_per_s is None
        else (conflict.tokens_per_s.own, conflict.tokens_per_s.other),
        believed="speedup" if conflict.believes_speedup else None,
    )


def _columns(state: TableState, ahead: CellResult, behind: CellResult) -> Mapping[str, _Column]:
    """Return the columns that speak of what two rows are compared by.

    Latencies do where both rows answer one call after the other, of the same batch. What is best in something else that
    was asked for need not be so in throughput, and processor time is in no column.
    """
    if state.group.objective == "cost":
        return {}
    is_one_by_one = ahead.mode == behind.mode == "sync" and ahead.batch == behind.batch
    asks_for_other = state.group.goal is not None and state.group.objective != "fps"
    throughput = {"fps": _FPS} if ahead.generation is None else {"tokens_per_s": _TOKENS}
    return {**({"p50": _P50} if is_one_by_one else {}), **({} if asks_for_other else throughput)}


def _conflict(state: TableState, ahead: str, behind: str) -> OrderConflict | None:
    rows = state.rows[ahead], state.rows[behind]
    columns = {name: _against(column, *rows, state.timing.within) for name, column in _columns(state, *rows).items()}
    if not any(columns.values()):
        return None
    direct = launch_ratios(state.launches, behind, ahead)
    interval = interval_at(direct, looks_of(state.timing), state.timing.confidence) if direct else None
    is_known = interval is not None and excludes_zero(interval) and interval.low > 0
    is_sure = any(against is not None and against.is_sure for against in columns.values())
    return OrderConflict(
        ahead,
        behind,
        lead=math.exp(statistics.median(direct)) if direct else _lead_over_baseline(*rows),
        p50=columns.get("p50"),
        fps=columns.get("fps"),
        tokens_per_s=columns.get("tokens_per_s"),
        believes_speedup=is_known and not is_sure,
    )


def _lead_over_baseline(own: CellResult, other: CellResult) -> float:
    """Return how many times as fast a row is as another one that shares no launch with it."""
    ratios = [1.0 if row.speedup is None else row.speedup.value for row in (own, other)]
    return ratios[0] / ratios[1]


def _against(column: _Column, ahead: CellResult, behind: CellResult, within: float) -> Against | None:
    own, other = column.shown(ahead), column.shown(behind)
    if own is None or other is None or min(own, other) <= 0:
        return None
    worse = column.sign * math.log(own / other)
    is_sure = worse > math.log1p(within) and _lie_apart(column, ahead, behind)
    return Against(own, other, is_sure) if is_sure or worse > _MATTERS else None


def _lie_apart(column: _Column, ahead: CellResult, behind: CellResult) -> bool:
    """Whether the whole interval or range of the first row is worse than that of the second."""
    ends = [None if spans is None else spans.ends for spans in map(column.spans, (ahead, behind))]
    own, other = ends
    if own is None or other is None:
        return False
    return own.low > other.high if column.sign > 0 else own.high < other.low
