"""The figures of one row, each from the raw samples of the blocks that count."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from irbench.record import CellLaunch, LaunchRecord, Round
from irbench.result import LatencyMs, PhasesMs
from irbench.spec import Timing
from irbench.stats.estimators import median, percentile
from irbench.stats.observed import Observed, log_level
from irbench.stats.rounds import call_latency_ns

__all__ = [
    "frames_per_second",
    "latency_ms",
    "launch_levels",
    "launch_spread",
    "peak_memory_bytes",
    "phases_ms",
    "rounds_that_count",
    "sustained_fps",
    "tail_percentiles_ms",
]

_Rounds = Sequence[tuple[CellLaunch, Round]]


def rounds_that_count(
    records: Sequence[LaunchRecord], launches: Sequence[Observed], cell: str
) -> tuple[tuple[CellLaunch, Round], ...]:
    """Return a cell's rounds in the counted blocks of every launch, each with its launch."""
    return tuple(
        (one, round_)
        for record, observed in zip(records, launches, strict=True)
        for one in record.cells
        if one.cell == cell
        for round_ in one.rounds
        if round_.block in observed.counted
    )


def latency_ms(rounds: _Rounds, tails: Sequence[NDArray[np.int64]], timing: Timing) -> LatencyMs:
    """Return what is known of the latency of one batch, in milliseconds.

    Args:
        rounds: At least one, from :func:`rounds_that_count`.
        tails: Each launch's uninterrupted latencies in nanoseconds; empty arrays without ``--tail``.
        timing: Says how many uninterrupted calls are enough for a tail.
    """
    values_ms = np.concatenate([call_latency_ns(one, launch.calls_per_sample) for launch, one in rounds]) / 1e6
    calls = max(launch.calls_per_sample for launch, _ in rounds)
    p99 = tail_percentiles_ms(tails, 99, timing)
    p99_9 = tail_percentiles_ms(tails, 99.9, timing)
    return LatencyMs(
        p50=percentile(values_ms, 50),
        p90=percentile(values_ms, 90) if calls == 1 else None,
        p99=median(p99) if p99 else None,
        p99_9=median(p99_9) if p99_9 else None,
        min=float(values_ms.min()) if calls == 1 else None,
        mean=float(values_ms.mean()),
        count=int(values_ms.size),
        calls_per_sample=calls,
    )


def tail_percentiles_ms(tails: Sequence[NDArray[np.int64]], percent: float, timing: Timing) -> tuple[float, ...]:
    """Return each launch's percentile of uninterrupted calls in milliseconds; empty unless all took enough calls."""
    if not tails or any(tail.size < timing.tail_calls for tail in tails):
        return ()
    return tuple(percentile(tail, percent) / 1e6 for tail in tails)


def frames_per_second(rounds: _Rounds, batch: int) -> float:
    """Return batch x completed calls / wall time of the timed windows, for any number of streams."""
    calls = sum(one.completion_ns.size * launch.calls_per_sample for launch, one in rounds)
    wall_ns = sum(int(one.completion_ns.max()) for _, one in rounds)
    return batch * calls / (max(1, wall_ns) / 1e9)


def sustained_fps(records: Sequence[LaunchRecord], cell: str, batch: int) -> float | None:
    """Return the throughput of the cell's uninterrupted run, or ``None`` where there was none."""
    found = [one for record in records for one in record.sustained if one.cell == cell]
    return batch * found[-1].completions / (max(1, found[-1].wall_ns) / 1e9) if found else None


def launch_levels(launches: Sequence[Observed], cell: str) -> tuple[float, ...]:
    """Return a cell's log time of each launch that measured it, in ln(ns)."""
    levels = (log_level(one, cell) for one in launches)
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
    """Return how long a launch's phases took, in milliseconds; 0 for a phase that the backend does not have."""
    ms = {name: duration_ns / 1e6 for name, duration_ns in launch.phases_ns.items()}
    return PhasesMs(
        import_=ms.get("import", 0.0),
        load=ms.get("load", 0.0),
        compile=ms.get("compile", 0.0),
        first_inference=ms.get("first_inference", 0.0),
        warm_up=ms.get("warm_up", 0.0),
        ready=ms.get("ready", 0.0),
    )


def peak_memory_bytes(records: Sequence[LaunchRecord], cell: str) -> dict[str, int]:
    """Return the largest resident peak of each phase over all launches, in bytes."""
    peaks: dict[str, int] = {}
    for launch in (one for record in records for one in record.cells if one.cell == cell):
        for phase, peak in launch.peak_memory_bytes.items():
            peaks[phase] = max(peak, peaks.get(phase, 0))
    return peaks
