"""What others do to the machine while we measure: their processor time, the quota, the hypervisor."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from irbench.host import throttled_ns, with_siblings
from irbench.measure.clock import now_ns
from irbench.measure.evidence import schedstat_ns

__all__ = ["MachineSnapshot", "cpu_pressure", "foreign_cpu_ns", "snapshot"]

_PROC = Path("/proc")
_PARENT, _LAST_PROCESSOR = 1, 36  # fields 4 and 39 of proc(5), counted from the one after the name
_STEAL = 8  # of a processor's line in /proc/stat


@dataclass(frozen=True)
class MachineSnapshot:
    """Running totals at one moment; times in nanoseconds.

    Attributes:
        at_ns: When it was taken.
        foreign: CPU time of each process outside our own tree, by process id; or of each of its threads, by thread
            id, where only some processors are measured.
        throttled_ns: Time our cgroup was held back.
        steal_ns: Time the hypervisor ran something else, over the measured processors.
        near: Ids in ``foreign`` that last ran on a measured processor; ``None`` where all are measured.
    """

    at_ns: int
    foreign: Mapping[int, int]
    throttled_ns: int
    steal_ns: int
    near: frozenset[int] | None = None


def snapshot(cpus: Iterable[int] | None = None) -> MachineSnapshot:
    """Look at every process that is neither this one nor descended from it.

    Args:
        cpus: The processors that are measured; ``None`` for all of the machine. What others do on the rest is left
            out, but for hardware threads that share a core with a measured one: those slow it down as well.
    """
    parents = _parents()
    own = os.getpid()
    others = [process for process in parents if not _descends(process, own, parents)]
    measured = None if cpus is None else with_siblings(cpus)
    if measured is None or measured.issuperset(range(os.cpu_count() or 1)):
        return MachineSnapshot(now_ns(), _by_process(others), throttled_ns(), _steal_ns(None))
    foreign, near = _by_thread(others, measured)
    return MachineSnapshot(now_ns(), foreign, throttled_ns(), _steal_ns(measured), near)


def foreign_cpu_ns(before: MachineSnapshot, after: MachineSnapshot) -> int:
    """Return the CPU time that others used between two snapshots; what is new counts whole.

    Where only some processors are measured, a thread's time counts if either snapshot found it on one of them: a
    thread that visited one in between and left goes unseen, and one that moved counts in full.
    """
    near = None if before.near is None or after.near is None else before.near | after.near
    return sum(
        max(0, cpu_ns - before.foreign.get(one, 0))
        for one, cpu_ns in after.foreign.items()
        if near is None or one in near
    )


def cpu_pressure() -> float | None:
    """Return the share of the last 10 s in which some task waited for a processor; ``None`` where it is not told.

    Source: ``some avg10`` of ``/proc/pressure/cpu``, see the kernel's documentation of pressure stall information.
    """
    try:
        fields = dict(part.split("=") for part in (_PROC / "pressure/cpu").read_text().split("\n")[0].split()[1:])
        return float(fields["avg10"]) / 100
    except (OSError, KeyError, ValueError):
        return None


def _by_process(processes: Iterable[int]) -> dict[int, int]:
    foreign: dict[int, int] = {}
    for process in processes:
        try:
            foreign[process] = schedstat_ns(_PROC / str(process))[0]
        except (OSError, IndexError, ValueError):
            continue  # it ended, or the kernel does not tell
    return foreign


def _by_thread(processes: Iterable[int], measured: frozenset[int]) -> tuple[dict[int, int], frozenset[int]]:
    """Return the CPU time of each thread, and which of them last ran on a measured processor."""
    foreign: dict[int, int] = {}
    near: set[int] = set()
    for process in processes:
        for thread in _threads(process):
            number = int(thread.name)
            try:
                foreign[number] = int((thread / "schedstat").read_bytes().split()[0])
                if int(_stat_fields(thread)[_LAST_PROCESSOR]) in measured:
                    near.add(number)
            except (OSError, IndexError, ValueError):
                continue  # it ended, or the kernel does not tell; the others still count
    return foreign, frozenset(near)


def _threads(process: int) -> list[Path]:
    try:
        return list((_PROC / str(process) / "task").iterdir())
    except OSError:
        return []  # it ended


def _parents() -> dict[int, int]:
    parents: dict[int, int] = {}
    try:
        names = [name for name in os.listdir(_PROC) if name.isdigit()]  # noqa: PTH208 - names alone, many times a second
    except OSError:
        return {}
    for name in names:
        try:
            parents[int(name)] = int(_stat_fields(_PROC / name)[_PARENT])
        except OSError:
            continue
    return parents


def _stat_fields(folder: Path) -> list[str]:
    """Return the fields of a process's or thread's ``stat`` that follow its name, the third of proc(5) first.

    The name stands in parentheses and may hold anything, parentheses included.
    """
    return (folder / "stat").read_text(errors="replace").rpartition(")")[2].split()


def _descends(process: int, ancestor: int, parents: Mapping[int, int]) -> bool:
    while process > 1:
        if process == ancestor:
            return True
        process = parents.get(process, 0)
    return False


def _steal_ns(measured: frozenset[int] | None) -> int:
    """Return the stolen time of the measured processors, or of all together for ``None``."""
    try:
        lines = [line.split() for line in (_PROC / "stat").read_text().splitlines() if line.startswith("cpu")]
    except OSError:
        return 0
    wanted = {"cpu"} if measured is None else {f"cpu{number}" for number in measured}
    ticks = sum(int(fields[_STEAL]) for fields in lines if fields[0] in wanted and len(fields) > _STEAL)
    return ticks * (1_000_000_000 // os.sysconf("SC_CLK_TCK"))
