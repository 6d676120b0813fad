"""Loads of requests: whether a service level is kept, and between which rates it ceases to be."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from cold_and_soak_runs import served_cell, serving_example
from hypothesis import given
from hypothesis import strategies as st

from irbench.core.record import REFUSED, Failure, LaunchRecord, ServedLoad
from irbench.core.serving_row import LevelTest, LoadLimit
from irbench.spec.serving import OfferedLoad, ServiceLevel
from irbench.stats.run_modes.serving import (
    Probe,
    autocorrelation_time,
    best_of,
    binomial_cdf,
    calls_alone_miss,
    derive_serving_table,
    latency_ns,
    level_verdict,
    load_figures,
    next_rate,
    percentile_interval,
)
from irbench.stats.run_modes.serving import test_level as level_test
from irbench.stats.student import student_quantile

MS = 1_000_000
TIMES = ("due_ns", "start_ns", "end_ns")


@pytest.mark.parametrize(("most", "count"), [(0, 10), (3, 40), (12, 40), (40, 40), (7, 700)])
def test_the_binomial_distribution_is_exact(most: int, count: int) -> None:
    share = Fraction(1, 100) if count == 700 else Fraction(3, 10)
    terms = (math.comb(count, k) * share**k * (1 - share) ** (count - k) for k in range(most + 1))
    assert binomial_cdf(most, count, float(share)) == pytest.approx(float(sum(terms)), rel=1e-9)


def test_without_a_miss_p99_takes_as_many_requests_to_pass_as_one_of_them_would_likely_be_slow() -> None:
    assert (level_verdict(298, 0, 99, 0.95), level_verdict(299, 0, 99, 0.95)) == ("undecided", "pass")


def test_many_misses_fail_and_the_allowed_share_is_undecided() -> None:
    assert level_verdict(10_000, 150, 99, 0.95) == "fail"
    assert level_verdict(10_000, 100, 99, 0.95) == "undecided"
    assert level_verdict(10_000, 60, 99, 0.95) == "pass"


def queued(random: np.random.Generator, busy: float, seconds: float) -> ServedLoad:
    """Return a load of an M/D/1 queue with a service time of 5 ms, by Lindley's recursion."""
    count = round(busy / 0.005 * seconds)
    due_ns = np.cumsum(random.exponential(5e6 / busy, count)).astype(np.int64)
    ahead_ns = np.arange(count) * 5 * MS - due_ns
    start_ns = due_ns + (ahead_ns - np.minimum.accumulate(ahead_ns))
    offered = OfferedLoad("server", count, busy / 0.005)
    return ServedLoad(offered, 1, 1, due_ns, start_ns, start_ns + 5 * MS, np.zeros(count, np.int64))


def side_by_side(random: np.random.Generator, busy: float, seconds: float, instances: int) -> ServedLoad:
    """Return the requests of so many such queues as one load, by when they are due."""
    own = [queued(random, busy, seconds) for _ in range(instances)]
    due_ns, start_ns, end_ns = (np.concatenate([getattr(load, name) for load in own]) for name in TIMES)
    order = np.argsort(due_ns)
    slot = np.concatenate([np.full(load.slot.size, number) for number, load in enumerate(own)])
    offered = OfferedLoad("server", due_ns.size, instances * busy / 0.005)
    return ServedLoad(offered, instances, 1, due_ns[order], start_ns[order], end_ns[order], slot[order])


@pytest.mark.parametrize(("busy", "instances"), [(0.5, 1), (0.8, 1), (0.8, 4)])
def test_a_level_that_is_exactly_missed_by_a_queue_is_decided_in_few_of_all_cases(busy: float, instances: int) -> None:
    random = np.random.default_rng(3)
    truth_ms = float(np.percentile(latency_ns(queued(random, busy, 3000)), 99)) / MS
    level = ServiceLevel(99, truth_ms)
    launches = ([side_by_side(random, busy, 5, instances) for _ in range(6)] for _ in range(200))
    verdicts = [level_test(own, level, 0.95).verdict for own in launches]
    assert verdicts.count("pass") / len(verdicts) < 0.1
    assert verdicts.count("fail") / len(verdicts) < 0.1


@pytest.mark.ci
def test_verdicts_that_may_end_a_row_at_each_look_err_more_often_than_those_of_a_fixed_number_of_launches() -> None:
    random = np.random.default_rng(5)
    level = ServiceLevel(99, float(np.percentile(latency_ns(queued(random, 0.7, 20_000)), 99)) / MS)
    last: list[str] = []
    first: list[str] = []
    for _ in range(200):
        loads = [queued(random, 0.7, 5) for _ in range(12)]
        verdicts = [level_test(loads[:count], level, 0.95).verdict for count in range(6, 13)]
        last.append(verdicts[-1])
        first.append(next((verdict for verdict in verdicts if verdict != "undecided"), "undecided"))
    assert last.count("pass") / len(last) < 0.1 < first.count("pass") / len(first)


def test_a_level_that_is_kept_by_far_passes_although_requests_queue() -> None:
    random = np.random.default_rng(4)
    loads = [queued(random, 0.5, 5) for _ in range(6)]
    assert level_test(loads, ServiceLevel(99, 60), 0.95).verdict == "pass"
    assert level_test(loads, ServiceLevel(99, 8), 0.95).verdict == "fail"


def test_independent_requests_each_count() -> None:
    random = np.random.default_rng(5)
    launches = [random.exponential(1.0, 2000) for _ in range(4)]
    assert autocorrelation_time(launches) < 1.2


def load_of(*latencies_ms: float, unanswered: int = 0) -> ServedLoad:
    """Return a load of requests that never wait, the last ones refused."""
    count = len(latencies_ms) + unanswered
    due_ns = np.arange(count, dtype=np.int64) * 100 * MS
    lasts_ns = np.array([*latencies_ms, *[0] * unanswered]) * MS
    slot = np.array([0] * len(latencies_ms) + [REFUSED] * unanswered, np.int64)
    start_ns = np.where(slot < 0, 0, due_ns)
    end_ns = np.where(slot < 0, 0, due_ns + lasts_ns).astype(np.int64)
    return ServedLoad(OfferedLoad("server", count, 10.0), 1, 1, due_ns, start_ns, end_ns, slot)


def test_requests_without_an_answer_count_as_slower_than_any_other() -> None:
    figures = load_figures([load_of(*[10] * 480, unanswered=20)], ServiceLevel(99, 50), 0.95)
    assert (figures.requests, figures.refused) == (500, 20)
    assert figures.p50_ms is not None
    assert figures.p50_ms.value == pytest.approx(10)
    assert figures.p99_ms is None  # it lies among those that were refused
    assert figures.level is not None
    assert (figures.level.requests, figures.level.missed) == (500, 20)


def test_a_percentile_that_its_requests_cannot_bound_is_not_given() -> None:
    assert load_figures([load_of(*[10] * 40)], None, 0.95).p90_ms is None
    assert load_figures([load_of(*[10] * 44)], None, 0.95).p90_ms == pytest.approx(10)


def test_a_percentile_that_is_a_request_beside_one_without_an_answer_is_a_number() -> None:
    figures = load_figures([load_of(*[10] * 5, unanswered=4)], None, 0.95)
    assert figures.p50_ms is not None
    assert figures.p50_ms.value == pytest.approx(10)


def test_one_slow_launch_of_six_moves_every_percentile_as_it_moves_the_verdict() -> None:
    random = np.random.default_rng(7)
    usual, slow = (load_of(*random.permutation(np.linspace(*ends, 100))) for ends in ((5, 20), (50, 90)))
    figures = load_figures([slow, *[usual] * 5], ServiceLevel(99, 40), 0.95)
    assert figures.p50_ms is not None
    assert figures.p90_ms is not None
    assert figures.p99_ms is not None
    assert figures.p50_ms.value < 20 < 50 < figures.p90_ms < figures.p99_ms
    assert figures.level is not None
    assert figures.level.verdict == "fail"


@given(
    st.lists(st.lists(st.floats(1, 1000), min_size=1, max_size=20), min_size=1, max_size=8),
    st.integers(1, 60),
    st.integers(0, 3),
)
def test_a_higher_percentile_is_no_shorter_and_lies_within_its_interval(
    launches_ms: list[list[float]], repeats: int, unanswered: int
) -> None:
    figures = load_figures([load_of(*own * repeats, unanswered=unanswered) for own in launches_ms], None, 0.95)
    p50, p99 = figures.p50_ms, figures.p99_ms
    assert figures.p90_ms is None or p50 is None or p50.value <= figures.p90_ms
    assert p99 is None or (figures.p90_ms is not None and figures.p90_ms <= p99)
    if p50 is not None and p50.ends is not None:
        assert p50.ends.low <= p50.value <= p50.ends.high


@pytest.mark.parametrize("busy", [0.6, 0.8])
def test_the_interval_of_the_median_holds_it_about_as_often_as_it_says(busy: float) -> None:
    random = np.random.default_rng(6)
    truth_ns = float(np.median(latency_ns(queued(random, busy, 10_000))))
    held = 0
    for _ in range(200):
        launches = [latency_ns(queued(random, busy, 20)) for _ in range(6)]
        ends = percentile_interval(launches, 50, 0.95)
        held += ends is not None and ends[0] <= truth_ns <= ends[1]
    assert 0.88 <= held / 200 < 1


def test_fewer_than_six_launches_have_no_interval_and_an_end_is_a_request_that_was_answered() -> None:
    launch = np.linspace(5, 20, 1000)
    assert percentile_interval([launch] * 5, 99, 0.95) is None
    assert percentile_interval([launch] * 6, 99, 0.95) is not None
    cut = np.where(np.arange(1000) >= 981, np.inf, launch)
    assert percentile_interval([*[launch] * 3, *[cut] * 3], 50, 0.95) is not None
    assert percentile_interval([*[launch] * 3, *[cut] * 3], 99, 0.95) is None


@pytest.mark.parametrize(
    ("freedom", "quantile"), [(1, 12.7062), (2, 4.30265), (5, 2.57058), (10, 2.22814), (100, 1.98397)]
)
def test_students_distribution_is_that_of_its_tables(freedom: int, quantile: float) -> None:
    assert student_quantile(0.975, freedom) == pytest.approx(quantile, rel=1e-5)


def test_calls_that_most_miss_a_level_by_themselves_keep_it_at_no_rate() -> None:
    slow, waiting = load_of(*[60] * 6, *[10] * 4), load_of(*[10] * 10)
    late = replace(waiting, end_ns=waiting.end_ns + 90 * MS, start_ns=waiting.start_ns + 90 * MS)
    assert calls_alone_miss(slow, ServiceLevel(90, 50))
    assert not calls_alone_miss(slow, ServiceLevel(30, 50))
    assert not calls_alone_miss(late, ServiceLevel(90, 50))
    assert not calls_alone_miss(load_of(unanswered=5), ServiceLevel(90, 50))


def test_launches_are_judged_together() -> None:
    level = ServiceLevel(99, 50)
    loads = [load_of(*[10] * 150), load_of(*[10] * 150)]
    assert level_test(loads[:1], level, 0.95).verdict == "undecided"
    assert level_test(loads, level, 0.95).verdict == "pass"


@pytest.mark.parametrize("limit_per_s", [3.0, 40.0, 90.0, 104.0])
def test_a_search_closes_in_on_the_rate_from_which_on_requests_miss(limit_per_s: float) -> None:
    probes: list[Probe] = []
    while (rate := next_rate(probes, capacity_per_s=100.0)) is not None:
        missed = 0 if rate <= limit_per_s else 500
        probes.append(Probe(rate, LevelTest(1000, missed, "fail" if missed else "pass"), 99))
    assert {probe.test.verdict for probe in probes} == {"pass", "fail"}
    kept = max(probe.rate_per_s for probe in probes if probe.looks_kept)
    broken = min(probe.rate_per_s for probe in probes if not probe.looks_kept)
    assert kept <= limit_per_s < broken <= 1.05 * kept
    assert len(probes) <= 12


def test_the_best_row_passes_at_a_rate_at_which_every_other_one_fails() -> None:
    slow, fast, near = LoadLimit("slow", 10.0, 12.0), LoadLimit("fast", 30.0, 33.0), LoadLimit("near", 28.0, 31.0)
    assert best_of([slow, fast]) == "fast"
    assert best_of([slow, fast, near]) is None
    assert best_of([fast, LoadLimit("undecided", 10.0, None)]) is None
    assert best_of([LoadLimit("neither", None, 5.0), LoadLimit("does", None, 6.0)]) is None
    assert best_of([fast]) is None


def test_a_search_gives_up_where_no_load_is_kept() -> None:
    probes = [Probe(rate, LevelTest(1000, 500, "fail"), 99) for rate in (70.0, 35.0, 17.5, 8.7, 4.4, 2.2)]
    assert next_rate(probes, capacity_per_s=100.0) is None


def test_a_row_that_failed_after_some_loads_says_why_below_them() -> None:
    (table,) = serving_example().serving
    failure = Failure("serve", "It crashed with SIGSEGV.")
    failed = replace(table, rows=tuple(replace(row, state="failed", failure=failure) for row in table.rows))
    records = [LaunchRecord(0, 0, (served_cell("ort", 5),), {}, ())]
    derived = derive_serving_table(failed, records)
    rows = [row for row in derived.rows if row.id == "ort"]
    assert [None if row.load is None else row.load.rate_per_s for row in rows] == [10, 40, None]
    assert derive_serving_table(derived, records) == derived


def test_a_row_whose_outputs_went_bad_has_no_load_and_holds_none() -> None:
    (table,) = serving_example().serving
    failure = Failure("verify", "wrong outputs")
    bad = replace(table, rows=tuple(replace(row, state="mismatch", failure=failure) for row in table.rows))
    derived = derive_serving_table(bad, [LaunchRecord(0, 0, (served_cell("ort", 5),), {}, ())])
    assert [row.load for row in derived.rows if row.id == "ort"] == [None]
    assert not derived.limits


def test_a_search_goes_further_out_where_the_closest_rates_are_undecided() -> None:
    probes = [Probe(rate, LevelTest(1000, missed, "undecided"), 99) for rate, missed in ((100.0, 9), (104.0, 11))]
    rate = next_rate(probes, capacity_per_s=200.0)
    assert rate == pytest.approx(130)
    probes.append(Probe(130.0, LevelTest(1000, 200, "fail"), 99))
    assert next_rate(probes, capacity_per_s=200.0) == pytest.approx(80)
    probes.append(Probe(80.0, LevelTest(1000, 0, "pass"), 99))
    assert next_rate(probes, capacity_per_s=200.0) is None
