"""Disturbances during a measurement: processor time of other programs, the CPU quota, the hypervisor."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from irbench.measure.clock import now_ns
from irbench.measure.processes import TICK_NS, by_process, by_thread, read_processes, read_some, tree, tree_cpu_ns
from irbench.system.host import throttled_ns, with_siblings

PROC = Path("/proc")
_IDLE, _IOWAIT, _STEAL = 4, 5, 8  # of a processor's line in /proc/stat


@dataclass(frozen=True)
class Idleness:
    """How long processors have run nothing, together and since boot.

    Attributes:
        processors: How many they are.
        idle_ns: Time they were idle, waiting for a disk or taken by the hypervisor, in nanoseconds, counted in ticks.
    """

    processors: int
    idle_ns: int


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
    """Look at our own processes and at what the measured processors did, in a fraction of a millisecond.

    Args:
        members: Our own processes, from the last snapshot.
        cpus: The processors that are measured, as for :func:`snapshot`.
    """
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
    found = {fields[0]: fields for fields in lines if fields[0] != "cpu"}
    return found if measured is None else {name: found[name] for name in map("cpu{}".format, measured) if name in found}
