"""Intervals that keep their promise at all looks together."""

import numpy as np
import pytest

from irbench.spec import Timing
from irbench.stats.intervals import Bound, Looks, bounds, hodges_lehmann, interval_at, looks_of, median, percentile

USUAL = looks_of(Timing())


def runs_that_miss(draws, median, looks=USUAL, confidence=0.95):
    """Return the share of runs of which the interval of some look misses the true median."""

    def misses(values, count):
        interval = interval_at(values[:count], looks, confidence)
        return not interval.low <= median <= interval.high

    counts = range(looks.first, looks.last + 1)
    return np.mean([any(misses(values, count) for count in counts) for values in draws.tolist()])


def test_from_six_to_twelve_launches_the_ranks_are_those_whose_union_of_misses_stays_below_five_percent():
    ranks = {count: bound.rank for count, bound in bounds(USUAL, 0.05).items() if not bound.stretch}
    assert ranks == {6: 1, 7: 1, 8: 1, 9: 1, 10: 2, 11: 2, 12: 2}


def test_four_and_five_launches_have_their_range_stretched():
    found = bounds(USUAL, 0.05)
    assert found[4].rank == found[5].rank == 1
    assert found[4].stretch > found[5].stretch > 0


def test_a_single_look_at_three_launches_spends_everything_there():
    # both ends together miss with 2 x 2^-3 x (1 + k)^-2
    assert bounds(Looks(3, 3), 0.05) == {3: Bound(1, pytest.approx(5**0.5 - 1))}


def test_a_plan_that_looks_only_late_needs_no_stretching():
    assert not any(bound.stretch for bound in bounds(Looks(10, 20), 0.05).values())


def test_the_smaller_the_allowed_miss_the_wider_every_look():
    strict, usual = bounds(USUAL, 0.01), bounds(USUAL, 0.05)
    assert all(strict[n].rank <= usual[n].rank and strict[n].stretch >= usual[n].stretch for n in usual)


@pytest.mark.parametrize("confidence", [0.95, 0.975, 0.99])
@pytest.mark.parametrize(
    ("draw", "median"),
    [
        (lambda random, shape: random.normal(size=shape), 0.0),
        (lambda random, shape: random.uniform(-1, 1, shape), 0.0),
        (lambda random, shape: random.standard_t(1.5, shape), 0.0),
        (lambda random, shape: random.laplace(size=shape), 0.0),
    ],
)
def test_all_looks_together_keep_the_promise_whatever_the_launches_scatter_like(draw, median, confidence):
    draws = draw(np.random.default_rng(1), (4000, 12))
    assert runs_that_miss(draws, median, confidence=confidence) <= (1 - confidence) + 0.008


def test_looks_from_six_launches_on_keep_it_for_two_modes_and_skewed_launches_too():
    random = np.random.default_rng(2)
    skewed = random.exponential(size=(4000, 12))
    modes = np.where(random.random((4000, 12)) < 0.5, -1, 1) + random.normal(0, 0.01, (4000, 12))
    assert runs_that_miss(skewed, np.log(2), Looks(6, 12)) <= 0.055
    assert runs_that_miss(modes, 0.0, Looks(6, 12)) <= 0.055


def test_the_plain_range_of_four_launches_looked_at_again_and_again_would_break_it():
    draws = np.random.default_rng(3).normal(size=(4000, 12))
    peeking = np.mean(
        [any(min(values[:n]) > 0 or max(values[:n]) < 0 for n in range(4, 13)) for values in draws.tolist()]
    )
    assert peeking > 0.1


def test_below_the_first_look_the_range_is_shown_and_promises_nothing():
    interval = interval_at([3.0, 1.0, 2.0], USUAL, 0.95)
    assert (interval.low, interval.value, interval.high, interval.confidence) == (1.0, 2.0, 3.0, None)


def test_a_stretched_range_says_that_it_assumes_one_mode():
    four, six = (interval_at([float(n) for n in range(count)], USUAL, 0.95) for count in (4, 6))
    assert four.assumes_one_mode
    assert four.low < 0.0 < 3.0 < four.high
    assert not six.assumes_one_mode
    assert (six.low, six.high) == (0.0, 5.0)


def test_an_interval_moves_and_stretches_with_its_values():
    values = [1.0, 2.0, 4.0, 8.0]
    interval, other = interval_at(values, USUAL, 0.95), interval_at([10 + 2 * value for value in values], USUAL, 0.95)
    assert (other.low, other.value, other.high) == pytest.approx((10 + 2 * interval.low, 16.0, 10 + 2 * interval.high))


def test_negating_an_interval_swaps_its_ends():
    values = [1.0, 2.0, 4.0, 8.0, 9.0, 10.0, 11.0]
    interval = interval_at(values, USUAL, 0.95)
    assert -interval == interval_at([-value for value in values], USUAL, 0.95)


def test_more_launches_than_the_last_look_keep_its_rank():
    assert interval_at([float(n) for n in range(20)], USUAL, 0.95).low == 1.0


def test_a_single_launch_has_no_interval_whatever_the_plan():
    assert bounds(Looks(1, 1), 0.05) == {}
    assert interval_at([2.0], Looks(1, 1), 0.95).confidence is None


def test_hodges_lehmann_is_the_median_of_the_pairs_means_worked_by_hand():
    # pairs of 1, 2, 6: 1, 1.5, 3.5, 2, 4, 6, sorted 1 1.5 2 3.5 4 6
    assert hodges_lehmann([1, 2, 6]) == 2.75
    # pairs of 1, 2, 4, 10: 1 1.5 2 2.5 3 4 5.5 6 7 10
    assert hodges_lehmann([10, 4, 2, 1]) == 3.5
    assert hodges_lehmann([7.0]) == 7.0


def test_one_wild_block_moves_hodges_lehmann_little_and_the_mean_far():
    calm = [1.00, 1.01, 0.99, 1.02, 0.98, 1.00, 1.01]
    assert abs(hodges_lehmann([*calm, 50.0]) - hodges_lehmann(calm)) < 0.02
    assert np.mean([*calm, 50.0]) > 7


def test_hodges_lehmann_of_negated_values_is_exactly_its_negation():
    values = np.random.default_rng(3).normal(size=11)
    assert hodges_lehmann(-values) == -hodges_lehmann(values)


def test_percentiles_interpolate_linearly_between_order_statistics():
    hundred = list(range(1, 101))
    assert percentile(hundred, 50) == 50.5
    assert percentile(hundred, 90) == pytest.approx(90.1)
    assert percentile(hundred, 99) == pytest.approx(99.01)
    assert percentile([10, 20], 25) == 12.5
    assert percentile(hundred, 100) == 100


def test_the_99th_percentile_of_100_values_is_not_the_maximum():
    assert percentile([*[1.0] * 99, 100.0], 99) == pytest.approx(1.99)


def test_the_median_of_an_even_number_is_the_mean_of_the_middle_two():
    assert median([4, 1, 3, 2]) == 2.5


@pytest.mark.parametrize("estimate", [hodges_lehmann, median])
def test_nothing_has_no_estimate(estimate):
    with pytest.raises(ValueError, match="at least one"):
        estimate([])
