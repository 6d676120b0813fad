"""Rules about the machine: clocks, hardware threads, memory, and what the kernel allows."""

from __future__ import annotations

from collections.abc import Iterator

from irbench.diagnostics.facts import Facts
from irbench.diagnostics.finding import Finding

_LITTLE_MEMORY_BYTES = 4_000_000_000
_MUCH_SWAP_BYTES = 100_000_000
_SLOW_CLOCK_NS = 250.0


def governor(facts: Facts) -> Iterator[Finding]:
    """Yield a frequency governor that lowers the clock of idle processors."""
    slow = [governor_ for governor_ in facts.machine.governors if governor_ != "performance"]
    if slow:
        yield Finding("governor", {"governors": slow})


def turbo(facts: Facts) -> Iterator[Finding]:
    """Yield a clock that rises as long as heat allows."""
    machine = facts.machine
    if machine.turbo and machine.turbo_file is not None:
        yield Finding("turbo", {"file": machine.turbo_file})


def siblings(facts: Facts) -> Iterator[Finding]:
    """Yield hardware threads that share a core with another of ours, or with one that is not."""
    machine = facts.machine
    if machine.foreign_siblings:
        cpus = {"cpus": list(machine.cpus), "foreign_siblings": list(machine.foreign_siblings)}
        yield Finding("shared-cores", {**cpus, "container": machine.container})
    elif len(machine.cpus) > len(machine.cpu_per_core):
        yield Finding("smt", {"cpus": list(machine.cpus), "cpu_per_core": list(machine.cpu_per_core)})


def virtual(facts: Facts) -> Iterator[Finding]:
    """Yield a virtual machine, whose host decides over what cannot be seen inside."""
    machine = facts.machine
    if machine.hypervisor is None:
        return
    hidden = [] if machine.governors else ["governor"]
    hidden += [] if machine.turbo is not None else ["turbo"]
    name = None if machine.hypervisor == "unknown" else machine.hypervisor
    yield Finding("virtual-machine", {"hypervisor": name, "hidden": hidden}, lasting=True)


def freezing(facts: Facts) -> Iterator[Finding]:
    """Yield idle workers that cannot be stopped."""
    if not facts.machine.freezes:
        yield Finding("not-freezing")


def schedstat(facts: Facts) -> Iterator[Finding]:
    """Yield a kernel that does not account for waiting and for other processes."""
    if not facts.machine.schedstat:
        yield Finding("no-schedstat")


def memory(facts: Facts) -> Iterator[Finding]:
    """Yield memory that may not suffice for several runtimes side by side."""
    available_bytes = facts.machine.available_memory_bytes
    if available_bytes < _LITTLE_MEMORY_BYTES:
        yield Finding("little-memory", {"available_bytes": available_bytes})


def swap(facts: Facts) -> Iterator[Finding]:
    """Yield memory that lies on a disk."""
    used_bytes = facts.machine.swap_used_bytes
    if used_bytes > _MUCH_SWAP_BYTES:
        yield Finding("swap", {"used_bytes": used_bytes})


def clock(facts: Facts) -> Iterator[Finding]:
    """Yield a clock that is slow to read, or that moves in large steps."""
    if facts.clock_ns > _SLOW_CLOCK_NS:
        yield Finding("slow-clock", {"source": facts.machine.clock_source, "reading_ns": facts.clock_ns})


def affinity(facts: Facts) -> Iterator[Finding]:
    """Yield processors of the machine that may not be used."""
    machine = facts.machine
    if set(machine.processors) - set(machine.cpus):
        cpus = {"cpus": list(machine.cpus), "processors": list(machine.processors)}
        yield Finding("affinity", {**cpus, "container": machine.container})


def counters(facts: Facts) -> Iterator[Finding]:
    """Yield groups of counters that would be available if something were done on the machine.

    What the machine does not have is described, and no finding: most virtual machines have no hardware counters.
    """
    found = facts.counters
    if found is None or not found.fixable:
        return
    reasons = {name: {"code": reason.code, "facts": dict(reason.facts)} for name, reason in found.fixable.items()}
    details = {"version": found.version, "available": list(found.available), "unavailable": reasons}
    yield Finding("counters-missing", details)
