"""What a neighbour did beside a row, and by how much it slowed down the row's tail and was slowed down itself."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import chain
from statistics import median

import numpy as np

from irbench.core.record import LaunchRecord, NeighbourActivity
from irbench.core.row import BesideNeighbour, Spans
from irbench.spec import Cell, Timing
from irbench.stats.figures import (
    Rounds,
    calls_to_bound,
    percentile_ms,
    positive_span,
    rounds_that_count,
    supports_p90,
)
from irbench.stats.intervals import percentile
from irbench.stats.observed import Observed


@dataclass(frozen=True)
class _Turn:
    """One launch: a row's rounds and those of its baseline, and what the neighbour did in the row's and alone."""

    rounds: Rounds
    baseline: Rounds
    beside: NeighbourActivity
    alone: NeighbourActivity


def beside_neighbour(
    records: Sequence[LaunchRecord], launches: Sequence[Observed], cell: Cell, baseline: str | None, timing: Timing
) -> BesideNeighbour | None:
    """Return what a row's neighbour did in the rounds that count; ``None`` where nothing ran beside it."""
    turns = list(_turns(records, launches, cell.id, baseline))
    if not turns:
        return None

    def span(figure: Callable[[_Turn], float | None]) -> Spans | None:
        values = [value for turn in turns if (value := figure(turn)) is not None]
        return positive_span(values, timing) if len(values) == len(turns) else None

    achieved = _counted(turns)
    processors = span(lambda turn: _processors(turn.beside))
    assert processors is not None
    return BesideNeighbour(
        processors=processors,
        gb_per_s=span(lambda turn: _gb_per_s(turn.beside)),
        calls_per_s=span(lambda turn: _calls_per_s(turn.beside)),
        p50_ms=span(lambda turn: _call_ms(turn.beside, 50)),
        p90_ms=span(lambda turn: _call_ms(turn.beside, 90)),
        alone=span(lambda turn: achieved(turn.alone)),
        slowdown=span(_slowdown),
        p90_slowdown=span(_p90_slowdown) or _p90_slowdown_of_all(turns),
        achieved_share=_achieved_share(turns, cell),
    )


def _turns(
    records: Sequence[LaunchRecord], launches: Sequence[Observed], cell: str, baseline: str | None
) -> Iterable[_Turn]:
    for record, observed in zip(records, launches, strict=True):
        rounds = rounds_that_count([record], [observed], cell, beside=baseline)
        done = [round_.neighbour for _, round_ in rounds if round_.neighbour is not None]
        alone = rounds[0][0].neighbour_alone if rounds else None
        if done and alone is not None:
            own = () if baseline is None else rounds_that_count([record], [observed], baseline, beside=cell)
            yield _Turn(rounds, own, _together(done), alone)


def _together(done: Sequence[NeighbourActivity]) -> NeighbourActivity:
    moved = [each.moved_bytes for each in done if each.moved_bytes is not None]
    return NeighbourActivity(
        wall_ns=sum(each.wall_ns for each in done),
        cpu_ns=sum(each.cpu_ns for each in done),
        moved_bytes=sum(moved) if len(moved) == len(done) else None,
        call_ns=np.concatenate([each.call_ns for each in done]),
    )


def _processors(activity: NeighbourActivity) -> float:
    return activity.cpu_ns / max(1, activity.wall_ns)


def _gb_per_s(activity: NeighbourActivity) -> float | None:
    return None if activity.moved_bytes is None else activity.moved_bytes / max(1, activity.wall_ns)


def _calls_per_s(activity: NeighbourActivity) -> float | None:
    return 1e9 * activity.call_ns.size / max(1, activity.wall_ns) if activity.call_ns.size else None


def _call_ms(activity: NeighbourActivity, percent: float) -> float | None:
    if activity.call_ns.size < (1 if percent <= 50 else calls_to_bound(percent)):
        return None
    return percentile(activity.call_ns / 1e6, percent)


def _counted(turns: Sequence[_Turn]) -> Callable[[NeighbourActivity], float | None]:
    """Return what says how much a neighbour achieved: bytes, else calls, else processors, as counted beside the row."""
    rates = (_gb_per_s, _calls_per_s)
    return next((rate for rate in rates if all(rate(turn.beside) is not None for turn in turns)), _processors)


def _achieved_share(turns: Sequence[_Turn], cell: Cell) -> float | None:
    """Return which share of what was asked of it a neighbour did, the median over launches.

    The end of a round cuts calls off, so calls are not counted here: a stream makes one in each period, or in the time
    that it takes where that is longer.
    """
    beside = cell.load.beside
    if beside is None or beside.asked is None:
        return None
    if beside.rate is None:
        return median(_processors(turn.beside) / beside.asked for turn in turns)
    period_ns = 1e9 * cell.load.streams / beside.rate
    taken_ns = (np.maximum(turn.beside.call_ns, period_ns) for turn in turns)
    return median(period_ns / float(each_ns.mean()) if each_ns.size else 0.0 for each_ns in taken_ns)


def _slowdown(turn: _Turn) -> float | None:
    """Return how much slower a neighbour is beside the row; ``None`` where it did nothing, or its work is not counted.

    Processors that it used are none of its work: who waits for memory uses them too.
    """
    medians = _call_ms(turn.beside, 50), _call_ms(turn.alone, 50)
    if medians[0] is not None and medians[1] is not None:
        return medians[0] / medians[1]
    beside, alone = _gb_per_s(turn.beside), _gb_per_s(turn.alone)
    return alone / beside if alone and beside else None


def _p90_slowdown(turn: _Turn) -> float | None:
    return _p90_ratio(turn.rounds, turn.baseline)


def _p90_slowdown_of_all(turns: Sequence[_Turn]) -> Spans | None:
    """Return the figure of all launches together, without an interval, where single ones have too few calls."""
    ratio = _p90_ratio(*(tuple(chain.from_iterable(rounds)) for rounds in zip(*map(_both, turns), strict=True)))
    return None if ratio is None else Spans(ratio)


def _both(turn: _Turn) -> tuple[Rounds, Rounds]:
    return turn.rounds, turn.baseline


def _p90_ratio(rounds: Rounds, baseline: Rounds) -> float | None:
    if not baseline or not (supports_p90(rounds) and supports_p90(baseline)):
        return None
    p90_ms = percentile_ms(90)
    return p90_ms(rounds) / p90_ms(baseline)
