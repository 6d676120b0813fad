"""Intervals hold wherever a run stops: by its rule, its budget or Ctrl-C."""

from dataclasses import replace

import numpy as np
import pytest
from simulation.anytime import LAUNCHES, misses, worst_case
from simulation.designs import Design, Host
from simulation.wall_time import runs_of

from irbench.spec import Timing
from irbench.stats.intervals import Looks, bounds, looks_of
from irbench.stats.speedups import holm_intervals

LOOKS, MISS, DRAWS = looks_of(Timing()), 0.05, 100_000
IN_CI = pytest.mark.ci
AS_ASSUMED = [name for name, launch in LAUNCHES.items() if launch.one_mode]


@pytest.mark.parametrize("miss", [0.05, *(pytest.param(miss, marks=IN_CI) for miss in (0.025, 0.0125))])
@pytest.mark.parametrize("first", [3, 4, 6])
@pytest.mark.parametrize("name", AS_ASSUMED)
def test_all_looks_together_miss_no_more_often_than_promised(name, first, miss):
    assert misses(LAUNCHES[name], Looks(first, 12), miss, DRAWS).anywhere <= miss


@pytest.mark.parametrize("miss", [0.05, 0.025, 0.0125])
@pytest.mark.parametrize("first", [3, 4, 6, 8, 10])
def test_exact_looks_alone_keep_the_promise_whatever_the_launches(first, miss):
    looks = Looks(first, 12)
    worst = worst_case(looks, miss)
    assert worst.early or worst.anywhere <= miss
    exact = {count: bound for count, bound in bounds(looks, miss).items() if not bound.stretch}
    assert worst_case(Looks(min(exact), 12), miss).anywhere <= miss


def test_a_most_frequent_speed_near_the_median_is_enough_for_the_promise_of_early_looks():
    for name in ("10 % slow", "20 % slow", "exponential", "three speeds, the middle one the most frequent"):
        assert misses(LAUNCHES[name], LOOKS, MISS, DRAWS).anywhere <= MISS


def test_two_equally_frequent_speeds_break_the_assumption_of_early_looks_and_cost_an_eighth_of_runs_at_most():
    worst = worst_case(LOOKS, MISS)
    assert worst.early == 2 * 0.5**4
    assert worst.anywhere < 0.135
    broken = misses(LAUNCHES["half slow"], LOOKS, MISS, DRAWS)
    assert MISS < broken.anywhere <= worst.anywhere


def test_looking_at_three_launches_risks_twice_as_much():
    assert worst_case(Looks(3, 12), MISS).early == 0.25


@pytest.mark.parametrize("shifts", [(0, 0, 0), (5, 0, 0), (5, 5, 0)])
def test_rows_seldom_differ_from_a_baseline_that_they_equal_at_any_look(shifts):
    random, wrong, runs = np.random.default_rng(1), 0, 300
    alike = [str(number) for number, shift in enumerate(shifts) if not shift]
    for _ in range(runs):
        speeds = random.normal(size=(12, 4))
        rows = {str(number): speeds[:, number] - speeds[:, 3] + shift for number, shift in enumerate(shifts)}
        wrong += any(
            found[name].confidence is not None and (found[name].low > 0 or found[name].high < 0)
            for count in range(LOOKS.first, LOOKS.last + 1)
            for found in [holm_intervals({name: row[:count].tolist() for name, row in rows.items()}, Timing())]
            for name in alike
        )
    assert wrong / runs <= 0.06


@pytest.mark.parametrize(
    "times_ms",
    [
        (4.2, 4.2),
        pytest.param((4.2, 4.2, 4.2, 4.2), marks=IN_CI),
        pytest.param((4.2, 4.2, 4.6, 7.4), marks=IN_CI),
    ],
)
def test_of_cells_that_are_equally_fast_seldom_one_is_named_and_the_lead_is_covered(times_ms):
    host = Host(dict(zip("abcd", (1e-3 * item for item in times_ms), strict=False)), launch_sd=0.01, block_sd=0.03)
    design = replace(Design(blocks_by_scatter=False), timing=Timing(budget=900.0))
    found = runs_of(design, host, runs=200)
    assert np.mean([np.isfinite(item.named_s) for item in found]) <= 0.06
    assert np.mean([item.covered for item in found]) >= 0.93
