"""The processes of the machine: which are irbench's own, and the processor time of each."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from irbench.measure.clock import process_cpu_ns
from irbench.measure.evidence import schedstat_ns

TICK_NS = 1_000_000_000 // os.sysconf("SC_CLK_TCK")
"""The unit in which ``/proc`` counts processor time."""

# fields 4, 14 to 17 and 39 of proc(5), counted from the one after the name
_PARENT, _TIMES, _CHILDREN, _LAST_PROCESSOR = 1, slice(11, 13), slice(13, 15), 36


@dataclass(frozen=True)
class Process:
    """What ``/proc`` tells of one process; times in nanoseconds, counted in ticks.

    Attributes:
        parent: Process id of what started it, or adopted it since.
        cpu_ns: CPU time of all its threads, ended ones included.
        children_cpu_ns: CPU time of its children that have ended and been waited for, and of theirs.
    """

    parent: int
    cpu_ns: int
    children_cpu_ns: int


def read_processes(proc: Path) -> dict[int, Process]:
    """Return every process by its id.

    Args:
        proc: The folder ``/proc``.
    """
    try:
        names = [int(name) for name in os.listdir(proc) if name.isdigit()]  # noqa: PTH208 - names alone, many times a second
    except OSError:
        return {}
    return read_some(names, proc)


def read_some(processes: Iterable[int], proc: Path) -> dict[int, Process]:
    """Return those of some processes that have not ended, by id.

    Args:
        processes: Their ids.
        proc: The folder ``/proc``.
    """
    found: dict[int, Process] = {}
    for process in processes:
        try:
            fields = _stat_fields(proc / str(process))
            found[process] = Process(int(fields[_PARENT]), _sum_ns(fields[_TIMES]), _sum_ns(fields[_CHILDREN]))
        except (OSError, IndexError, ValueError):
            continue  # it ended
    return found


def tree(root: int, processes: Mapping[int, Process]) -> frozenset[int]:
    """Return a process and all that descend from it."""
    return frozenset(process for process in processes if _descends(process, root, processes))


def tree_cpu_ns(members: Iterable[int], processes: Mapping[int, Process]) -> int:
    """Return the CPU time of some processes and of the children that each has waited for, in nanoseconds.

    A thread or a child that ends takes nothing away from it: its time has become the process's or the parent's.
    """
    total_ns = 0
    for member in members:
        try:
            total_ns += process_cpu_ns(member)
        except OSError:
            if member in processes:
                total_ns += processes[member].cpu_ns  # it ended since, or the kernel keeps no such clock
        if member in processes:
            total_ns += processes[member].children_cpu_ns
    return total_ns


def by_process(members: Iterable[int], proc: Path) -> dict[int, int]:
    """Return the CPU time of each process in nanoseconds."""
    used_ns: dict[int, int] = {}
    for member in members:
        try:
            used_ns[member] = process_cpu_ns(member)
        except OSError:
            try:
                used_ns[member] = schedstat_ns(proc / str(member))[0]
            except (OSError, IndexError, ValueError):
                continue  # it ended, or the kernel does not report its times
    return used_ns


def by_thread(members: Iterable[int], processors: Collection[int], proc: Path) -> tuple[dict[int, int], frozenset[int]]:
    """Return the CPU time of each thread in nanoseconds, and which of them last ran on one of ``processors``."""
    used_ns: dict[int, int] = {}
    near: set[int] = set()
    for process in members:
        for thread in _threads(proc / str(process)):
            number = int(thread.name)
            try:
                used_ns[number] = int((thread / "schedstat").read_bytes().split()[0])
                if int(_stat_fields(thread)[_LAST_PROCESSOR]) in processors:
                    near.add(number)
            except (OSError, IndexError, ValueError):
                continue  # it ended, or the kernel does not report its times; the others still count
    return used_ns, frozenset(near)


def _threads(process: Path) -> list[Path]:
    try:
        return list((process / "task").iterdir())
    except OSError:
        return []  # it ended


def _stat_fields(folder: Path) -> list[str]:
    """Return the fields of a process's or thread's ``stat`` that follow its name, the third of proc(5) first.

    The name stands in parentheses and may hold anything, parentheses included.
    """
    return (folder / "stat").read_text(errors="replace").rpartition(")")[2].split()


def _sum_ns(ticks: Iterable[str]) -> int:
    return sum(map(int, ticks)) * TICK_NS


def _descends(process: int, ancestor: int, processes: Mapping[int, Process]) -> bool:
    while process > 1:
        if process == ancestor:
            return True
        process = processes[process].parent if process in processes else 0
    return False
