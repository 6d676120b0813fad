"""What a queue of calls that all take equally long holds, beside what theory says of it."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from benchmarks.serving.queue_theory import md1_mean_ms, md1_percentile_ms
from irbench.features.tune.queue_model import held_share, request_latencies

LEVEL = {"wait_ms": 0.0, "percentile": 99.0, "limit_ms": 50.0}


def poisson(rate: float, count: int) -> NDArray[np.float64]:
    return np.cumsum(np.random.default_rng(3).exponential(1 / rate, count))


@pytest.mark.parametrize("busy", [0.5, 0.8])
def test_one_slot_makes_an_md1_queue(busy: float) -> None:
    latencies = request_latencies(poisson(busy / 5, 100_000), slots=1, batch=1, call=5.0)
    assert latencies.mean() == pytest.approx(md1_mean_ms(5.0, 1e3 * busy / 5), rel=0.03)


@pytest.mark.parametrize("call_ms", [2.0, 5.0, 12.0, 20.0])
def test_the_share_that_is_held_is_that_of_theory(call_ms: float) -> None:
    share = held_share(1, 1, call_ms, **LEVEL)
    assert md1_percentile_ms(call_ms, 0.9 * 1e3 * share / call_ms, 99) <= 50
    assert md1_percentile_ms(call_ms, min(0.99, 1.15 * share) * 1e3 / call_ms, 99) > 50


def test_longer_calls_are_held_at_a_smaller_share_and_more_slots_at_a_larger_one() -> None:
    shares = [held_share(1, 1, call_ms, **LEVEL) for call_ms in (1.0, 5.0, 15.0, 30.0, 49.0)]
    assert shares == sorted(shares, reverse=True)
    assert shares[-1] < 0.05 < 0.9 < shares[0]
    assert held_share(4, 1, 15.0, **LEVEL) > 1.3 * held_share(1, 1, 15.0, **LEVEL)


def test_the_most_samples_per_second_do_not_make_the_highest_rate() -> None:
    """Batches of 4 have a third more throughput in calls of 30 ms than single calls of 10 ms."""
    batched, single = 4 / 30 * held_share(1, 4, 30.0, **LEVEL), 1 / 10 * held_share(1, 1, 10.0, **LEVEL)
    assert 4 / 30 > 1.3 * 1 / 10
    assert single > 1.3 * batched


def test_calls_that_are_longer_than_the_level_allows_are_held_at_no_rate_that_is_told() -> None:
    assert held_share(1, 1, 60.0, **LEVEL) == pytest.approx(1 / 64)


def test_a_call_waits_until_its_batch_is_full_or_its_time_is_up() -> None:
    due = np.array([0.0, 3.0, 4.0, 100.0, 120.0])
    assert request_latencies(due, 1, 3, 10.0, 8.0).tolist() == [14.0, 11.0, 10.0, 18.0, 18.0]
    assert request_latencies(due, 1, 3, 10.0).tolist() == [10.0, 17.0, 16.0, 10.0, 10.0]
