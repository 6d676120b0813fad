"""What an estimator must fulfil in every regime, and broken estimators that must not.

A criterion that nothing fails proves nothing: each of :data:`MUTATIONS` is a mistake that could be made, and the
criterion rejects it in at least one regime.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from irbench.stats.intervals import Interval, Looks, interval_at
from simulation.methods import IRBENCH, STUDENT, Method, Outcome, blocks_counted, for_its_own_count
from simulation.regimes import Array, Regime, truth_of
from simulation.shipped import hodges_lehmann

LEAST_COVERAGE, MOST_COVERAGE = 0.92, 0.995
MOST_FALSE_POSITIVES = 0.08
MOST_BIAS = 0.5
"""In standard deviations of a launch. The median of a few launches of two speeds is off by a third of that."""
MOST_RMSE = 1.25
"""As a multiple of the shipped estimator's, each times the root of its launches: what a launch is worth.

The stopping rule pays for a worse estimator with more launches, so that its error alone would hide it."""


def faults(outcome: Outcome, shipped: Outcome, regime: Regime) -> Iterator[str]:
    """Yield in what an estimator fails in one regime.

    Args:
        outcome: What is judged.
        shipped: What the shipped estimator comes to in the same runs.
        regime: Which.
    """
    chance = math.sqrt(MOST_COVERAGE * (1 - MOST_COVERAGE) / outcome.runs)
    if outcome.coverage < LEAST_COVERAGE:
        yield "coverage"
    # an interval that misses in 0.6 % of runs must not be called too wide because of the runs that were drawn
    if outcome.coverage > MOST_COVERAGE + 2 * chance:
        yield "width"
    if outcome.false_positives >= MOST_FALSE_POSITIVES:
        yield "A/A"
    if abs(outcome.bias) > MOST_BIAS * truth_of(regime, 0.0).sd:
        yield "bias"
    if outcome.rmse * math.sqrt(outcome.launches) > MOST_RMSE * shipped.rmse * math.sqrt(shipped.launches):
        yield "RMSE"


def passes(outcome: Outcome, shipped: Outcome, regime: Regime) -> bool:
    """Whether an estimator keeps its promise in one regime and is about as precise as the shipped one."""
    return not any(faults(outcome, shipped, regime))


def _largest_block(cell: Array, baseline: Array) -> Array:
    return blocks_counted(cell - baseline).max(axis=-1)


def _first_block(cell: Array, baseline: Array) -> Array:
    return (cell - baseline)[..., 0]


def _ten_per_cent_more(cell: Array, baseline: Array) -> Array:
    return IRBENCH.estimate(cell, baseline) + math.log(1.1)


def _mean_of_blocks(cell: Array, baseline: Array) -> Array:
    return blocks_counted(cell - baseline).mean(axis=-1)


def _unpaired_medians(cell: Array, baseline: Array) -> Array:
    return np.median(blocks_counted(cell), axis=-1) - np.median(blocks_counted(baseline), axis=-1)


def _fastest_half(cell: Array, baseline: Array) -> Array:
    ordered = np.sort(blocks_counted(cell - baseline), axis=-1)
    return hodges_lehmann(ordered[..., : ordered.shape[-1] // 2])


def _smallest_launch(values: Sequence[float], looks: Looks, confidence: float) -> Interval:
    return replace(interval_at(values, looks, confidence), value=min(values))


def _half_as_wide(values: Sequence[float], looks: Looks, confidence: float) -> Interval:
    return _stretched(interval_at(values, looks, confidence), 0.5)


def _twice_as_wide(values: Sequence[float], looks: Looks, confidence: float) -> Interval:
    return _stretched(interval_at(values, looks, confidence), 2.0)


def _stretched(interval: Interval, factor: float) -> Interval:
    low, high = (interval.value + factor * (end - interval.value) for end in (interval.low, interval.high))
    return replace(interval, low=low, high=high)


def _peeking(values: Sequence[float], looks: Looks, confidence: float) -> Interval:
    """Return what would hold at one count alone, and claim as much for the range of four or five launches."""
    return replace(for_its_own_count(values, looks, confidence), confidence=confidence)


MUTATIONS: dict[str, Method] = {
    "the largest block of a launch": replace(IRBENCH, estimate=_largest_block),
    "the first block of a launch": replace(IRBENCH, estimate=_first_block),
    "10 % more than Hodges-Lehmann": replace(IRBENCH, estimate=_ten_per_cent_more),
    "the mean of the blocks": replace(IRBENCH, estimate=_mean_of_blocks),
    "blocks dropped because of their times": replace(IRBENCH, estimate=_fastest_half),
    "medians of either cell, unpaired": replace(IRBENCH, estimate=_unpaired_medians),
    "the baseline always first in a block": replace(IRBENCH, order="fixed"),
    "all blocks of the baseline first": replace(IRBENCH, order="halves"),
    "the smallest launch": replace(IRBENCH, interval=_smallest_launch),
    "ranks for one look, looked at from 4 on": replace(IRBENCH, interval=_peeking),
    "Student's interval with the stopping rule": STUDENT,
    "an interval half as wide": replace(IRBENCH, interval=_half_as_wide),
    "an interval twice as wide": replace(IRBENCH, interval=_twice_as_wide),
}
"""Mistakes by what they do instead of what is right."""
