"""The criterion for any change of estimator: it keeps its promise about a truth that comes from constants alone."""

from collections.abc import Collection, Iterable
from dataclasses import replace
from typing import Any

import launches as made
import numpy as np
import pytest
from simulation import tables
from simulation.criterion import MUTATIONS, faults, passes
from simulation.methods import IRBENCH, SEQUENTIAL, STUDENT, TIMING, measure
from simulation.regimes import DEPENDENT, REGIMES, Regime, launches_of, truth_of
from simulation.shipped import BASELINE, CELL, decided_by, hodges_lehmann, run_until_stopped

from irbench.spec import Timing
from irbench.stats import intervals
from irbench.stats.eligibility import Admission
from irbench.stats.observed import observe
from irbench.stats.speedups import holm_intervals, launch_ratios
from irbench.stats.stopping_rule import Pace, next_launch

FAST, MANY = 700, 4000
PLAINEST = {
    "the largest block of a launch": ("quiet", "bias"),
    "the first block of a launch": ("slow first block, one cell", "coverage"),
    "10 % more than Hodges-Lehmann": ("quiet", "coverage"),
    "the mean of the blocks": ("heavy tails", "RMSE"),
    "blocks dropped because of their times": ("quiet", "coverage"),
    "medians of either cell, unpaired": ("changing clock", "RMSE"),
    "the baseline always first in a block": ("drift", "coverage"),
    "all blocks of the baseline first": ("drift", "coverage"),
    "the smallest launch": ("quiet", "bias"),
    "ranks for one look, looked at from 4 on": ("quiet", "coverage"),
    "Student's interval with the stopping rule": ("slow launches 20 %, one cell", "coverage"),
    "an interval half as wide": ("noisy launches", "coverage"),
    "an interval twice as wide": ("noisy launches", "width"),
}
"""By mistake: a regime that shows it, and what gives it away there."""
OBVIOUS = ("10 % more than Hodges-Lehmann", "ranks for one look, looked at from 4 on")
"""Mistakes that ``make test`` looks for; ``make test-ci`` looks for all of them."""
TELLING = ("slow launches 20 %, one cell", "noisy launches")
"""Regimes that ``make test`` looks into."""


def marked(names: Iterable[str], fast: Collection[str]) -> list[Any]:
    return [name if name in fast else pytest.param(name, marks=pytest.mark.ci) for name in names]


@pytest.mark.parametrize("name", marked(REGIMES, TELLING))
def test_the_shipped_estimator_keeps_its_promise_in_every_regime(name):
    outcome = measure(IRBENCH, REGIMES[name], FAST)
    assert list(faults(outcome, outcome, REGIMES[name])) == []


@pytest.mark.parametrize("name", marked(MUTATIONS, OBVIOUS))
def test_a_broken_estimator_is_rejected_where_its_mistake_shows(name):
    regime_name, fault = PLAINEST[name]
    regime = REGIMES[regime_name]
    runs = 3 * FAST if fault == "width" else FAST
    assert fault in list(faults(measure(MUTATIONS[name], regime, runs), measure(IRBENCH, regime, runs), regime))


@pytest.mark.parametrize("name", REGIMES)
def test_all_of_one_and_then_all_of_the_other_breaks_the_promise_in_every_regime(name):
    outcome = measure(SEQUENTIAL, REGIMES[name], FAST)
    assert outcome.coverage < 0.92
    assert outcome.false_positives > 0.08


@pytest.mark.ci
def test_students_interval_misses_its_own_mean_where_launches_have_two_speeds():
    assert measure(STUDENT, REGIMES["slow launches 20 %, one cell"], FAST).coverage < 0.92


def test_the_truth_from_constants_is_where_very_many_launches_lie(subtests):
    for name in [*REGIMES, *DEPENDENT]:
        for effect in [0.0, 0.05]:
            with subtests.test(name=name, effect=effect):
                regime = replace({**REGIMES, **DEPENDENT}[name], round_sd=0, drift=0, step=0, burst_share=0, burn_in=0)
                cell, baseline = launches_of(regime, (40_000, 12, 1), effect, seed=3)
                differences, truth = cell - baseline, truth_of(regime, effect)
                assert np.median(differences) == pytest.approx(truth.median, abs=5e-4)
                assert np.mean(differences) == pytest.approx(truth.mean, abs=5e-4)
                assert np.std(differences) == pytest.approx(truth.sd, rel=0.02)


def test_the_truth_is_the_effect_where_both_cells_are_treated_alike():
    for regime in REGIMES.values():
        assert truth_of(regime.alike, 0.05).median == pytest.approx(0.05, abs=1e-9)


def test_launches_are_correlated_and_stay_far_for_as_long_as_the_regime_says():
    cell, _ = launches_of(replace(DEPENDENT["launches correlated 0.5"], round_sd=0), (20_000, 12, 1), 0.0, seed=1)
    assert np.corrcoef(cell[:, 3, 0], cell[:, 4, 0])[0, 1] == pytest.approx(0.5, abs=0.02)
    assert cell[:, 11].std() == pytest.approx(0.008, rel=0.02)
    far, _ = launches_of(Regime(0.0, 0.0, far=0.1, far_share=1 / 3, stay=6), (20_000, 12, 1), 0.0, seed=1)
    left = far[:, 1:][far[:, :-1] > 0.05] < 0.05
    assert left.mean() == pytest.approx(1 / 6, abs=0.01)


@pytest.mark.ci
def test_dependent_launches_break_the_promise_and_the_warning_of_them_grows_with_the_correlation():
    found = [measure(IRBENCH, regime, FAST) for regime in [REGIMES["quiet"], *DEPENDENT.values()]]
    independent, weak, middle, strong, *_ = found
    assert independent.coverage > weak.coverage > middle.coverage > strong.coverage
    assert independent.warned < weak.warned < middle.warned < strong.warned
    assert not passes(strong, strong, DEPENDENT["launches correlated 0.7"])


def test_the_simulation_uses_the_estimator_that_is_shipped():
    values = np.random.default_rng(0).normal(size=(5, 8))
    assert hodges_lehmann(values).tolist() == pytest.approx([intervals.hodges_lehmann(row) for row in values])


def records_of(cell, baseline):
    """Return launch records whose rounds take these log times, with the block numbers of a real launch."""
    times = {CELL: 1e7 * np.exp(cell), BASELINE: 1e7 * np.exp(baseline)}
    return [
        made.launch(
            number,
            [
                made.measured(name, [made.synchronous(block, [item] * 3) for block, item in enumerate(own[number])])
                for name, own in times.items()
            ],
        )
        for number in range(len(cell))
    ]


def end_of(group, records, timing):
    """Return after how many launches a run stops, as the runner asks it."""
    ample = Pace(0.0, [])
    for count in range(1, len(records) + 1):
        pace = replace(ample, launches_s=[1.0] * count)
        if next_launch(group, records[:count], timing, Admission(), pace).stopped_by:
            return count
    return len(records)


@pytest.mark.parametrize("name", ["quiet launches", "slow first block, one cell", "noisy launches"])
def test_a_run_made_of_records_ends_where_the_simulated_one_does_and_with_its_interval(name):
    shape = (1, TIMING.max_launches, TIMING.burn_in_blocks + TIMING.blocks)
    group = made.group(BASELINE, CELL)
    for seed in range(3):
        cell, baseline = launches_of(REGIMES[name], shape, 0.05, seed)
        with decided_by():
            simulated = run_until_stopped(IRBENCH.estimate(cell, baseline)[0].tolist(), TIMING)
        records = records_of(cell[0], baseline[0])
        count = end_of(group, records, TIMING)
        ratios = launch_ratios(observe(group, records[:count], TIMING), CELL, BASELINE)
        found = holm_intervals({CELL: ratios}, TIMING)[CELL]
        assert count == simulated.count
        assert (found.low, found.value, found.high) == pytest.approx(
            (simulated.low, simulated.value, simulated.high), abs=1e-6
        )


def test_a_slow_first_block_reaches_no_ratio_because_of_its_number_and_would_otherwise():
    regime = Regime(launch_sd=0, round_sd=0, burn_in=0.06, only_one=True)
    cell, baseline = launches_of(regime, (1, 1, 3), 0.0, seed=0)
    group, records = made.group(BASELINE, CELL), records_of(cell[0], baseline[0])
    (kept,) = launch_ratios(observe(group, records, Timing(min_blocks=1)), CELL, BASELINE)
    (counted,) = launch_ratios(observe(group, records, Timing(min_blocks=1, burn_in_blocks=0)), CELL, BASELINE)
    assert kept == pytest.approx(0, abs=1e-6)
    assert counted == pytest.approx(0.015, abs=1e-6)


@pytest.mark.ci
def test_every_table_has_a_row_for_each_of_its_regimes_and_mistakes(monkeypatch):
    few = {name: REGIMES[name] for name in ("quiet", "two modes")}
    monkeypatch.setattr(tables, "REGIMES", few)
    monkeypatch.setattr(tables, "DESIGNS", dict(list(tables.DESIGNS.items())[:2]))
    heading, _, *rows = tables.regimes(runs=20).splitlines()
    assert [row.split(" | ")[0] for row in rows] == ["| quiet", "| two modes"]
    assert {row.count("|") for row in rows} == {heading.count("|")}
    assert len(tables.dependence(runs=20).splitlines()) == 2 + 1 + len(DEPENDENT)
    assert len(tables.mutations(runs=20).splitlines()) == 2 + 1 + len(MUTATIONS)
    assert tables.designs(runs=3).count("the same in 90 s") == 2 * len(tables.HOSTS)


@pytest.mark.long
@pytest.mark.slow
@pytest.mark.parametrize("name", REGIMES)
@pytest.mark.parametrize("effect", [0.0, 0.05, 0.4])
def test_many_runs_confirm_that_the_shipped_estimator_keeps_its_promise(name, effect):
    outcome = measure(IRBENCH, REGIMES[name], MANY, effect, seed=11)
    # a run that ends at its first looks wasted no launch, and their intervals must hold for other than normal launches
    at_first_looks = {"width"} if outcome.launches < TIMING.min_launches + 1 else set[str]()
    assert set(faults(outcome, outcome, REGIMES[name])) <= at_first_looks


@pytest.mark.slow
@pytest.mark.parametrize("launch_sd", [0.001, 0.002, 0.004, 0.006, 0.008, 0.012, 0.03])
def test_no_scatter_of_launches_lets_early_stopping_break_the_promise(launch_sd):
    regime = Regime(launch_sd=launch_sd)
    outcome = measure(IRBENCH, regime, MANY, seed=13)
    assert list(faults(outcome, outcome, regime)) == []
