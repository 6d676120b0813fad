"""Disturbances of a measurement, from the processes of the machine, the CPU quota and the hypervisor."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from irbench.measure.clock import now_ns, process_cpu_ns
from irbench.measure.kernel_evidence import schedstat_ns
from irbench.system.host import throttled_ns, with_siblings

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
    """Return every process by its id."""
    try:
        names = [int(name) for name in os.listdir(proc) if name.isdigit()]  # noqa: PTH208 - names alone, many times a second
    except OSError:
        return {}
    return read_some(names, proc)


def read_some(processes: Iterable[int], proc: Path) -> dict[int, Process]:
    """Return those of some processes that have not ended, by id."""
    alive: dict[int, Process] = {}
    for process in processes:
        try:
            fields = _stat_fields(proc / str(process))
            alive[process] = Process(int(fields[_PARENT]), _sum_cpu_ns(fields[_TIMES]), _sum_cpu_ns(fields[_CHILDREN]))
        except (OSError, IndexError, ValueError):
            continue  # it ended
    return alive


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


def _sum_cpu_ns(ticks: Iterable[str]) -> int:
    return sum(map(int, ticks)) * TICK_NS


def _descends(process: int, ancestor: int, processes: Mapping[int, Process]) -> bool:
    while process > 1:
        if process == ancestor:
            return True
        process = processes[process].parent if process in processes else 0
    return False


PROC = Path("/proc")
_IDLE, _IOWAIT, _STEAL = 4, 5, 8  # of a processor's line in /proc/stat


@dataclass(frozen=True)
class Idleness:
    """How long processors have run nothing, together and since boot.

    Attributes:
        idle_ns: Time they were idle, waiting for a disk or taken by the hypervisor, in nanoseconds, counted in ticks.
    """

    processors: int
    idle_ns: int


@dataclass(frozen=True)
class MachineSnapshot:
    """Running totals at one moment; times in nanoseconds.

    Attributes:
        foreign: CPU time of each process outside our own tree, by process id; or of each of its threads, by thread
            id, where only some processors are measured.
        throttled_ns: Time our cgroup was held back.
        steal_ns: Time the hypervisor ran something else, over the measured processors.
        near: Ids in ``foreign`` that last ran on a measured processor; ``None`` where all are measured.
        own_ns: CPU time of this process and all that descend from it, ended ones included.
        idleness: Of the measured processors; ``None`` where the kernel does not report it.
        members: Ids of this process and of all that descend from it.
    """

    at_ns: int
    foreign: Mapping[int, int]
    throttled_ns: int
    steal_ns: int
    near: frozenset[int] | None = None
    own_ns: int = 0
    idleness: Idleness | None = None
    members: frozenset[int] = frozenset()


@dataclass(frozen=True)
class Glance:
    """What a snapshot tells of our own tree and of the processors, without a look at every process.

    Attributes:
        at_ns: When it was taken, in nanoseconds.
        own_ns: CPU time of the processes of our own tree, their ended children included, in nanoseconds.
        idleness: Of the measured processors; ``None`` where the kernel does not report it.
    """

    at_ns: int
    own_ns: int
    idleness: Idleness | None


def glance(members: Iterable[int], cpus: Iterable[int] | None = None) -> Glance:
    """Look at our own processes and at what the measured processors did, in a fraction of a millisecond."""
    own_ns = tree_cpu_ns(members, read_some(members, PROC))
    lines = _processor_lines(_measured(cpus))
    return Glance(now_ns(), own_ns, _idleness(lines))


def foreign_cpu_of_turn_ns(before: Glance, after: Glance) -> int | None:
    """Return the CPU time that others used between two glances, in nanoseconds; ``None`` where it is unknown.

    Nothing is left out for rounding, as it is of a block: what is added up over many turns must not lean to one side.
    """
    return _busier_ns(before, after)


def snapshot(cpus: Iterable[int] | None = None) -> MachineSnapshot:
    """Look at every process, and at what the measured processors did.

    Args:
        cpus: The processors that are measured; ``None`` for all of the machine. What others do on the rest is left
            out, but for hardware threads that share a core with a measured one: those slow it down as well.
    """
    measured = _measured(cpus)
    held_back_ns = throttled_ns()
    processes = read_processes(PROC)
    own = tree(os.getpid(), processes)
    others = processes.keys() - own
    near = None
    if measured is None:
        foreign = by_process(others, PROC)
    else:
        foreign, near = by_thread(others, measured, PROC)
    # what is subtracted from each other is read last, right after each other
    own_ns = tree_cpu_ns(own, processes)
    lines = _processor_lines(measured)
    at_ns = now_ns()
    return MachineSnapshot(at_ns, foreign, held_back_ns, _sum_ns(lines, _STEAL), near, own_ns, _idleness(lines), own)


def foreign_cpu_ns(before: MachineSnapshot, after: MachineSnapshot) -> int:
    """Return the CPU time that others used between two snapshots, in nanoseconds.

    It is what the processes that both snapshots saw tell, or what is missing where the processors were busier than
    our own tree accounts for, whichever is more. The first is exact and blind to what begins and ends in between, the
    second sees all but counts in ticks.
    """
    unaccounted_ns = _unaccounted_ns(before, after)
    visible_ns = _visible_ns(before, after)
    return visible_ns if unaccounted_ns is None else max(visible_ns, unaccounted_ns)


def cpu_pressure() -> float | None:
    """Return the share of the last 10 s in which some task waited for a processor; ``None`` where it is unknown.

    Source: ``some avg10`` of ``/proc/pressure/cpu``, see the kernel's documentation of pressure stall information.
    """
    try:
        fields = dict(part.split("=") for part in (PROC / "pressure/cpu").read_text().split("\n")[0].split()[1:])
        return float(fields["avg10"]) / 100
    except (OSError, KeyError, ValueError):
        return None


def _visible_ns(before: MachineSnapshot, after: MachineSnapshot) -> int:
    """Return what the processes of the later snapshot used since the earlier one; what is new counts whole.

    Where only some processors are measured, a thread's time counts if either snapshot found it on one of them: a
    thread that visited one in between and left goes unseen, and one that moved counts in full.
    """
    near = None if before.near is None or after.near is None else before.near | after.near
    return sum(
        max(0, cpu_ns - before.foreign.get(thread, 0))
        for thread, cpu_ns in after.foreign.items()
        if near is None or thread in near
    )


def _unaccounted_ns(before: MachineSnapshot, after: MachineSnapshot) -> int | None:
    """Return how much busier the processors were than our own tree made them, less what may be rounding.

    ``None`` where the kernel does not report how busy they were.

    Time that is not idle is exact where time that is busy is sampled. A tick for each processor is left out: totals
    are cut off to whole ticks, and waking up an idle processor takes it time that no process is charged with.
    """
    busier_ns = _busier_ns(before, after)
    return None if busier_ns is None or after.idleness is None else busier_ns - after.idleness.processors * TICK_NS


def _busier_ns(before: MachineSnapshot | Glance, after: MachineSnapshot | Glance) -> int | None:
    """Return how much busier the processors were than our own tree made them; ``None`` where that is unknown."""
    first, last = before.idleness, after.idleness
    if first is None or last is None or first.processors != last.processors:
        return None
    busy_ns = last.processors * (after.at_ns - before.at_ns) - (last.idle_ns - first.idle_ns)
    return busy_ns - max(0, after.own_ns - before.own_ns)


def _measured(cpus: Iterable[int] | None) -> frozenset[int] | None:
    """Return the processors that are looked at, those that share a core included; ``None`` for all of the machine."""
    if cpus is None:
        return None
    machine, own = range(os.cpu_count() or 1), frozenset(cpus)
    measured = own if own.issuperset(machine) else with_siblings(own)  # which reads a file of each
    return None if measured.issuperset(machine) else measured


def _idleness(lines: Mapping[str, list[str]]) -> Idleness | None:
    idle_ns = sum(_sum_ns(lines, field) for field in (_IDLE, _IOWAIT, _STEAL))
    # some sandboxes write zeros where they know nothing
    return Idleness(len(lines), idle_ns) if idle_ns else None


def _sum_ns(lines: Mapping[str, list[str]], field: int) -> int:
    return TICK_NS * sum(int(fields[field]) for fields in lines.values() if len(fields) > field)


def _processor_lines(measured: frozenset[int] | None) -> dict[str, list[str]]:
    """Return the fields of ``/proc/stat`` of each measured processor that runs, of all for ``None``; by its name."""
    try:
        text = (PROC / "stat").read_text()
    except OSError:
        return {}
    lines = (line.split() for line in text.splitlines() if line.startswith("cpu"))
    by_name = {fields[0]: fields for fields in lines if fields[0] != "cpu"}
    return (
        by_name
        if measured is None
        else {name: by_name[name] for name in map("cpu{}".format, measured) if name in by_name}
    )
