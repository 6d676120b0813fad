"""Reasons why a run has no winner although its interval excludes 1: a busy machine, or contradicting figures."""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping

from irbench.core.result import NoWinner
from irbench.stats.compare import launch_ratios
from irbench.stats.figures import frames_by_launch, sustained_by_launch
from irbench.stats.intervals import Interval, interval_at, looks_of
from irbench.stats.notices.scene import Scene
from irbench.stats.observed import is_as_loaded, mostly_disturbed
from irbench.stats.winner import LeadEstimate


def doubt(scene: Scene, finding: LeadEstimate) -> NoWinner | None:
    """Return what forbids to call the leader the fastest; ``None`` where nothing does.

    A machine that disturbed most blocks says nothing of the cells where it is not known in whose turns. Where it is,
    the claim is of the machine as loaded as it was, and holds unless cells met unequal loads. A leader by the median
    that its rival beats in throughput, over all blocks, or running alone, in the median over launches by more than
    counts as the same, is not the fastest for everybody.
    """
    if finding.reason == "preview":
        return None  # what is missing first are launches
    if is_as_loaded(scene.launches):
        return None if scene.uneven_load is None else "uneven-load"
    if mostly_disturbed(scene.launches) and scene.launches[0].reduction == "usual":
        return "busy"
    leader, rival = finding.leader, finding.rival
    if finding.reason is not None or leader is None or rival is None:
        return None
    edge = -math.log1p(scene.timing.within)
    everything = launch_ratios(scene.launches, rival, leader, all_blocks=True)
    if scene.launches[0].reduction == "usual" and everything and statistics.median(everything) < edge:
        return "all-blocks-disagree"
    if scene.group.goal is not None and scene.group.objective != "fps":
        return None  # a row that is best in what was asked for need not be so in throughput
    if scene.group.objective == "latency":
        throughput = throughput_ratio(scene, leader, rival)
        if throughput is not None and throughput.value < edge:
            return "throughput-disagrees"
    alone = log_ratio_by_launch(_alone(scene, leader), _alone(scene, rival), scene)
    disagrees = alone is not None and alone.confidence is not None and alone.value < edge
    return "sustained-disagrees" if disagrees else None


def log_ratio_by_launch(own: Mapping[int, float], other: Mapping[int, float], scene: Scene) -> Interval | None:
    """Return the interval of ln(own / other) over the launches that have both figures; ``None`` where none has.

    Args:
        own: A throughput, by launch.
        other: That of another cell.
        scene: The group, for its looks and confidence.
    """
    ratios = [math.log(own[launch] / other[launch]) for launch in own.keys() & other.keys()]
    return interval_at(ratios, looks_of(scene.timing), scene.timing.confidence) if ratios else None


def throughput_ratio(scene: Scene, own: str, other: str) -> Interval | None:
    """Return the interval of ln of the ratio of two cells' throughputs; ``None`` where no launch measured both."""
    return log_ratio_by_launch(_frames(scene, own), _frames(scene, other), scene)


def _frames(scene: Scene, cell: str) -> Mapping[int, float]:
    return frames_by_launch(scene.records, scene.launches, cell, scene.rows[cell].batch)


def _alone(scene: Scene, cell: str) -> Mapping[int, float]:
    return sustained_by_launch(scene.records, cell, scene.rows[cell].batch)
