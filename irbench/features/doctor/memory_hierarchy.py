"""Measure the bandwidth of every level of the memory hierarchy, with one core and with several."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from irbench.features.doctor.machine import Cache, Machine
from irbench.measure.bandwidth import ACCESSES, ONE_THREAD, Access, MemoryTimes, begins_soon, shared_window
from irbench.roofline import MEMORY, Bandwidth, BandwidthSamples
from irbench.stats.intervals import FEWEST_LAUNCHES, Looks, interval_at
from irbench.worker import Worker

_BEYOND_CACHES = 4
"""How many times the largest cache a working set is that comes from main memory."""
_LARGEST_CACHE_BYTES = 64 << 20
"""Assumed where the kernel does not list caches."""
_MOST_OF_MEMORY = 4
"""A working set takes at most this part of the memory that is available."""
_CONFIDENCE = 0.95
_DEADLINE_S = 300.0


@dataclass(frozen=True)
class MemoryLevel:
    """A level, ``L1d`` or ``memory`` for example, and what so many threads go through to measure it.

    Attributes:
        threads: Threads, each on a core of its own.
        capacity_bytes: What the caches of the level hold for all of them; ``None`` of main memory.
    """

    name: str
    threads: int
    bytes_per_thread: int
    capacity_bytes: int | None


def memory_levels(caches: Sequence[Cache], threads: int, cores: int, available_bytes: int) -> tuple[MemoryLevel, ...]:
    """Return every level, the smallest first.

    Half of a cache is left to all else. Threads that share a cache share its half. Main memory is measured with four
    times what all caches of the largest level hold together, as far as there is memory for that. ``cores`` are the
    physical cores of the machine, over which the caches of a level are spread.
    """
    levels = [_cached(cache, threads, cores) for cache in caches]
    beyond = _BEYOND_CACHES * max((cache.size_bytes * cache.count for cache in caches), default=_LARGEST_CACHE_BYTES)
    total = min(beyond, available_bytes // _MOST_OF_MEMORY)
    return (*levels, MemoryLevel(MEMORY, threads, total // threads, None))


def _cached(cache: Cache, threads: int, cores: int) -> MemoryLevel:
    sharing = max(1, cores // cache.count)
    used = -(-threads // sharing)
    capacity = cache.size_bytes * used
    return MemoryLevel(cache.name, threads, capacity // 2 // threads, capacity)


@dataclass(frozen=True)
class BandwidthPlan:
    """What is measured.

    Attributes:
        cpus: Processors, one on each physical core; the first one alone, then all together.
        levels: Those of one thread, and those of all where there are several.
        launches: How many times fresh processes measure everything.
        window_ns: How long each access to each level is timed in each launch, or longer where batches take longer.
    """

    cpus: tuple[int, ...]
    levels: tuple[MemoryLevel, ...]
    launches: int = FEWEST_LAUNCHES
    window_ns: int = 60_000_000


def bandwidth_plan(machine: Machine, cpus: Sequence[int]) -> BandwidthPlan:
    """Return what is measured on a machine, on processors of which each is on a core of its own."""
    cores = (machine.sockets or 1) * (machine.cores_per_socket or len(machine.cpu_per_core))
    levels = [
        level
        for threads in dict.fromkeys((1, len(cpus)))
        for level in memory_levels(machine.caches, threads, cores, machine.available_memory_bytes)
    ]
    return BandwidthPlan(tuple(cpus), tuple(levels))


def measure_bandwidth(
    plan: BandwidthPlan, scratch: Path, say: Callable[[int], None], start: Callable[..., Worker] | None = None
) -> tuple[BandwidthSamples, ...]:
    """Return the raw times of every access to every level, in the order of the plan.

    ``say`` receives the number of each launch, counted from 1, before it begins.
    """
    make = start or Worker
    samples: dict[tuple[MemoryLevel, Access], list[tuple[MemoryTimes, ...]]] = {
        (level, access): [] for level in plan.levels for access in ACCESSES
    }
    for launch in range(plan.launches):
        say(launch + 1)
        with ExitStack() as stack:
            workers = [
                stack.enter_context(make(scratch / f"bandwidth-{place}", cpus=(cpu,), environment=ONE_THREAD))
                for place, cpu in enumerate(plan.cpus)
            ]
            _hold_probes(workers, plan)
            for (level, access), launches in samples.items():
                launches.append(_times(workers[: level.threads], level, access, plan.window_ns))
    return tuple(
        BandwidthSamples(level.name, level.threads, access, tuple(launches))
        for (level, access), launches in samples.items()
    )


def bandwidth_from(samples: Sequence[BandwidthSamples], levels: Sequence[MemoryLevel]) -> tuple[Bandwidth, ...]:
    """Return the bandwidths with their intervals over launches; what was too fast to time is left out."""
    of_level = {(level.name, level.threads): level for level in levels}
    bandwidths = (_bandwidth(each, of_level[each.level, each.threads]) for each in samples)
    return tuple(bandwidth for bandwidth in bandwidths if bandwidth is not None)


def _hold_probes(workers: Sequence[Worker], plan: BandwidthPlan) -> None:
    """Have every worker allocate as much as it will need, the first one for the time when it works alone."""
    for place, worker in enumerate(workers):
        most = max(level.bytes_per_thread for level in plan.levels if level.threads > place)
        worker.send("irbench.measure.bandwidth:MemoryProbe", most, deadline_s=_DEADLINE_S, hold=True)
    for worker in workers:
        worker.receive(deadline_s=_DEADLINE_S)


def _times(workers: Sequence[Worker], level: MemoryLevel, access: Access, window_ns: int) -> tuple[MemoryTimes, ...]:
    """Have all prepare, which takes the longer the larger the working set is, and then begin together."""
    batches_ns: list[int] = _answers(workers, "prepare", access, level.bytes_per_thread, window_ns)
    times: list[MemoryTimes] = _answers(workers, "measure", begins_soon(), shared_window(window_ns, batches_ns))
    return tuple(times)


def _answers(workers: Sequence[Worker], method: str, *args: Any) -> list[Any]:
    for worker in workers:
        worker.send(method, *args, deadline_s=_DEADLINE_S)
    return [worker.receive(deadline_s=_DEADLINE_S) for worker in workers]


def _bandwidth(samples: BandwidthSamples, level: MemoryLevel) -> Bandwidth | None:
    known = [math.log(rate) for launch in samples.launches if (rate := _rate(launch)) is not None]
    if not known or len(known) < len(samples.launches):
        return None
    interval = interval_at(known, Looks(FEWEST_LAUNCHES, FEWEST_LAUNCHES), _CONFIDENCE)
    rate, low, high = map(math.exp, (interval.value, interval.low, interval.high))
    sizes = (level.threads * level.bytes_per_thread, level.capacity_bytes)
    return Bandwidth(level.name, level.threads, samples.access, rate, low, high, *sizes, interval.confidence)


def _rate(launch: Sequence[MemoryTimes]) -> float | None:
    """Return the rate of all threads together, in bytes per nanosecond; ``None`` where one was too fast to time."""
    if len(launch) == 1:
        return launch[0].fastest_bytes_per_ns
    rates = [times.median_bytes_per_ns for times in launch]
    known = [rate for rate in rates if rate is not None]
    return sum(known) if len(known) == len(rates) else None
