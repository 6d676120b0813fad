"""How long the stages of a pipeline took, and which share of its time each has."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from irbench.core.record import CellLaunch, Round
from irbench.core.row import StageTime
from irbench.spec import Timing
from irbench.stats.figures import Rounds, by_launch, part_ns, span_over_launches, span_within

_LEAST_SHARE = 1e-9
"""Keeps log odds finite: of a pipeline with one stage, and of a stage that does nothing."""


def stage_times(counted: Rounds, everything: Rounds, timing: Timing) -> tuple[StageTime, ...]:
    """Return the stages of a row in order; none where its calls have none.

    Args:
        counted: Its rounds that count, at least one.
        everything: Its rounds of all blocks.
        timing: The protocol's numbers.
    """
    names = counted[0][0].stages
    if not names or not all(_has_all(launch, round_, names) for launch, round_ in everything):
        return ()
    return tuple(_stage(name, place, counted, everything, timing) for place, name in enumerate(names))


def _has_all(launch: CellLaunch, round_: Round, names: tuple[str, ...]) -> bool:
    """Whether a round has a moment for each of these stages of each call; files of others may hold anything."""
    calls = round_.issue_ns.size * launch.calls_per_sample
    return launch.stages == names and round_.part_ns.size == calls * len(names)


def _stage(name: str, place: int, counted: Rounds, everything: Rounds, timing: Timing) -> StageTime:
    def median_ms(rounds: Rounds) -> float:
        return float(np.median(stage_ns(rounds)[:, place])) / 1e6

    def share(rounds: Rounds) -> float:
        total_ns = stage_ns(rounds).sum(axis=0)
        return float(total_ns[place] / max(1, total_ns.sum()))

    shares = [share(rounds) for rounds in by_launch(counted)]
    return StageTime(
        name=name,
        ms=span_over_launches(counted, everything, median_ms, timing),
        # on its log odds, so that the ends of its interval are between 0 and 1
        share=span_within(shares, timing, _log_odds, _share_at, share(everything)),
    )


def stage_ns(rounds: Rounds) -> NDArray[np.int64]:
    """Return how long each stage of each call took, int64 of shape (calls, stages)."""
    return np.diff(part_ns(rounds, len(rounds[0][0].stages)), axis=1, prepend=0)


def _log_odds(share: float) -> float:
    within = min(max(share, _LEAST_SHARE), 1 - _LEAST_SHARE)
    return math.log(within / (1 - within))


def _share_at(log_odds: float) -> float:
    return 1 / (1 + math.exp(-log_odds))
