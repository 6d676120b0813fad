"""Which working sets show the bandwidth of which level, from what the kernel tells of caches."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from irbench.diagnostics.facts import Cache
from irbench.roofline import MEMORY

_BEYOND_CACHES = 4
"""How many times the largest cache a working set is that comes from main memory."""
_LARGEST_CACHE_BYTES = 64 << 20
"""Assumed where the kernel does not list caches."""
_MOST_OF_MEMORY = 4
"""A working set takes at most this part of the memory that is available."""


@dataclass(frozen=True)
class MemoryLevel:
    """A level, and what so many threads go through to measure it.

    Attributes:
        name: ``L1d``, ``L2``, ``L3`` or ``memory``.
        threads: Threads, each on a core of its own.
        bytes_per_thread: What each goes through.
        capacity_bytes: What the caches of the level hold for all of them; ``None`` of main memory.
    """

    name: str
    threads: int
    bytes_per_thread: int
    capacity_bytes: int | None

    @property
    def working_set_bytes(self) -> int:
        """What all threads go through."""
        return self.threads * self.bytes_per_thread


def memory_levels(caches: Sequence[Cache], threads: int, cores: int, available_bytes: int) -> tuple[MemoryLevel, ...]:
    """Return every level, the smallest first.

    Half of a cache is left to all else. Threads that share a cache share its half. Main memory is measured with four
    times what all caches of the largest level hold together, as far as there is memory for that.

    Args:
        caches: Those for data, the smallest level first; empty where the kernel does not report them.
        threads: How many move data at the same time.
        cores: Physical cores of the machine, over which the caches of a level are spread.
        available_bytes: Memory that can be allocated.
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
