"""What fusing gains, beside what a graph written by hand gains: pure functions from a run's table and samples."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from irbench.core.result import GroupResult
from irbench.core.row import CellResult, Speedup
from irbench.optimizer import UNOPTIMIZED
from irbench.stats.intervals import Interval, Looks, interval_at
from irbench.stats.observed import Observed
from irbench.stats.speedups import launch_ratios

LEVELS = ("basic", "extended", "all")
HAND = ("hand", "hand-vendor")

_ROUNDING = 1e-12
_LOOKS = Looks(4, 12)
"""Those of the usual protocol, under which these runs are measured."""


@dataclass(frozen=True)
class Graph:
    """One form of a model on one backend.

    Attributes:
        level: What was done to it; ``none``, one of :data:`LEVELS`, or one of :data:`HAND`.
        nodes: Of its graph, those within other nodes included; ``None`` where it was not made.
        row: What was measured.
    """

    level: str
    nodes: int | None
    row: CellResult

    @property
    def speedup(self) -> Speedup | None:
        """Over the graph as exported."""
        return self.row.speedup

    @property
    def is_baseline(self) -> bool:
        """Whether it is the graph as exported."""
        return self.level == UNOPTIMIZED

    @property
    def is_slower(self) -> bool:
        """Whether it is slower than the graph as exported, beyond doubt."""
        speedup = self.speedup
        return speedup is not None and speedup.high is not None and speedup.high < 1


@dataclass(frozen=True)
class Share:
    """How much of the gain of a graph written by hand a level reaches.

    Attributes:
        value: Gain of the level over that of the graph by hand, where a gain is the speedup less one.
        low: Lower end of its interval.
        high: Upper end.
    """

    value: float
    low: float
    high: float


@dataclass(frozen=True)
class Comparison:
    """All forms of a model on one backend.

    Attributes:
        model: With its shape, in words.
        backend: Its name.
        graphs: One for each level; none where nothing could be measured.
        best: The fastest of :data:`LEVELS`; ``None`` where none was measured.
        ceiling: The faster of :data:`HAND`; likewise.
        share: What ``best`` reaches of what ``ceiling`` gains; ``None`` where that gain cannot be told from none.
        launches: How many there were.
        preview: Whether there were too few launches for intervals, so that they are ranges.
        failure: Why nothing could be measured.
    """

    model: str
    backend: str
    graphs: tuple[Graph, ...] = ()
    best: Graph | None = None
    ceiling: Graph | None = None
    share: Share | None = None
    launches: int = 0
    preview: bool = False
    failure: str = ""

    @property
    def is_complete(self) -> bool:
        """Whether every form was measured and answers rightly."""
        return bool(self.graphs) and all(graph.row.state == "ok" for graph in self.graphs)


def compare(
    names: tuple[str, str],
    table: GroupResult,
    nodes: Mapping[str, int],
    launches: Sequence[Observed],
    confidence: float,
) -> Comparison:
    """Return how the forms of a model compare.

    Args:
        names: The model, in words, and the backend.
        table: The run's, with the graph as exported as its baseline.
        nodes: Of each level's graph.
        launches: The run's, reduced.
        confidence: Of the intervals.
    """
    levels = {row.id: row.artifact.partition("+")[2] or UNOPTIMIZED for row in table.cells}
    order = (UNOPTIMIZED, *LEVELS, *HAND)
    rows = sorted(table.cells, key=lambda row: order.index(levels[row.id]))
    graphs = tuple(Graph(levels[row.id], nodes.get(levels[row.id]), row) for row in rows)
    best, ceiling = _fastest(graphs, LEVELS), _fastest(graphs, HAND)
    share = None
    if best is not None and ceiling is not None:
        pairs = _paired_gains(launches, best.row.id, ceiling.row.id, table.baseline or "")
        share = share_of_gain([item for item, _ in pairs], [item for _, item in pairs], confidence)
    return Comparison(*names, graphs, best, ceiling, share, table.launches, table.preview)


def _fastest(graphs: Sequence[Graph], levels: Sequence[str]) -> Graph | None:
    speedups = {graph.speedup.value: graph for graph in graphs if graph.level in levels and graph.speedup is not None}
    return speedups[max(speedups)] if speedups else None


def _paired_gains(launches: Sequence[Observed], cell: str, other: str, baseline: str) -> list[tuple[float, float]]:
    """Return ln of both speedups for each launch that measured all three."""
    found = [(launch_ratios([launch], cell, baseline), launch_ratios([launch], other, baseline)) for launch in launches]
    return [(-own[0], -others[0]) for own, others in found if own and others]


def share_of_gain(gains: Sequence[float], ceilings: Sequence[float], confidence: float) -> Share | None:
    """Return how much of one gain another is, with its interval; ``None`` where the former cannot be told from none.

    The value is the ratio of the two gains, each that of the median launch. The interval holds every share s for which
    the median over launches of gain - s * ceiling may be 0, by the same order statistics as every interval of irbench.
    Where each launch has a positive ceiling, these are the order statistics of the launches' own shares; and no launch
    is divided by what may be 0 (Fieller, "Some Problems in Interval Estimation", JRSS B 16 (1954), for medians).

    Args:
        gains: ln of the speedup of each launch.
        ceilings: The same of the graph by hand, in the same launches.
        confidence: Of the interval.
    """
    if not ceilings or _interval(ceilings, confidence).low <= 0:
        return None
    pairs = [(math.expm1(gain), math.expm1(other)) for gain, other in zip(gains, ceilings, strict=True)]
    ends = [gain / ceiling for gain, ceiling in pairs if ceiling]
    held = [share for share in ends if _may_be(share, pairs, confidence)]
    value = _median_gain(gains, confidence) / _median_gain(ceilings, confidence)
    return Share(value, min(held), max(held))


def _interval(values: Sequence[float], confidence: float) -> Interval:
    return interval_at(values, _LOOKS, confidence)


def _may_be(share: float, pairs: Sequence[tuple[float, float]], confidence: float) -> bool:
    interval = _interval([gain - share * ceiling for gain, ceiling in pairs], confidence)
    return interval.low <= _ROUNDING and interval.high >= -_ROUNDING


def _median_gain(gains: Sequence[float], confidence: float) -> float:
    return math.expm1(_interval(gains, confidence).value)
