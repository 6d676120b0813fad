"""Processors divided among processes that run side by side."""

from __future__ import annotations

from collections.abc import Sequence

from irbench.system.host import one_per_core, with_siblings


def cpu_shares(cpus: Sequence[int], count: int) -> tuple[tuple[int, ...], ...]:
    """Return disjoint shares of equally many physical cores; what is left over is in none of them.

    Hardware threads of a core stay together. Where there are fewer cores than shares, hardware threads are divided.
    Neighbours go into the same share: they often have a cache or memory in common.

    Args:
        cpus: Those to divide, at least ``count``.
        count: How many shares.

    Raises:
        ValueError: There are fewer processors than shares.
    """
    cores = [tuple(sorted(with_siblings((first,)) & set(cpus))) for first in one_per_core(cpus)]
    units = cores if len(cores) >= count else [(cpu,) for cpu in sorted(cpus)]
    if len(units) < count:
        raise ValueError(f"{len(units)} processors cannot be divided among {count}")
    size = len(units) // count
    parts = (units[place * size : (place + 1) * size] for place in range(count))
    return tuple(tuple(cpu for unit in part for cpu in unit) for part in parts)
