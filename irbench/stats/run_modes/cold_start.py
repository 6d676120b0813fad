"""Figures of cold starts: medians over launches with exact intervals, and paired ratios with the baseline.

The number of launches follows from the time there is and never from what they showed, so an interval needs to hold at
that number alone: it lies between two order statistics, and misses the true median in at most 5 % of runs whatever the
distribution of launches (David and Nagaraja, "Order Statistics", 3rd edition, section 7.1).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

from irbench.core.cold_row import COLD_PHASES, CacheState, ColdLaunch, ColdPhasesMs, ColdRow, ColdTable
from irbench.core.row import Spans, Speedup
from irbench.notices.marks import OtherPrecision
from irbench.spec import Timing
from irbench.stats.eligibility import RowPrecision
from irbench.stats.intervals import FEWEST_LAUNCHES, Interval, Looks, interval_at, median
from irbench.stats.speedups import direction_confidence, excludes_zero, holm_intervals, verdict

_Key = tuple[str, CacheState]


def derive_cold_table(
    table: ColdTable, requested_baseline: str | None, timing: Timing, *, allow_mixed: bool
) -> ColdTable:
    """Return a table whose figures follow from the launches of its rows.

    Another baseline than the one asked for is taken where that has no figures.
    """
    figured = [with_figures(row, timing.confidence) for row in table.rows]
    baseline = _baseline(figured, requested_baseline)
    compared = [row for row in figured if baseline is not None and _is_compared(row, baseline, allow_mixed)]
    speedups = {} if baseline is None else cold_speedups(compared, baseline.id, timing)
    return replace(
        table,
        baseline=None if baseline is None else baseline.id,
        preview=table.rounds < FEWEST_LAUNCHES,
        rows=tuple(
            replace(row, speedup=_marked(speedups.get((row.id, row.cache)), row, baseline, table)) for row in figured
        ),
    )


def with_figures(row: ColdRow, confidence: float) -> ColdRow:
    """Return a row with what follows from its own launches; as it is where it has none."""
    if not row.launches:
        return row
    times = [launch.ready_ns / 1e6 for launch in row.launches]
    span = interval_at(times, _at(len(times)), confidence)
    shares = [launch.resident_share for launch in row.launches if launch.resident_share is not None]
    reads = [launch.read_bytes for launch in row.launches if launch.read_bytes is not None]
    return replace(
        row,
        ready_ms=Spans(span.value, **span.ends()),
        ready_confidence=span.confidence,
        phases_ms=ColdPhasesMs(*(_median_ms(row.launches, phase) for phase in COLD_PHASES)),
        resident_share=median(shares) if shares else None,
        read_bytes=round(median(reads)) if reads else None,
    )


def cold_speedups(rows: Sequence[ColdRow], baseline: str, timing: Timing) -> dict[_Key, Speedup]:
    """Return how much sooner each row answers than the baseline with its caches in the same state.

    All claims of a table hold together with the protocol's confidence, by Holm's procedure.
    """
    times: dict[_Key, Mapping[int, int]] = {(row.id, row.cache): _by_round(row) for row in rows}
    ratios: dict[_Key, list[float]] = {
        key: _log_ratios(own, times[baseline, key[1]])
        for key, own in times.items()
        if key[0] != baseline and (baseline, key[1]) in times
    }
    shared = {f"{cell}\n{cache}": values for (cell, cache), values in ratios.items() if values}
    fixed = _fixed(timing, min(map(len, shared.values()), default=0))
    intervals = holm_intervals(shared, fixed)
    names = {key: "\n".join(key) for key in ratios}
    return {key: _speedup(intervals[name], ratios[key], fixed) for key, name in names.items() if name in intervals}


def _baseline(rows: Sequence[ColdRow], requested_baseline: str | None) -> ColdRow | None:
    """Return a row of the cell that was asked for, else the first one, of those with figures."""
    measured = [row for row in rows if row.state == "ok" and row.ready_ms is not None]
    return next((row for row in measured if row.id == requested_baseline), next(iter(measured), None))


def _is_compared(row: ColdRow, baseline: ColdRow, allow_mixed: bool) -> bool:
    own, others = _precision(row), _precision(baseline)
    return row.state == "ok" and row.ready_ms is not None and (allow_mixed or own.is_comparable(others))


def _precision(row: ColdRow) -> RowPrecision:
    # a table of cold starts has one model, so that no other file can be named for a row
    return RowPrecision(row.requested.precision, "", str(row.effective.get("precision", row.requested.precision)))


def _marked(speedup: Speedup | None, row: ColdRow, baseline: ColdRow | None, table: ColdTable) -> Speedup | None:
    """Return a speedup, marked where it compares different precisions, or outputs that nothing was compared with."""
    if speedup is None or baseline is None:
        return speedup
    speedup = replace(speedup, verified=table.verified_against is not None)
    own, others = _precision(row).computed, _precision(baseline).computed
    if own == others:
        return speedup
    return replace(speedup, reason=OtherPrecision(precision=own, baseline_precision=others))


def _at(count: int) -> Looks:
    """Return the only look, at all launches there are; with too few there is none."""
    return Looks(max(count, FEWEST_LAUNCHES), max(count, FEWEST_LAUNCHES))


def _fixed(timing: Timing, count: int) -> Timing:
    looks = _at(count)
    return replace(timing, min_launches=looks.first, max_launches=looks.last)


def _by_round(row: ColdRow) -> Mapping[int, int]:
    return {launch.round: launch.ready_ns for launch in row.launches}


def _log_ratios(own: Mapping[int, int], baseline: Mapping[int, int]) -> list[float]:
    """Return ln(time of the baseline / own time) of each round that has both; above 0 answers sooner."""
    return [math.log(baseline[number] / own_ns) for number, own_ns in own.items() if number in baseline and own_ns > 0]


def _median_ms(launches: Sequence[ColdLaunch], phase: str) -> float | None:
    durations_ms = [launch.phases_ns[phase] / 1e6 for launch in launches if phase in launch.phases_ns]
    return median(durations_ms) if durations_ms else None


def _speedup(interval: Interval, ratios: Sequence[float], timing: Timing) -> Speedup:
    value = math.exp(interval.value)
    return Speedup(
        value=value,
        **interval.ends(math.exp),
        verdict=verdict(interval, timing),
        excludes_one=excludes_zero(interval),
        all_blocks_value=value,
        launches=interval.count,
        confidence=interval.confidence,
        table_confidence=None if interval.confidence is None else timing.confidence,
        direction_confidence=direction_confidence(ratios, timing),
    )
