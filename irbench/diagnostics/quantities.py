"""Quantities of a machine in words."""

from __future__ import annotations

from collections.abc import Iterable

__all__ = ["binary_size", "cpu_list"]

_STEPS = ("B", "KiB", "MiB", "GiB")


def cpu_list(cpus: Iterable[int]) -> str:
    """Return processors as the kernel lists them: ``0-3,8``."""
    runs: list[tuple[int, int]] = []
    for cpu in sorted(set(cpus)):
        if runs and cpu == runs[-1][1] + 1:
            runs[-1] = (runs[-1][0], cpu)
        else:
            runs.append((cpu, cpu))
    return ",".join(str(low) if low == high else f"{low}-{high}" for low, high in runs)


def binary_size(count: int) -> str:
    """Return the size of a cache in its largest whole unit: ``48 KiB``, ``300 MiB``."""
    step = 0
    while step < len(_STEPS) - 1 and count >= 1024 and count % 1024 == 0:
        count //= 1024
        step += 1
    return f"{count} {_STEPS[step]}"
