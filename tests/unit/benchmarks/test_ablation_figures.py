"""Ways that do without a part of the protocol: their intervals, and what a table says of each."""

from __future__ import annotations

import math
from statistics import median

import numpy as np
import pytest
from launches import MS, group, launch, measured, synchronous

from benchmarks.ablation_figures import ONE_LAUNCH, ablation_table, over_blocks, shift_interval
from benchmarks.claims import SHIPPED, Claim, claim_of_interval
from irbench.core.row import Verdict
from irbench.spec import Timing
from irbench.stats.observed import observe

TIMING = Timing(burn_in_blocks=0)


def one_launch(own_ms, others_ms):
    rounds = [[synchronous(block, [ms * MS] * 3) for block, ms in enumerate(values)] for values in (own_ms, others_ms)]
    record = launch(0, [measured("a", rounds[0]), measured("b", rounds[1])])
    return observe(group("a", "b"), [record], TIMING)[0]


def claim(ratio, low, high, verdict: Verdict, way=SHIPPED, subject="ort"):
    return Claim(subject, way, ratio, math.sqrt(low * high), low, high, verdict, 6, 30.0)


def test_the_interval_over_blocks_is_that_of_paired_blocks():
    # both drift together: each block's ratio is 2 or close to it
    found = over_blocks(one_launch([1, 2, 3, 4, 5, 6], [2, 4.04, 6, 8, 10, 12]), "a", "b", 0.95)
    assert math.exp(found.value) == pytest.approx(2)
    assert (math.exp(found.low), math.exp(found.high)) == pytest.approx((2, 2.02))
    assert found.confidence == 0.95


def test_more_blocks_leave_the_outermost_ones_out():
    own, others = [1.0] * 9, [1.5, *[1.0] * 7, 0.5]
    found = over_blocks(one_launch(own, others), "a", "b", 0.95)
    assert (found.low, found.high) == (0, 0)


@pytest.mark.parametrize(("count", "rank"), [(4, 1), (5, 3), (8, 14), (12, 38)])
def test_the_rank_of_a_shift_is_that_of_the_usual_tables(count, rank):
    # two-sided 5 % points of Mann and Whitney's U are 0, 2, 13 and 37
    assert shift_interval(range(count), range(count), 0.95).bound.rank == rank


def test_too_few_values_for_a_shift_give_their_range_and_no_confidence():
    found = shift_interval([0, 1, 2], [10, 11, 12], 0.95)
    assert (found.low, found.value, found.high, found.confidence) == (8, 10, 12, None)


def test_a_shift_is_held_as_often_as_it_is_promised_and_follows_a_drift_between_the_samples():
    random = np.random.default_rng(0)
    held = drifted = 0
    for _ in range(1000):
        first, second = random.normal(0, 0.01, 8), random.normal(0.05, 0.01, 8)
        found = shift_interval(first, second, 0.95)
        held += found.low <= 0.05 <= found.high
        found = shift_interval(first, second + 0.03, 0.95)
        drifted += found.low <= 0.05 <= found.high
    assert 0.93 <= held / 1000 <= 0.975
    assert drifted / 1000 < 0.05


def test_the_estimate_of_a_shift_bears_an_outlier():
    assert shift_interval([0, 0, 0, 0], [1, 1, 1, 50], 0.95).value == median([1])


def test_an_interval_gets_the_verdict_that_a_table_would_give_it():
    found = over_blocks(one_launch([1.0] * 6, [1.03, 1.04, 1.05, 1.06, 1.05, 1.04]), "a", "b", 0.95)
    said = claim_of_interval(found, TIMING, ("ort", ONE_LAUNCH), 1.05, (1, 4.0))
    assert (said.verdict, said.launches, said.seconds) == ("faster", 1, 4.0)
    assert (said.value, said.low, said.high) == pytest.approx((1.045, 1.03, 1.06), abs=1e-4)
    assert said.holds
    assert said.tells_apart


def test_the_table_has_a_row_for_each_way_in_one_order():
    claims = [
        *(claim(1.0, 0.99, 1.01, "same", ONE_LAUNCH), claim(1.0, 1.03, 1.05, "faster", ONE_LAUNCH)),
        claim(1.05, 0.98, 1.04, "undecided", ONE_LAUNCH),
        *(claim(1.0, 0.99, 1.01, "same"), claim(1.05, 1.04, 1.06, "faster"), claim(1.05, 0.9, 1.3, "preview")),
    ]
    rows = [row[:5] for row in ablation_table(claims).complete_rows()]
    assert rows == [
        ("ort", SHIPPED, "0 of 1", "1 of 2", "1 of 2"),
        ("ort", ONE_LAUNCH, "1 of 2", "0 of 1", "0 of 1"),
    ]


def test_a_way_of_which_no_unequals_were_measured_says_nothing_of_them():
    (row,) = ablation_table([claim(1.0, 0.99, 1.01, "same")]).complete_rows()
    assert row[2:5] == ("0 of 1", "-", "-")
