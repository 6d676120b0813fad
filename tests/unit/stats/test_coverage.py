"""The criterion for any change of estimator: it must keep its promise in every regime, where a usual one breaks it."""

import math
from dataclasses import replace

import numpy as np
import pytest
import simulate
from simulate import REGIMES

from irbench.stats.estimators import hodges_lehmann

FAST, MANY = 1200, 8000


@pytest.mark.parametrize("name", REGIMES)
def test_the_interval_at_which_a_run_stops_covers_the_truth_in_every_regime(name):
    assert 0.92 <= simulate.simulate(REGIMES[name], FAST).coverage <= 0.98


@pytest.mark.parametrize("name", REGIMES)
def test_a_backend_is_rarely_told_apart_from_itself(name):
    alike = replace(REGIMES[name], only_one=False)
    assert simulate.simulate(alike, FAST, effect=0.0, seed=5).excludes_one < 0.08


@pytest.mark.parametrize("name", ["two modes", "slow launches 20 %, one cell"])
def test_students_interval_breaks_its_promise_where_launches_have_two_speeds(name):
    assert simulate.simulate_student(REGIMES[name], FAST).coverage < 0.92


@pytest.mark.parametrize("name", REGIMES)
def test_all_of_one_and_then_all_of_the_other_breaks_the_promise_in_every_regime(name):
    assert simulate.simulate_sequential(REGIMES[name], FAST).coverage < 0.92


@pytest.mark.parametrize("name", REGIMES)
def test_all_of_one_and_then_all_of_the_other_tells_a_backend_apart_from_itself(name):
    alike = replace(REGIMES[name], only_one=False)
    assert simulate.simulate_sequential(alike, FAST, effect=0.0, seed=5).excludes_one > 0.08


def test_the_table_has_a_row_for_each_regime_and_three_estimators_in_each(monkeypatch):
    monkeypatch.setattr(simulate, "REGIMES", {name: REGIMES[name] for name in ("quiet", "two modes")})
    heading, _, *rows = simulate.table(runs=20).splitlines()
    assert [row.split(" | ")[0] for row in rows] == ["| quiet", "| two modes"]
    assert {row.count("|") for row in rows} == {heading.count("|")} == {8}


def test_a_drifting_machine_moves_no_estimate():
    still, drifting = (simulate.true_ratio(replace(REGIMES["quiet"], drift=drift), 0.05) for drift in (0.0, 0.3))
    assert drifting == pytest.approx(still, abs=1e-3)


def test_a_true_difference_is_found_where_it_was_put():
    assert simulate.true_ratio(REGIMES["bursts"], 0.05) == pytest.approx(0.05, abs=1e-3)


def test_the_simulation_uses_the_estimator_that_is_shipped():
    values = np.random.default_rng(0).normal(size=(5, 8))
    assert simulate.hodges_lehmann(values).tolist() == pytest.approx([hodges_lehmann(row) for row in values])


def lead(speeds, cell):
    """How much faster, as a logarithm, a cell truly is than its nearest rival."""
    own = int(cell)
    return min(speed for number, speed in enumerate(speeds) if number != own) - speeds[own]


@pytest.mark.parametrize(
    ("speeds", "launches"),
    [([0.0, 0.0], 6), ([0.0, 0.0, 0.1], 6), ([0.0] * 4, 6), ([0.0, 0.02, 0.02, 0.02], 6), ([0.0, 0.01, 0.03, 0.05], 7)],
)
def test_the_winner_is_seldom_a_cell_that_is_not_and_its_interval_keeps_its_adjusted_promise(speeds, launches):
    found = list(simulate.claims(speeds, launches, runs=600))
    wrong = np.mean([one.winner is not None and lead(speeds, one.leader) <= 0 for one in found])
    covered = np.mean([one.ratio.low <= lead(speeds, one.leader) <= one.ratio.high for one in found])
    assert wrong <= 0.06
    assert covered >= found[0].coverage - 0.015


@pytest.mark.slow
@pytest.mark.parametrize("name", REGIMES)
@pytest.mark.parametrize("effect", [0.0, 0.05, 0.4])
def test_many_runs_confirm_the_coverage(name, effect):
    outcome = simulate.simulate(REGIMES[name], MANY, effect, seed=11)
    assert 0.93 <= outcome.coverage <= 0.98


@pytest.mark.slow
@pytest.mark.parametrize("launch_sd", [0.001, 0.002, 0.004, 0.006, 0.008, 0.012, 0.03])
def test_no_scatter_of_launches_lets_early_stopping_break_the_promise(launch_sd):
    outcome = simulate.simulate(simulate.Regime(launch_sd=launch_sd), MANY, seed=13)
    assert 0.93 <= outcome.coverage <= 0.98


@pytest.mark.slow
def test_runs_that_stop_at_the_first_chance_are_covered_less_often_and_that_is_known():
    outcome = simulate.simulate(REGIMES["quiet"], MANY, seed=17)
    assert 0.80 < outcome.coverage_of_early_stops < 0.90
    assert outcome.stopped_early < 0.25
    assert not math.isnan(outcome.mean_launches)
