"""The figures of one row, each from the raw samples of the included blocks."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from irbench.core.record import CellLaunch, LaunchRecord, Round
from irbench.core.row import LatencyMs, PhasesMs, Spans
from irbench.notices.marks import AboveMaxLatency
from irbench.spec import Group, Timing
from irbench.stats.eligibility import Eligibility
from irbench.stats.intervals import interval_at, looks_of, median, percentile
from irbench.stats.observed import Observed, call_latency_ns, log_level

Rounds = Sequence[tuple[CellLaunch, Round]]
_BOUND_CONFIDENCE = 0.99
_SMALLEST = 1e-12
"""Keeps logarithms finite."""


def calls_to_bound(percent: float) -> int:
    """Return how many calls a percentile needs at least, so that one of them bounds it from above at 99 %.

    All n calls lie below the true percentile with probability p^n, so the largest of them lies above it with 99 % from
    n = ln(0.01) / ln(p) on: 44 calls for p90, 459 for p99, 4603 for p99.9. MLPerf's early stopping criterion is the
    same bound; see "MLPerf Inference Rules", appendix "Early Stopping Criterion".
    """
    return math.ceil(math.log(1 - _BOUND_CONFIDENCE) / math.log(percent / 100))


def rounds_that_count(
    records: Sequence[LaunchRecord],
    launches: Sequence[Observed],
    cell: str,
    *,
    beside: str | None = None,
    all_blocks: bool = False,
) -> tuple[tuple[CellLaunch, Round], ...]:
    """Return a cell's rounds in the counted blocks of every launch, each with its launch.

    With ``beside`` they are those that count for the comparison with that cell.
    """
    return tuple(
        (cell_launch, round_)
        for record, observed in zip(records, launches, strict=True)
        for cell_launch in record.cells
        if cell_launch.cell == cell and (all_blocks or not observed.leaves_out(cell, beside or cell))
        for round_ in cell_launch.rounds
        if round_.block in (observed.blocks if all_blocks else observed.counted)
    )


def span_over_launches(counted: Rounds, everything: Rounds, figure: Callable[[Rounds], float], timing: Timing) -> Spans:
    """Return the interval of a row's figure over its launches, and the figure over all blocks."""
    return positive_span([figure(rounds) for rounds in by_launch(counted)], timing, figure(everything))


def by_launch(rounds: Rounds) -> list[Rounds]:
    """Return the rounds of each launch."""
    of_launch: dict[int, list[tuple[CellLaunch, Round]]] = {}
    for round_ in rounds:
        of_launch.setdefault(id(round_[0]), []).append(round_)
    return list(of_launch.values())


def part_ns(rounds: Rounds, parts: int) -> NDArray[np.int64]:
    """Return when the parts of each call were complete after its begin, int64 of shape (calls, parts)."""
    return np.concatenate([round_.part_ns.reshape(-1, parts) for _, round_ in rounds])


def supports_p90(rounds: Rounds) -> bool:
    """Whether these rounds hold enough calls, one for each sample, to bound their p90."""
    samples = sum(round_.latency_ns.size for _, round_ in rounds)
    return samples >= calls_to_bound(90) and all(launch.calls_per_sample == 1 for launch, _ in rounds)


def positive_span(values: Sequence[float], timing: Timing, all_blocks_value: float | None = None) -> Spans:
    """Return the interval over launches of a figure that is above 0, made on its logarithm so that its ends are too."""
    return span_within(values, timing, lambda value: math.log(max(value, _SMALLEST)), math.exp, all_blocks_value)


def span_within(
    values: Sequence[float],
    timing: Timing,
    onto: Callable[[float], float],
    back: Callable[[float], float],
    all_blocks_value: float | None = None,
) -> Spans:
    """Return the interval over launches of a figure, made where ``onto`` puts its values; ``back`` is its inverse."""
    interval = interval_at([onto(value) for value in values], looks_of(timing), timing.confidence)
    return Spans(back(interval.value), all_blocks_value=all_blocks_value, **interval.ends(back))


def latency_ms(rounds: Rounds, tails: Sequence[NDArray[np.int64]], timing: Timing) -> LatencyMs:
    """Return what is known of the latency of one batch, in milliseconds.

    ``tails`` are the uninterrupted latencies of each launch, in nanoseconds: empty arrays without ``--tail``.
    """
    values_ms = _latencies_ms(rounds)
    calls = max(launch.calls_per_sample for launch, _ in rounds)
    p99 = tail_percentiles_ms(tails, 99, timing)
    pooled_ms = np.concatenate([np.empty(0), *tails]) / 1e6
    return LatencyMs(
        p50=percentile(values_ms, 50),
        p90=percentile(values_ms, 90) if supports_p90(rounds) else None,
        p99=median(p99) if p99 else None,
        p99_9=percentile(pooled_ms, 99.9) if p99 and pooled_ms.size >= calls_to_bound(99.9) else None,
        min=float(values_ms.min()) if calls == 1 else None,
        mean=float(values_ms.mean()),
        count=int(values_ms.size),
        calls_per_sample=calls,
    )


def percentile_ms(percent: float) -> Callable[[Rounds], float]:
    """Return the function that makes this percentile of all calls of some rounds, in milliseconds."""
    return lambda rounds: percentile(_latencies_ms(rounds), percent)


def _latencies_ms(rounds: Rounds) -> NDArray[np.float64]:
    return np.concatenate([call_latency_ns(round_, launch.calls_per_sample) for launch, round_ in rounds]) / 1e6


def tail_percentiles_ms(tails: Sequence[NDArray[np.int64]], percent: float, timing: Timing) -> tuple[float, ...]:
    """Return each launch's percentile of uninterrupted calls in milliseconds; empty unless all took enough calls."""
    enough = max(timing.tail_calls, calls_to_bound(percent))
    if not tails or any(tail.size < enough for tail in tails):
        return ()
    return tuple(percentile(tail, percent) / 1e6 for tail in tails)


def frames_per_second(rounds: Rounds, batch: int) -> float:
    """Return batch x completed calls / wall time of the timed windows, for any number of streams."""
    calls = sum(round_.completion_ns.size * launch.calls_per_sample for launch, round_ in rounds)
    wall_ns = sum(int(round_.completion_ns.max()) for _, round_ in rounds)
    return batch * calls / (max(1, wall_ns) / 1e9)


def frames_by_launch(
    records: Sequence[LaunchRecord], launches: Sequence[Observed], cell: str, batch: int, beside: str | None = None
) -> dict[int, float]:
    """Return a cell's throughput in each launch that counts, by the launch's number; calls for a batch of 1.

    With ``beside`` they are those that count for the comparison with that cell.
    """
    by_launch_number = _rounds_by_launch_number(records, launches, cell, beside)
    return {launch: frames_per_second(rounds, batch) for launch, rounds in by_launch_number.items()}


def p50_ms_by_launch(records: Sequence[LaunchRecord], launches: Sequence[Observed], cell: str) -> dict[int, float]:
    """Return the median latency of a cell's calls in each launch that measured it, by the launch's number."""
    p50_ms = percentile_ms(50)
    return {launch: p50_ms(rounds) for launch, rounds in _rounds_by_launch_number(records, launches, cell).items()}


def _rounds_by_launch_number(
    records: Sequence[LaunchRecord], launches: Sequence[Observed], cell: str, beside: str | None = None
) -> dict[int, Rounds]:
    pairs = zip(records, launches, strict=True)
    found = {record.launch: rounds_that_count([record], [seen], cell, beside=beside) for record, seen in pairs}
    return {launch: rounds for launch, rounds in found.items() if rounds}


def tails_ns(records: Sequence[LaunchRecord], cell: str) -> list[NDArray[np.int64]]:
    """Return the latencies of a cell's uninterrupted run in each launch, int64 ns; empty without ``--tail``."""
    return [measured.tail_ns for record in records for measured in record.cells if measured.cell == cell]


def sustained_by_launch(records: Sequence[LaunchRecord], cell: str, batch: int) -> dict[int, float]:
    """Return the throughput of the cell's uninterrupted run in each launch that had one, by the launch's number."""
    return {
        record.launch: batch * sustained.completions / (max(1, sustained.wall_ns) / 1e9)
        for record in records
        for sustained in record.sustained
        if sustained.cell == cell
    }


def new_shape_by_launch(records: Sequence[LaunchRecord], cell: str) -> dict[int, float]:
    """Return what the first call of a shape took in a session that had met others, in ms, by the launch's number."""
    return {
        record.launch: measured.phases_ns["new_shape"] / 1e6
        for record in records
        for measured in record.cells
        if measured.cell == cell and "new_shape" in measured.phases_ns
    }


def launch_levels(launches: Sequence[Observed], cell: str) -> tuple[float, ...]:
    """Return a cell's log time of each launch that measured it, in ln(ns)."""
    levels = (log_level(launch, cell) for launch in launches)
    return tuple(level for level in levels if level is not None)


def launch_spread(levels: Sequence[float]) -> float | None:
    """Return half the range of the launches' times relative to their median; ``None`` with one launch.

    The range rather than a standard deviation: of six launches a single slow one must show.
    """
    if len(levels) < 2:
        return None
    middle = median(levels)
    return (math.exp(max(levels) - middle) - math.exp(min(levels) - middle)) / 2


def phases_ms(launch: CellLaunch) -> PhasesMs:
    """Return how long a launch's phases took, in milliseconds; ``None`` for a phase that was not timed."""
    ms = {name: duration_ns / 1e6 for name, duration_ns in launch.phases_ns.items()}
    return PhasesMs(
        import_=ms.get("import"),
        load=ms.get("load"),
        compile=ms.get("compile"),
        first_inference=ms.get("first_inference"),
        warm_up=ms.get("warm_up"),
        ready=ms.get("ready"),
    )


def peak_memory_bytes(records: Sequence[LaunchRecord], cell: str) -> dict[str, int]:
    """Return the largest resident peak of each phase over all launches, in bytes."""
    return _largest([launch.peak_memory_bytes for launch in _launches_of(records, cell)])


def private_memory_bytes(records: Sequence[LaunchRecord], cell: str) -> dict[str, int] | None:
    """Return the private memory at the end of each phase, in bytes; ``None`` where unknown.

    All are of one launch, that with the most memory at its end, so that what a phase added is the difference of two.
    """
    known = [launch.private_memory_bytes for launch in _launches_of(records, cell) if launch.private_memory_bytes]
    most: Mapping[str, int] = max(known, key=lambda phases: phases.get("run", 0), default={})
    return dict(most) or None


def _launches_of(records: Sequence[LaunchRecord], cell: str) -> Iterator[CellLaunch]:
    return (measured for record in records for measured in record.cells if measured.cell == cell)


def _largest(by_phase: Sequence[Mapping[str, int]]) -> dict[str, int]:
    largest: dict[str, int] = {}
    for sizes in by_phase:
        for phase, size in sizes.items():
            largest[phase] = max(size, largest.get(phase, 0))
    return largest


def within_max_latency(
    eligibility: Eligibility, group: Group, records: Sequence[LaunchRecord], launches: Sequence[Observed]
) -> Eligibility:
    """Return the eligibility with the cells whose p90 latency is above what the group's goal allows.

    It is the table's: the median over launches, over the blocks that count. Where a launch has too few calls to bound
    it, a cell is above only if its median latency is.
    """
    goal = group.goal
    if goal is None or goal.max_latency_ms is None:
        return eligibility
    rounds = {cell: rounds_that_count(records, launches, cell) for cell in eligibility.healthy}
    latencies_ms = {cell: _latency_ms(own) for cell, own in rounds.items() if own}
    late = {cell: ms for cell, ms in latencies_ms.items() if ms > goal.max_latency_ms}
    marks = {cell: AboveMaxLatency(p90_ms=ms, level=goal.level) for cell, ms in late.items()}
    return replace(eligibility, too_slow=marks)


def _latency_ms(rounds: Rounds) -> float:
    launches = by_launch(rounds)
    percent = 90 if all(map(supports_p90, launches)) else 50
    return median([percentile_ms(percent)(own) for own in launches])
