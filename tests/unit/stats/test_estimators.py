import numpy as np
import pytest

from irbench.stats.intervals import hodges_lehmann, median, percentile


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
