"""Queues that theory knows: its formulas agree with queues that are played, and figures that are off are told."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from benchmarks.serving.queue_theory import latencies_ms, md1_mean_ms, md1_percentile_ms
from benchmarks.serving_truth import (
    Figures,
    Load,
    Measured,
    Served,
    by_chance,
    known_service_ms,
    of_loadgen,
    simulated,
    table_of,
)
from irbench.core.record import ServedLoad
from irbench.spec.serving import OfferedLoad

MS = 1_000_000


@pytest.mark.parametrize("busy", [0.165, 0.625, 0.9])
def test_theory_says_of_a_queue_with_equal_calls_what_playing_it_gives(busy: float) -> None:
    rate_per_s, requests = busy * 200, 1_000_000
    gaps_ms = np.random.default_rng(2).exponential(1e3 / rate_per_s, requests)
    played = latencies_ms(np.cumsum(gaps_ms), np.full(requests, 5.0))
    assert played.mean() == pytest.approx(md1_mean_ms(5.0, rate_per_s), rel=0.03)
    assert np.percentile(played, 99) == pytest.approx(md1_percentile_ms(5.0, rate_per_s, 99), rel=0.05)


def test_a_request_waits_for_the_calls_before_it() -> None:
    assert latencies_ms(np.array([0.0, 1, 2, 50]), np.array([5.0, 5, 255, 5])).tolist() == [5, 9, 263, 220]


def test_one_in_two_hundred_calls_that_stalls_is_behind_p99_and_its_queue_is_not() -> None:
    assert simulated().p99_ms > 250
    service_ms = known_service_ms(np.array([5.01] * 199 + [255.1]), 250.0)
    assert (float(np.percentile(service_ms, 99)), service_ms.max()) == (5, 255)


def served(call_ms: float) -> Served:
    """Return a launch of three requests that came together, whose calls took so long."""
    ends_ns = np.round(np.arange(1, 4) * call_ms * MS).astype(np.int64)
    starts_ns = ends_ns - round(call_ms * MS)
    nobody = np.zeros(3, np.int64)
    load = ServedLoad(OfferedLoad("server", 3, 10.0), 1, 1, nobody, starts_ns, ends_ns, nobody)
    taken_ms = ends_ns / MS
    return Served(Figures(float(taken_ms.mean()), float(np.percentile(taken_ms, 99))), [load], 0.0)


def test_what_requests_wait_is_no_overhead() -> None:
    measured = served(5.0).from_schedule()
    assert (measured.found.mean_ms, measured.ideal.mean_ms) == pytest.approx((10, 10))
    slow = served(6.0).from_schedule()
    assert (slow.found.mean_ms, slow.ideal.mean_ms) == pytest.approx((12, 10))


@pytest.mark.ci
def test_chance_allows_a_queue_that_is_played_what_theory_predicts_and_more_where_there_are_fewer_requests() -> None:
    (few_low, few_high), (low, high) = by_chance(125.0, 24.0), by_chance(125.0, 120.0)
    assert few_low.mean_ms < low.mean_ms < md1_mean_ms(5.0, 125.0) < high.mean_ms < few_high.mean_ms
    assert few_low.p99_ms < low.p99_ms < md1_percentile_ms(5.0, 125.0, 99) < high.p99_ms < few_high.p99_ms


def test_a_figure_that_chance_does_not_make_is_told_and_one_that_it_makes_is_not() -> None:
    allowed, told = (Figures(8, 25), Figures(10, 35)), Measured(Figures(9, 5), Figures(9, 30))
    load = Load("125 requests/s", Figures(9.17, 29.62), told, told, allowed)
    assert list(load.outside()) == [
        "125 requests/s: the p99 of irbench is 5.00 ms; by chance alone 95% of runs have 25.00 to 35.00 ms"
    ]
    assert not list(replace(load, by_chance=None).outside())


def test_a_program_that_ignores_waiting_has_other_figures_than_its_requests() -> None:
    printed = {"mean_ms": 5.0, "p99_ms": 5.0, "came_s": [0.0, 0.001, 0.002], "took_s": [0.005] * 3}
    assert of_loadgen(printed).ideal.mean_ms == pytest.approx(9)


def test_each_load_has_its_mean_and_its_99th_percentile_by_who_says_so() -> None:
    figures = Measured(Figures(1, 2), Figures(3, 4))
    load = Load("10 requests/s", Figures(5, 6), figures, figures, (Figures(4, 5), Figures(7, 8)))
    (mean, tail) = table_of([load]).rows
    assert mean.cells == ("10 requests/s", "mean", "5.00 [4.00, 7.00]", "1.00", "3.00", "1.00", "3.00")
    assert tail.cells == ("", "p99", "6.00 [5.00, 8.00]", "2.00", "4.00", "2.00", "4.00")
