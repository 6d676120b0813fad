"""Loads of requests: what became of them, and at which rate a service level is kept.

**A service level is tested, not read off.** Of n requests, k miss the limit. Where the true share of misses is exactly
the allowed p = 1 - percentile / 100, and requests are independent, k has a binomial distribution. The level is kept
(*pass*) where so few misses have a probability of at most alpha, it is broken (*fail*) where so many have, and
otherwise *undecided*: more requests are needed. For k = 0 it is the early stopping criterion of MLPerf: "MLPerf
Inference Rules", appendix "Early Stopping Criterion".

**Requests of one queue are not independent**: those behind the same slow one wait together, and miss together. n
requests say as much as n / tau independent ones, where tau is the integrated autocorrelation time of their latencies
(of their ranks in each launch, which outliers do not move), summed over lags as long as sums of neighbouring pairs are
positive: Geyer, "Practical Markov Chain Monte Carlo", Statistical Science 7 (1992). Both n and k are divided by it. The
slowest twentieth of all requests may cluster more than the others, so the time of being one of them counts where it is
longer. Misses themselves are not looked at, because a few bursts of them, or none, say nothing of how they cluster.

**Percentiles of a load** are those of the requests of all launches together, as the service level is tested on: medians
of the launches' percentiles would hide a slow launch, whose requests miss the level all the same. Launches are
independent of each other, requests are not. So the interval of a percentile follows from how much the share of requests
below it differs between six launches or more: that share, give or take Student's t times its standard error (on its log
odds, so that it stays between 0 and 1), is turned back into latencies. See Woodruff, "Confidence Intervals for Medians
and Other Position Measures", Journal of the American Statistical Association 47 (1952). Both ends are percentiles of
the same requests, and so surround it.

**The knee** of a row lies between the highest rate that passes and the lowest that fails. It is found by bisection on
the logarithm of the rate, below the rate at which the row answers requests that are all there.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from irbench.core.record import REFUSED, LaunchRecord, ServedLoad
from irbench.core.serving_row import (
    LevelTest,
    LevelVerdict,
    LoadFigures,
    LoadLimit,
    OverLaunches,
    ServerFigures,
    ServingRow,
    ServingTable,
)
from irbench.notices.doubts import LateCalls
from irbench.spec.serving import ServiceLevel
from irbench.stats.figures import calls_to_bound
from irbench.stats.intervals import FEWEST_LAUNCHES, Looks, interval_at, median, percentile, ranks_of
from irbench.stats.notice_rules.serving_warnings import serving_warnings
from irbench.stats.student import student_quantile

FINEST = 1.05
"""A search ends where the lowest rate that fails is at most so many times the highest that passes."""
_STEP_OUT, _FURTHEST_OUT = 1.25, 2.0
"""Rates beyond the closest ones are so many times as far, up to so many times in all."""
_FIRST_SHARE = 0.7
"""Of the rate at which a row answers requests that are all there, where a search begins."""
MOST_PROBES = 12
"""Rates that a search tries in one launch at most."""
_SLOW_PERCENTILE = 95
_MEDIAN = 50
_LOWEST_SHARE = 1 / 64
"""The lowest rate that a search tries, as a share of the same."""


def latency_ns(load: ServedLoad) -> NDArray[np.float64]:
    """Return each request's time from when it was due to its answer, float64; infinite where nobody got one."""
    taken_ns = (load.end_ns - load.due_ns).astype(np.float64)
    return np.where(_is_answered(load), taken_ns, np.inf)


def _is_answered(load: ServedLoad) -> NDArray[np.bool_]:
    in_time = True if load.timeout_ms is None else (load.end_ns - load.due_ns) <= load.timeout_ms * 1e6
    answered: NDArray[np.bool_] = (load.slot >= 0) & in_time
    return answered


def test_level(loads: Sequence[ServedLoad], level: ServiceLevel, confidence: float) -> LevelTest:
    """Return whether the requests of some launches keep a level."""
    latencies_ns = [latency_ns(load) for load in loads]
    all_ns = np.concatenate(latencies_ns)
    missed = int(np.count_nonzero(all_ns > level.limit_ms * 1e6))
    slowest = percentile_of(all_ns, _SLOW_PERCENTILE)
    are_slow = [(launch > slowest).astype(np.float64) for launch in latencies_ns]
    repeats = max(autocorrelation_time(latencies_ns), autocorrelation_time(are_slow))
    return LevelTest(all_ns.size, missed, level_verdict(all_ns.size, missed, level.percentile, confidence, repeats))


def calls_alone_miss(load: ServedLoad, level: ServiceLevel) -> bool:
    """Whether most calls alone took longer than a level allows, so that no lower rate keeps it either."""
    service_ns = (load.end_ns - load.start_ns)[load.slot >= 0]
    return level.percentile >= _MEDIAN and service_ns.size > 0 and median(service_ns) > level.limit_ms * 1e6


def level_verdict(requests: int, missed: int, percent: float, confidence: float, repeats: float = 1.0) -> LevelVerdict:
    """Return what so many misses of so many requests say, each as much as one of ``repeats`` independent ones.

    Fractions are rounded so that they say less; see the top of this module.
    """
    allowed, alpha = 1 - percent / 100, 1 - confidence
    if binomial_cdf(math.ceil(missed / repeats), math.floor(requests / repeats), allowed) <= alpha:
        return "pass"
    at_least = math.floor(missed / repeats)
    below = binomial_cdf(at_least - 1, math.ceil(requests / repeats), allowed) if at_least else 0.0
    return "fail" if 1 - below <= alpha else "undecided"


def requests_to_pass(percent: float, confidence: float) -> int:
    """Return how many independent requests pass at a level that none of them misses."""
    return math.ceil(math.log(1 - confidence) / math.log(percent / 100))


def autocorrelation_time(launches: Sequence[NDArray[np.float64]]) -> float:
    """Return how many requests say as much as one independent one; 1 at least.

    Args:
        launches: Values in the order of arrival, one array for each launch; may be infinite.
    """
    sizes = [launch.size for launch in launches]
    ranks = [ranks_of(launch) for launch in launches]
    centred = [own - own.mean() for own in ranks]
    most = max(2, min(sizes) // 2)
    sums = np.sum([_autocovariances(series, most) for series in centred], axis=0)
    if sums[0] <= 0:
        return 1.0
    correlations = sums / sums[0]
    pairs = correlations[0 : most - most % 2 : 2] + correlations[1 : most - most % 2 : 2]
    stop = int(np.argmax(pairs <= 0)) if (pairs <= 0).any() else pairs.size
    return max(1.0, 2 * float(pairs[:stop].sum()) - 1)


def _autocovariances(series: NDArray[np.float64], lags: int) -> NDArray[np.float64]:
    """Return the sums of products of values so many places apart, from 0 on, by a Fourier transform."""
    length = 1 << (2 * series.size - 1).bit_length()
    spectrum = np.fft.rfft(series, length)
    products: NDArray[np.float64] = np.fft.irfft(spectrum * np.conj(spectrum), length)[:lags]
    return products


def binomial_cdf(most: int, count: int, probability: float) -> float:
    """Return the probability of at most ``most`` successes in ``count`` trials.

    Terms are summed outwards from the largest, each from the one beside it, until they no longer count.
    """
    if most >= count:
        return 1.0
    peak = min(most, math.floor((count + 1) * probability))
    log_peak = (
        math.lgamma(count + 1) - math.lgamma(peak + 1) - math.lgamma(count - peak + 1)
        + peak * math.log(probability) + (count - peak) * math.log1p(-probability)
    )  # fmt: skip
    odds = probability / (1 - probability)
    ratios_down = (place / ((count - place + 1) * odds) for place in range(peak, 0, -1))
    ratios_up = ((count - place) / (place + 1) * odds for place in range(peak, most))
    return min(1.0, math.exp(log_peak) * (1 + _sum_of_products(ratios_down) + _sum_of_products(ratios_up)))


def _sum_of_products(ratios: Iterable[float]) -> float:
    total, term = 0.0, 1.0
    for ratio in ratios:
        term *= ratio
        total += term
        if term < 1e-18 * (1 + total):
            break
    return total


def load_figures(loads: Sequence[ServedLoad], level: ServiceLevel | None, confidence: float) -> LoadFigures:
    """Return what became of the requests of one load in all launches."""
    offered = loads[0].offered
    latencies_ns = [latency_ns(load) for load in loads]
    pooled_ns = np.concatenate(latencies_ns)
    answered_ns = pooled_ns[np.isfinite(pooled_ns)]
    calls = [_calls(load) for load in loads]
    service_ns = np.concatenate([service for service, _ in calls])
    lags_ns = np.concatenate([lags for _, lags in calls])
    answered = [int(np.count_nonzero(_is_answered(load))) for load in loads]
    return LoadFigures(
        rate_per_s=offered.rate_per_s or None,
        requests=pooled_ns.size,
        answered_per_s=_over_launches([answered_per_s(load) for load in loads], confidence),
        p50_ms=_median_with_ends(latencies_ns, confidence),
        p90_ms=_bounded_ms(pooled_ns, 90),
        p99_ms=_bounded_ms(pooled_ns, 99),
        mean_ms=float(answered_ns.mean()) / 1e6 if answered_ns.size else None,
        service_p50_ms=median(service_ns) / 1e6 if service_ns.size else None,
        start_lag_p99_ms=percentile(lags_ns, 99) / 1e6 if lags_ns.size else None,
        busy_share=median([_busy_share(load, own) for load, (own, _) in zip(loads, calls, strict=True)]),
        drain_ms=median([max(0, int(load.end_ns.max()) - int(load.due_ns[-1])) / 1e6 for load in loads]),
        refused=sum(int(np.count_nonzero(load.slot == REFUSED)) for load in loads),
        given_up=sum(
            load.slot.size - count - int(np.count_nonzero(load.slot == REFUSED))
            for load, count in zip(loads, answered, strict=True)
        ),
        batch_mean=sum(answered) / service_ns.size if service_ns.size else 0.0,
        level=None if level is None else test_level(loads, level, confidence),
        server=_server_figures(loads, service_ns),
    )


def _server_figures(loads: Sequence[ServedLoad], service_ns: NDArray[np.int64]) -> ServerFigures | None:
    """Return where the time of calls goes that a server answered, by its own means over all that it answered."""
    told = [load.server for load in loads if load.server is not None]
    answers = sum(server.answers for server in told)
    if not answers or not service_ns.size:
        return None
    queue_ms = sum(server.queue_ns for server in told) / answers / 1e6
    compute_ms = sum(server.compute_ns for server in told) / answers / 1e6
    return ServerFigures(queue_ms, compute_ms, float(service_ns.mean()) / 1e6 - queue_ms - compute_ms)


def _median_with_ends(launches_ns: Sequence[NDArray[np.float64]], confidence: float) -> OverLaunches | None:
    """Return the median of all requests, with its interval or the range of the launches.

    It has the interval where there are enough launches, and each has enough requests to bound its own median.
    Higher percentiles have none: of queues that are busy for much of the time, requests of a launch resemble each other
    so much that an interval of 95 % would hold the p99 in 67 % of cases.
    """
    value_ms = _bounded_ms(np.concatenate(launches_ns), 50)
    if value_ms is None:
        return None
    enough = min(launch.size for launch in launches_ns) >= calls_to_bound(50)
    ends = percentile_interval(launches_ns, 50, confidence) if enough else None
    if ends is not None:
        return OverLaunches(value_ms, low=ends[0] / 1e6, high=ends[1] / 1e6)
    medians_ms = [percentile_of(launch, 50) / 1e6 for launch in launches_ns]
    if len(medians_ms) == 1 or not all(map(math.isfinite, medians_ms)):
        return OverLaunches(value_ms)
    return OverLaunches(value_ms, range_low=min(medians_ms), range_high=max(medians_ms))


def percentile_interval(
    launches: Sequence[NDArray[np.float64]], percent: float, confidence: float
) -> tuple[float, float] | None:
    """Return both ends of the interval of a percentile of all values, in their unit; see the top of this module.

    ``None`` with fewer than six launches, or where an end lies beyond all values, or all finite ones. Of values that
    equal the percentile, half count as below it.
    """
    if len(launches) < FEWEST_LAUNCHES:
        return None
    pooled = np.concatenate(launches)
    value = percentile_of(pooled, percent)
    below = np.array([(np.count_nonzero(own < value) + np.count_nonzero(own <= value)) / 2 for own in launches])
    excess = below - below.sum() / pooled.size * np.array([own.size for own in launches])
    deviation = math.sqrt(float((excess**2).sum()) / (len(launches) - 1))
    error = math.sqrt(len(launches)) * deviation / pooled.size
    share = percent / 100
    reach = student_quantile((1 + confidence) / 2, len(launches) - 1) * error / (share * (1 - share))
    below_low, above_high = (_with_odds(part, math.exp(-reach)) for part in (share, 1 - share))
    if min(below_low, above_high) * pooled.size < 1:
        return None
    # rounding must not put an end on the other side
    low, high = min(value, percentile_of(pooled, 100 * below_low)), percentile_of(pooled, 100 * (1 - above_high))
    return (low, max(value, high)) if math.isfinite(high) else None


def _with_odds(share: float, factor: float) -> float:
    """Return the share whose odds are so many times those of another."""
    return share * factor / (share * factor + 1 - share)


def percentile_of(latencies_ns: NDArray[np.float64], percent: float) -> float:
    """Return a percentile of values that may be infinite: between a finite one and one that is not, it is not."""
    place = (latencies_ns.size - 1) * percent / 100
    highest = np.partition(latencies_ns, math.ceil(place))[math.ceil(place)]
    # those above do not count, and an infinite one times its weight of zero were no number
    return percentile(np.minimum(latencies_ns, highest), percent) if math.isfinite(highest) else math.inf


def _bounded_ms(latencies_ns: NDArray[np.float64], percent: float) -> float | None:
    value_ns = percentile_of(latencies_ns, percent)
    return value_ns / 1e6 if latencies_ns.size >= calls_to_bound(percent) and math.isfinite(value_ns) else None


def _over_launches(values: Sequence[float], confidence: float) -> OverLaunches:
    """Return the median over launches with the interval of the only look at them, whose number is fixed before."""
    count = max(len(values), FEWEST_LAUNCHES)
    interval = interval_at(values, Looks(count, count), confidence)
    return OverLaunches(interval.value, **interval.ends())


def answered_per_s(load: ServedLoad) -> float:
    """Return the answers per second from the first arrival to the last answer."""
    answered = _is_answered(load)
    if not answered.any():
        return 0.0
    span_ns = int(load.end_ns[answered].max()) - int(load.due_ns[0])
    return float(np.count_nonzero(answered)) / (max(1, span_ns) / 1e9)


def _busy_share(load: ServedLoad, service_ns: NDArray[np.int64]) -> float:
    span_ns = int(load.end_ns.max()) - int(load.due_ns[0])
    return float(service_ns.sum()) / (load.slots * max(1, span_ns))


def _calls(load: ServedLoad) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return each call's duration, and by how much it began after it could have, in nanoseconds, int64.

    A call could begin when its first request was due, and its slot had ended the call before.
    """
    durations: list[int] = []
    lags: list[int] = []
    for slot in range(load.slots):
        own = np.flatnonzero(load.slot == slot)
        starts_ns, first = np.unique(load.start_ns[own], return_index=True)
        ends_ns = load.end_ns[own][first]
        free_ns = np.concatenate([np.zeros(1, np.int64), ends_ns[:-1]])[: starts_ns.size]
        durations += (ends_ns - starts_ns).tolist()
        lags += (starts_ns - np.maximum(load.due_ns[own][first], free_ns)).tolist()
    return np.array(durations, np.int64), np.array(lags, np.int64)


@dataclass(frozen=True)
class Probe:
    """What is known of one rate: how many requests missed the level, of how many."""

    rate_per_s: float
    test: LevelTest
    percentile: float

    @property
    def looks_kept(self) -> bool:
        """Whether the share of misses is at most the allowed one, decided or not."""
        return self.test.missed <= self.test.requests * (1 - self.percentile / 100)


def apparent_ends(probes: Sequence[Probe]) -> tuple[float, float]:
    """Return the highest rate that looks kept, below the lowest that does not, and that one, decided or not.

    The first is 0 where none looks kept, the second infinite where all do.
    """
    lowest_broken = min((probe.rate_per_s for probe in probes if not probe.looks_kept), default=math.inf)
    kept = (probe.rate_per_s for probe in probes if probe.looks_kept and probe.rate_per_s < lowest_broken)
    return max(kept, default=0.0), lowest_broken


def next_rate(probes: Sequence[Probe], capacity_per_s: float) -> float | None:
    """Return which rate a search tries next in a launch; ``None`` where it is fine enough.

    Undecided rates count as what they look like. Once they are close to each other, rates further out are tried until
    one passes and one fails; later launches decide those between.

    Args:
        probes: What is known.
        capacity_per_s: Requests that the row answers per second when all are there.
    """
    if not probes:
        return _FIRST_SHARE * capacity_per_s
    highest_kept, lowest_broken = apparent_ends(probes)
    if highest_kept == 0:
        lower = lowest_broken / 2
        return lower if lower >= _LOWEST_SHARE * capacity_per_s else None
    if lowest_broken == math.inf:
        return highest_kept * math.sqrt(1 / _FIRST_SHARE)
    if lowest_broken / highest_kept > FINEST:
        return math.sqrt(highest_kept * lowest_broken)
    broken = [probe for probe in probes if not probe.looks_kept]
    kept = [probe for probe in probes if probe.looks_kept and probe.rate_per_s <= highest_kept]
    return _further_out(broken, "fail", _STEP_OUT) or _further_out(kept, "pass", 1 / _STEP_OUT)


def _further_out(probes: Sequence[Probe], verdict: LevelVerdict, step: float) -> float | None:
    """Return a rate beyond those of one side, where none of them is decided; ``None`` where that went on too long."""
    if any(probe.test.verdict == verdict for probe in probes):
        return None
    rates = [probe.rate_per_s for probe in probes]
    outermost = max(rates) if step > 1 else min(rates)
    return outermost * step if max(rates) / min(rates) < _FURTHEST_OUT else None


def derive_serving_table(table: ServingTable, records: Sequence[LaunchRecord]) -> ServingTable:
    """Return a table whose figures follow from the requests of its launches: a row for each load of each cell.

    A cell that failed after some loads has one more row, which says why; it has no other where its outputs went bad.
    """
    own = [record for record in records if record.group == table.group]
    cells = {row.id: row for row in reversed(table.rows)}
    served = {cell: _served_in(own, cell) for cell in reversed(cells)}
    rows = [row for cell, loads in served.items() for row in _rows_of(cells[cell], loads, table)]
    found = (_limit_of(cell, served[cell], [row for row in rows if row.id == cell]) for cell in served)
    limits = tuple(limit for limit in found if limit is not None)
    remarks = (warning for warning in table.warnings if not isinstance(warning, LateCalls))  # which follows anew
    return replace(
        table,
        warnings=(*remarks, *serving_warnings(rows, table.batch_wait_ms)),
        rows=tuple(rows),
        limits=limits,
        best=best_of(limits),
        foreign_share=_foreign_share(own),
    )


def _served_in(records: Sequence[LaunchRecord], cell: str) -> list[ServedLoad]:
    return [load for record in records for own in record.cells if own.cell == cell for load in own.served]


def _rows_of(row: ServingRow, served: Sequence[ServedLoad], table: ServingTable) -> list[ServingRow]:
    by_load = loads_by_rate(load for load in served if load.offered.scenario == table.scenario)
    if not by_load or row.state == "mismatch":
        return [replace(row, load=None)]
    figures = (load_figures(launches, table.level, table.confidence) for _, launches in sorted(by_load.items()))
    rows = [replace(row, load=load) for load in figures]
    return [*rows, replace(row, load=None)] if row.failure is not None else rows


def _limit_of(cell: str, served: Sequence[ServedLoad], rows: Sequence[ServingRow]) -> LoadLimit | None:
    """Return between which rates a row ceases to keep its level; ``None`` where rates were not searched or judged."""
    loads = [row.load for row in rows if row.load is not None]
    judged = [(load.rate_per_s, load.level.verdict) for load in loads if load.rate_per_s and load.level is not None]
    if not judged:
        return None
    fails = min((rate for rate, verdict in judged if verdict == "fail"), default=None)
    passes = [rate for rate, verdict in judged if verdict == "pass" and (fails is None or rate < fails)]
    at_once = [answered_per_s(load) for load in served if load.offered.scenario == "offline"]
    return LoadLimit(cell, max(passes, default=None), fails, median(at_once) if at_once else None)


def best_of(limits: Sequence[LoadLimit]) -> str | None:
    """Return the cell that passes at a rate at which every other one fails; ``None`` without one, or another cell."""
    if len(limits) < 2:
        return None
    best = max(limits, key=lambda limit: limit.passes_per_s or 0.0)
    others_fail_at = max(limit.fails_per_s or math.inf for limit in limits if limit is not best)
    return best.cell if (best.passes_per_s or 0.0) >= others_fail_at else None


def _foreign_share(records: Sequence[LaunchRecord]) -> float | None:
    available_ns = sum(block.wall_ns * record.processors for record in records for block in record.blocks)
    foreign_ns = sum(block.foreign_cpu_ns for record in records for block in record.blocks)
    return foreign_ns / available_ns if available_ns else None


def loads_by_rate(loads: Iterable[ServedLoad]) -> dict[tuple[str, float], list[ServedLoad]]:
    """Return the launches of each load, by its scenario and rate."""
    by_load: dict[tuple[str, float], list[ServedLoad]] = {}
    for load in loads:
        by_load.setdefault((load.offered.scenario, load.offered.rate_per_s), []).append(load)
    return by_load
