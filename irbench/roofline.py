"""What a machine can attain at most, and how close a computation comes: peaks, rooflines, shares.

The model is that of Williams, Waterman and Patterson, "Roofline: An Insightful Visual Performance Model for Multicore
Architectures", Communications of the ACM 52 (2009).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from irbench.measure.bandwidth import Access, MemoryTimes
from irbench.spec import Roof

MEMORY = "memory"
"""The name of main memory among the levels."""


@dataclass(frozen=True)
class ComputePeak:
    """The fastest matrix products of one precision with so many threads. Rates are in 10^9 operations per second.

    Attributes:
        precision: What the runtime computed in.
        threads: Threads of the process.
        gflop_per_s: The median over launches; a multiply-accumulate counts as two operations, of integers too.
        low: Lower end of the interval over launches.
        high: Upper end.
        backend: Whose products they were.
        side: Rows and columns of the matrices.
        launches: How many the interval is made of.
        confidence: Of the interval; ``None`` where there were too few launches, and the ends are those of the range.
    """

    precision: str
    threads: int
    gflop_per_s: float
    low: float
    high: float
    backend: str
    side: int
    launches: int
    confidence: float | None = None


@dataclass(frozen=True)
class Bandwidth:
    """How fast so many threads move data of one level. Rates are in 10^9 bytes per second.

    Attributes:
        level: ``L1d``, ``L2``, ``L3`` or ``memory``.
        threads: Threads, each on a core of its own.
        access: What they did.
        gb_per_s: The median over launches, of all threads together.
        low: Lower end of the interval over launches.
        high: Upper end.
        working_set_bytes: What all threads together went through again and again.
        capacity_bytes: What the caches of the level hold for these threads; ``None`` of main memory.
        confidence: Of the interval; ``None`` where there were too few launches.
    """

    level: str
    threads: int
    access: Access
    gb_per_s: float
    low: float
    high: float
    working_set_bytes: int
    capacity_bytes: int | None = None
    confidence: float | None = None


@dataclass(frozen=True)
class BandwidthSamples:
    """The raw times that one :class:`Bandwidth` is derived from.

    Attributes:
        level: As there.
        threads: As there.
        access: As there.
        launches: The times of each launch: one for each thread.
    """

    level: str
    threads: int
    access: Access
    launches: tuple[tuple[MemoryTimes, ...], ...]


@dataclass(frozen=True)
class MachinePeaks:
    """All peaks of a machine.

    Attributes:
        machine: Its fingerprint, as runs have it.
        measured: When, ISO 8601, UTC.
        command: What measures it again.
        irbench_version: Of the program that measured.
        run_id: The stored run that holds the samples of ``compute``; ``None`` where there are none.
        compute: One for each precision and number of threads that some backend computed right answers with.
        bandwidth: One for each level, number of threads and access.
        samples: The raw times of ``bandwidth``.
        disturbed_share: Share of the blocks of ``compute`` that other programs disturbed, as a fraction; ``None``
            without blocks.
        versions: Of the runtime of each backend whose products were measured, by the backend's name.
    """

    machine: str
    measured: str
    command: str
    irbench_version: str
    run_id: str | None
    compute: tuple[ComputePeak, ...]
    bandwidth: tuple[Bandwidth, ...]
    samples: tuple[BandwidthSamples, ...] = ()
    disturbed_share: float | None = None
    versions: Mapping[str, str] = field(default_factory=dict[str, str])

    @property
    def threads(self) -> tuple[int, ...]:
        """The numbers of threads that anything was measured with, ascending."""
        return tuple(sorted({peak.threads for peak in self.compute} | {rate.threads for rate in self.bandwidth}))

    @property
    def precisions(self) -> tuple[str, ...]:
        """The precisions that there is a peak of, in the order in which they were measured."""
        return tuple(dict.fromkeys(peak.precision for peak in self.compute))

    @property
    def levels(self) -> tuple[str, ...]:
        """The levels that were measured, the smallest first."""
        return tuple(dict.fromkeys(rate.level for rate in self.bandwidth))

    def compute_peak(self, precision: str, threads: int) -> ComputePeak | None:
        """Return the peak of a precision with so many threads; ``None`` where it was not measured."""
        fitting = (peak for peak in self.compute if (peak.precision, peak.threads) == (precision, threads))
        return next(fitting, None)

    def bandwidth_of(self, level: str, threads: int, access: Access) -> Bandwidth | None:
        """Return one bandwidth; ``None`` where it was not measured."""
        matches = (
            rate for rate in self.bandwidth if (rate.level, rate.threads, rate.access) == (level, threads, access)
        )
        return next(matches, None)


MOST_DISTURBED = 0.5
"""Share of the blocks of matrix products: below, those that count are undisturbed."""
_LEAST_SHARED = 0.9
"""What several threads attain of a level that they share, main memory for example, of what one thread does: one may
take all of its bandwidth."""


def slower_together(peaks: MachinePeaks) -> Iterator[ComputePeak | Bandwidth]:
    """Yield what several threads attain less of than one does, which only other programs bring about."""
    for peak in peaks.compute:
        alone = peaks.compute_peak(peak.precision, 1)
        if alone is not None and peak.gflop_per_s < alone.gflop_per_s:
            yield peak
    for rate in peaks.bandwidth:
        single = peaks.bandwidth_of(rate.level, 1, rate.access)
        if single is None or rate.threads == 1:
            continue
        least = 1.0 if _capacity(rate) > _capacity(single) else _LEAST_SHARED
        if rate.gb_per_s < least * single.gb_per_s:
            yield rate


def are_sound(peaks: MachinePeaks) -> bool:
    """Whether peaks are those of the machine, and not of what other programs left of it."""
    return (peaks.disturbed_share or 0) <= MOST_DISTURBED and not any(slower_together(peaks))


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
    measured = [rate for rate in peaks.bandwidth if rate.threads == threads]
    needed = math.inf if working_set_bytes is None else working_set_bytes
    holding = [rate for rate in measured if _capacity(rate) >= needed]
    if not holding:
        return None
    least = min(map(_capacity, holding))
    return max((rate for rate in holding if _capacity(rate) == least), key=lambda rate: rate.gb_per_s)


def ridge_point(peaks: MachinePeaks, precision: str, threads: int, level: str = MEMORY) -> float | None:
    """Return the arithmetic intensity from which on arithmetic is the limit, in operations per byte.

    ``None`` where the peak or the bandwidth was not measured with so many threads.
    """
    arithmetic = peaks.compute_peak(precision, threads)
    rates = [rate.gb_per_s for rate in peaks.bandwidth if (rate.level, rate.threads) == (level, threads)]
    return None if arithmetic is None or not rates else arithmetic.gflop_per_s / max(rates)


def _capacity(rate: Bandwidth) -> float:
    return math.inf if rate.capacity_bytes is None else rate.capacity_bytes
