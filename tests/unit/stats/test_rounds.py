import numpy as np
import pytest
from launches import MS, streamed, synchronous

from irbench.stats.rounds import call_latency_ns, round_statistic_ns, time_per_completion_ns


def test_a_synchronous_round_counts_as_the_median_of_its_latencies():
    one = synchronous(0, [3 * MS, 1 * MS, 100 * MS])
    assert round_statistic_ns(one, 1, 1, by_completion=False) == 3 * MS


def test_a_sample_of_many_calls_is_divided_by_their_number():
    one = synchronous(0, [50_000, 60_000, 70_000])
    assert round_statistic_ns(one, 1, 10, by_completion=False) == 6_000
    assert round_statistic_ns(one, 1, 10, by_completion=True) == 6_000
    assert call_latency_ns(one, 10).tolist() == [5_000, 6_000, 7_000]


def test_for_one_stream_time_per_completion_is_the_median_latency():
    latencies = np.random.default_rng(0).integers(1, 100, 15) * 1000
    one = synchronous(0, latencies)
    assert time_per_completion_ns(one, 1) == np.median(latencies)


def test_requests_that_complete_two_at_a_time_count_as_their_rate_and_not_as_their_gaps():
    # two streams, each request takes 10 ms, both end together: 5 ms per completion, though the gaps are 0 and 10
    completion = [10 * MS, 10 * MS, 20 * MS, 20 * MS, 30 * MS, 30 * MS, 40 * MS, 40 * MS]
    issue = [0, 0, 10 * MS, 10 * MS, 20 * MS, 20 * MS, 30 * MS, 30 * MS]
    one = streamed(0, issue, completion)
    assert time_per_completion_ns(one, 2) == 5 * MS
    assert round_statistic_ns(one, 2, 1, by_completion=False) == 10 * MS


def test_completions_are_sorted_before_their_spans_are_taken():
    ordered = streamed(0, [0, 0, 0, 0], [4 * MS, 8 * MS, 12 * MS, 16 * MS])
    shuffled = streamed(0, [0, 0, 0, 0], [16 * MS, 4 * MS, 12 * MS, 8 * MS])
    assert time_per_completion_ns(shuffled, 2) == time_per_completion_ns(ordered, 2) == 4 * MS


def test_a_stall_of_one_request_does_not_decide_a_streamed_round():
    completion = np.cumsum([5 * MS] * 10 + [80 * MS] + [5 * MS] * 10)
    assert time_per_completion_ns(streamed(0, completion - MS, completion), 2) == 5 * MS


def test_more_streams_than_completions_still_give_a_rate():
    assert time_per_completion_ns(streamed(0, [0], [6 * MS]), 4) == 6 * MS


def test_a_clock_that_sees_nothing_still_gives_a_finite_logarithm():
    assert round_statistic_ns(synchronous(0, [0, 0, 0]), 1, 1, by_completion=False) == pytest.approx(1e-3)
