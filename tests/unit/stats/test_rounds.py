import numpy as np
import pytest
from launches import MS, streamed, synchronous

from irbench.stats.observed import call_latency_ns, round_statistic_ns, time_per_completion_ns


def test_a_synchronous_round_counts_as_the_median_of_its_latencies():
    round_ = synchronous(0, [3 * MS, 1 * MS, 100 * MS])
    assert round_statistic_ns(round_, 1, by_completion=False) == 3 * MS


def test_a_sample_of_many_calls_is_divided_by_their_number():
    round_ = synchronous(0, [50_000, 60_000, 70_000])
    assert round_statistic_ns(round_, 10, by_completion=False) == 6_000
    assert round_statistic_ns(round_, 10, by_completion=True) == 6_000
    assert call_latency_ns(round_, 10).tolist() == [5_000, 6_000, 7_000]


def test_requests_that_complete_two_at_a_time_count_as_their_rate_and_not_as_their_gaps():
    # two streams, each request takes 10 ms, both end together: 5 ms per completion, though the gaps are 0 and 10
    completion = [10 * MS, 10 * MS, 20 * MS, 20 * MS, 30 * MS, 30 * MS, 40 * MS, 40 * MS]
    issue = [0, 0, 10 * MS, 10 * MS, 20 * MS, 20 * MS, 30 * MS, 30 * MS]
    round_ = streamed(0, issue, completion)
    assert time_per_completion_ns(round_) == 5 * MS
    assert round_statistic_ns(round_, 1, by_completion=False) == 10 * MS


def test_where_each_fourth_request_stalls_throughput_counts_the_stalls_in_full():
    # one in flight: 5 ms, and each fourth call 12 ms longer, which makes 8 ms per completion
    calls = [5 * MS, 5 * MS, 5 * MS, 17 * MS] * 3
    assert time_per_completion_ns(synchronous(0, calls)) == 8 * MS
    assert np.median(calls) == 5 * MS


def test_a_clock_that_sees_nothing_still_gives_a_finite_logarithm():
    assert round_statistic_ns(synchronous(0, [0, 0, 0]), 1, by_completion=False) == pytest.approx(1e-3)
