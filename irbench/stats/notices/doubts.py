"""Reasons why a run has no winner although its interval excludes 1: a busy machine, or contradicting figures."""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping

from irbench.core.result import NoWinner
from irbench.stats.compare import launch_ratios
from irbench.stats.figures import frames_by_launch, sustained_by_launch
from irbench.stats.intervals import Interval, interval_at, looks_of
from irbench.stats.notices.table_state import TableState
from irbench.stats.observed import is_as_loaded, mostly_disturbed
from irbench.stats.winner import LeadEstimate


def doubt(state: TableState, finding: LeadEstimate) -> NoWinner | None:
    """Return what forbids to call the leader the fastest; ``None`` where nothing does.

    A machine that disturbed most blocks says nothing of the cells where it is not known in whose turns. Where it is,
    the claim is of the machine as loaded as it was, and holds unless cells met unequal loads. A leader by the median
    that its rival beats in throughput, over all blocks, or running alone, in the median over launches by more than
    counts as the same, is not the fastest for everybody.
    """
    if finding.reason == "preview":
        return None  # what is missing first are launches
    if is_as_loaded(state.launches):
        return None if state.uneven_load is None else "uneven-load"
    if mostly_disturbed(state.launches) and state.launches[0].reduction == "usual":
        return "busy"
    leader, rival = finding.leader, finding.rival
    if finding.reason is not None or leader is None or rival is None:
        return None
    edge = -math.log1p(state.timing.within)
    everything = launch_ratios(state.launches, rival, leader, all_blocks=True)
    if state.launches[0].reduction == "usual" and everything and statistics.median(everything) < edge:
        return "all-blocks-disagree"
    if state.group.goal is not None and state.group.objective != "fps":
        return None  # a row that is best in what was asked for need not be so in throughput
    if state.group.objective == "latency":
        throughput = throughput_ratio(state, leader, rival)
        if throughput is not None and throughput.value < edge:
            return "throughput-disagrees"
    alone = log_ratio_by_launch(_alone(state, leader), _alone(state, rival), state)
    disagrees = alone is not None and alone.confidence is not None and alone.value < edge
    return "sustained-disagrees" if disagrees else None


def log_ratio_by_launch(own: Mapping[int, float], other: Mapping[int, float], state: TableState) -> Interval | None:
    """Return the interval of ln(own / other) over the launches that have both figures; ``None`` where none has.

    Args:
        own: A throughput, by launch.
        other: That of another cell.
        state: The group, for its looks and confidence.
    """
    ratios = [math.log(own[launch] / other[launch]) for launch in own.keys() & other.keys()]
    return interval_at(ratios, looks_of(state.timing), state.timing.confidence) if ratios else None


def throughput_ratio(state: TableState, own: str, other: str) -> Interval | None:
    """Return the interval of ln of the ratio of two cells' throughputs; ``None`` where no launch measured both."""
    return log_ratio_by_launch(_frames(state, own), _frames(state, other), state)


def _frames(state: TableState, cell: str) -> Mapping[int, float]:
    return frames_by_launch(state.records, state.launches, cell, state.rows[cell].batch)


def _alone(state: TableState, cell: str) -> Mapping[int, float]:
    return sustained_by_launch(state.records, cell, state.rows[cell].batch)
