"""The smallest difference that a run of a given length finds, held against simulated runs."""

from __future__ import annotations

import math
import random

import pytest
from documents import speedup

from irbench.features.doctor.self_comparison import FOUND, chance_of_faster, smallest_difference
from irbench.spec import Timing
from irbench.stats.compare import verdict
from irbench.stats.intervals import interval_at, looks_of
from irbench.stats.stopping_rule import unit_half_width

TIMING = Timing()


def half_width(scatter: float, launches: int) -> float:
    return scatter * unit_half_width(launches, TIMING, TIMING.confidence)


def found(scatter: float, launches: int) -> float:
    """The smallest difference where the self_comparison' interval is as wide as that scatter makes it on average."""
    high = math.exp(half_width(scatter, launches))
    return smallest_difference(speedup(1.0, 1 / high, high, "same"), launches, TIMING)


def share_called_faster(difference: float, scatter: float, launches: int, runs: int = 4000) -> float:
    generator = random.Random(1000 + launches)
    drawn = ([generator.gauss(difference, scatter) for _ in range(launches)] for _ in range(runs))
    return (
        sum(verdict(interval_at(values, looks_of(TIMING), TIMING.confidence), TIMING) == "faster" for values in drawn)
        / runs
    )


@pytest.mark.parametrize("launches", [6, 9, 12])
@pytest.mark.parametrize("scatter", [0.001, 0.008, 0.02])
def test_four_of_five_simulated_runs_find_the_smallest_difference(scatter: float, launches: int) -> None:
    difference = math.log1p(found(scatter, launches))
    assert share_called_faster(difference, scatter, launches) == pytest.approx(FOUND, abs=0.03)


def test_a_difference_of_the_half_width_is_found_far_less_often() -> None:
    launches, scatter = 7, 0.02
    assert share_called_faster(half_width(scatter, launches), scatter, launches) < 0.6


@pytest.mark.parametrize("launches", [6, 12])
def test_launches_that_agree_perfectly_find_what_lies_outside_the_band_and_nothing_inside(launches: int) -> None:
    assert found(0.0, launches) == pytest.approx(TIMING.within)
    assert chance_of_faster(math.log(1.004), 0.0001, launches, TIMING) < 0.001


def test_the_more_launches_scatter_the_larger_a_difference_must_be() -> None:
    assert found(0.05, 6) > found(0.03, 6) > 0.03
