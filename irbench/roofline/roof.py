"""The roof: how many operations per second a computation of some arithmetic intensity can attain at most."""

from __future__ import annotations

import math

from irbench.roofline.peaks import MEMORY, Bandwidth, MachinePeaks
from irbench.spec import Roof


def roof(
    intensity: float, peaks: MachinePeaks, precision: str, threads: int, working_set_bytes: int | None = None
) -> Roof | None:
    """Return the smaller of the peak of arithmetic and what the bandwidth of the data's level allows.

    Args:
        intensity: Operations per byte that is read or written, above 0; infinite where nothing is moved.
        peaks: Of the machine that computed.
        precision: What was computed in, as runtimes report it.
        threads: Threads of the process.
        working_set_bytes: All that is read and written again in each repetition: the smallest level that holds it
            decides the bandwidth. ``None`` for main memory.

    Returns:
        ``None`` where the peak of the precision or a bandwidth was not measured with so many threads, or without
        operations.
    """
    arithmetic = peaks.compute_peak(precision, threads)
    transfer = best_bandwidth(peaks, threads, working_set_bytes)
    if arithmetic is None or transfer is None or not intensity > 0:
        return None
    allowed = intensity * transfer.gb_per_s
    if allowed < arithmetic.gflop_per_s:
        return Roof(allowed, "bandwidth", transfer.level)
    return Roof(arithmetic.gflop_per_s, "compute", transfer.level)


def best_bandwidth(peaks: MachinePeaks, threads: int, working_set_bytes: int | None = None) -> Bandwidth | None:
    """Return the fastest access to the smallest level that holds a working set; ``None`` for main memory.

    Main memory holds everything. Where no bandwidth was measured with so many threads, there is none.
    """
    measured = [found for found in peaks.bandwidth if found.threads == threads]
    needed = math.inf if working_set_bytes is None else working_set_bytes
    holding = [found for found in measured if _capacity(found) >= needed]
    if not holding:
        return None
    least = min(map(_capacity, holding))
    return max((found for found in holding if _capacity(found) == least), key=lambda found: found.gb_per_s)


def ridge_point(peaks: MachinePeaks, precision: str, threads: int, level: str = MEMORY) -> float | None:
    """Return the arithmetic intensity from which on arithmetic is the limit, in operations per byte.

    ``None`` where the peak or the bandwidth was not measured with so many threads.
    """
    arithmetic = peaks.compute_peak(precision, threads)
    rates = [found.gb_per_s for found in peaks.bandwidth if (found.level, found.threads) == (level, threads)]
    return None if arithmetic is None or not rates else arithmetic.gflop_per_s / max(rates)


def _capacity(found: Bandwidth) -> float:
    return math.inf if found.capacity_bytes is None else found.capacity_bytes
