"""What others do to the machine while we measure: their processor time, the quota, the hypervisor."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from irbench.host import throttled_ns
from irbench.measure.clock import now_ns
from irbench.measure.evidence import schedstat_ns

__all__ = ["MachineSnapshot", "foreign_cpu_ns", "snapshot"]

_PROC = Path("/proc")


@dataclass(frozen=True)
class MachineSnapshot:
    """Running totals at one moment; times in nanoseconds.

    Attributes:
        at_ns: When it was taken.
        foreign: CPU time of each process outside our own tree, by process id.
        throttled_ns: Time our cgroup was held back.
        steal_ns: Time the hypervisor ran something else, over all processors.
    """

    at_ns: int
    foreign: Mapping[int, int]
    throttled_ns: int
    steal_ns: int


def snapshot() -> MachineSnapshot:
    """Look at every process that is neither this one nor descended from it."""
    parents = _parents()
    own = os.getpid()
    foreign: dict[int, int] = {}
    for process in parents:
        if _descends(process, own, parents):
            continue
        try:
            foreign[process] = schedstat_ns(_PROC / str(process))[0]
        except (OSError, IndexError, ValueError):
            continue  # it ended, or the kernel does not tell
    return MachineSnapshot(now_ns(), foreign, throttled_ns(), _steal_ns())


def foreign_cpu_ns(before: MachineSnapshot, after: MachineSnapshot) -> int:
    """Return the CPU time that foreign processes used between two snapshots; one that is new counts whole."""
    return sum(max(0, cpu_ns - before.foreign.get(process, 0)) for process, cpu_ns in after.foreign.items())


def _parents() -> dict[int, int]:
    parents: dict[int, int] = {}
    try:
        names = [name for name in os.listdir(_PROC) if name.isdigit()]  # noqa: PTH208 - names alone, many times a second
    except OSError:
        return {}
    for name in names:
        try:
            text = (_PROC / name / "stat").read_text()
        except OSError:
            continue
        # the command name stands in parentheses and may hold anything, parentheses included
        parents[int(name)] = int(text.rpartition(")")[2].split()[1])
    return parents


def _descends(process: int, ancestor: int, parents: Mapping[int, int]) -> bool:
    while process > 1:
        if process == ancestor:
            return True
        process = parents.get(process, 0)
    return False


def _steal_ns() -> int:
    try:
        fields = (_PROC / "stat").read_text().partition("\n")[0].split()
    except OSError:
        return 0
    return int(fields[8]) * (1_000_000_000 // os.sysconf("SC_CLK_TCK")) if len(fields) > 8 else 0
