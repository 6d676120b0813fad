import numpy as np
import pytest

from irbench.stats.intervals import deepest_rank, launches_for, median_interval, one_sided_miss, ranked_interval


@pytest.mark.parametrize(
    ("count", "rank", "coverage"),
    [(3, 1, 0.75), (5, 1, 0.9375), (6, 1, 0.96875), (7, 1, 0.984375), (8, 1, 0.9921875), (9, 2, 0.9609375),
     (10, 2, 0.978515625), (11, 2, 0.98828125), (12, 3, 0.961425781250), (20, 6, 0.958610534667969)],
)  # fmt: skip
def test_an_interval_has_the_binomials_exact_coverage_and_the_deepest_rank_that_reaches_95_percent(
    count, rank, coverage
):
    interval = median_interval([float(one) for one in range(count)], 0.95)
    assert interval.rank == rank
    assert interval.coverage == pytest.approx(coverage, abs=1e-12)
    assert (interval.low, interval.high) == (rank - 1, count - rank)


def test_five_launches_cannot_give_95_percent_so_their_range_is_shown_with_what_it_is_worth():
    interval = median_interval([5.0, 1.0, 4.0, 2.0, 3.0], 0.95)
    assert (interval.low, interval.value, interval.high) == (1.0, 3.0, 5.0)
    assert interval.coverage == 0.9375


def test_one_launch_is_its_own_range_and_covers_nothing():
    interval = median_interval([2.0], 0.95)
    assert (interval.low, interval.value, interval.high, interval.coverage) == (2.0, 2.0, 2.0, 0.0)


def test_the_promised_coverage_is_the_one_that_comes_out_for_a_skewed_distribution():
    draws = np.random.default_rng(1).exponential(size=(20_000, 9))
    ends = [median_interval(row.tolist(), 0.95) for row in draws]
    covered = np.mean([one.low <= np.log(2) <= one.high for one in ends])
    assert covered == pytest.approx(0.9609, abs=0.005)


def test_negating_an_interval_swaps_its_ends():
    interval = -ranked_interval([1.0, 2.0, 4.0, 8.0, 9.0, 10.0, 11.0], 2)
    assert (interval.low, interval.value, interval.high) == (-10.0, -8.0, -2.0)


def test_an_end_misses_with_the_binomials_tail():
    assert one_sided_miss(6, 1) == 1 / 64
    assert one_sided_miss(9, 2) == 10 / 512
    assert deepest_rank(6, 0.025) == 1
    assert deepest_rank(5, 0.025) == 0


def test_a_range_needs_six_launches_for_95_percent_and_eight_for_99():
    assert launches_for(0.025) == 6
    assert launches_for(0.005) == 8
