"""Rules about the machine itself: clocks, hardware threads, memory, and what the kernel lets us do and see."""

from __future__ import annotations

from collections.abc import Iterator

from irbench.diagnostics.facts import Facts
from irbench.diagnostics.finding import Finding
from irbench.diagnostics.grants import grant_cpus, where
from irbench.diagnostics.quantities import cpu_list
from irbench.phrases import listing, plural
from irbench.render.figures import gigabytes

__all__ = [
    "affinity",
    "clock",
    "freezing",
    "governor",
    "memory",
    "schedstat",
    "siblings",
    "swap",
    "turbo",
    "virtual",
]

_LITTLE_MEMORY_BYTES = 4_000_000_000
_MUCH_SWAP_BYTES = 100_000_000
_SLOW_CLOCK_NS = 250.0
_GOOD_CLOCKS = ("tsc", "kvm-clock", "hyperv_clocksource_tsc_page", "arch_sys_counter", "timebase")
"""Clock sources that are read without entering the kernel."""


def governor(facts: Facts) -> Iterator[Finding]:
    """Yield a frequency governor that lowers the clock of idle processors."""
    slow = [governor_ for governor_ in facts.machine.governors if governor_ != "performance"]
    if slow:
        yield Finding(
            "governor",
            f"The frequency governor is {listing(slow)}.",
            "The clock rises only after work has begun: short calls, and the first of each round, run at a lower one.",
            "Keep it at full speed while you measure:",
            "echo performance | sudo tee /sys/devices/system/cpu/cpu*/cpufreq/scaling_governor",
        )


def turbo(facts: Facts) -> Iterator[Finding]:
    """Yield a clock that rises as long as heat allows."""
    machine = facts.machine
    if machine.turbo and machine.turbo_file is not None:
        off = 1 if machine.turbo_file.endswith("no_turbo") else 0
        yield Finding(
            "turbo",
            "Turbo is on.",
            "The clock depends on heat and on how many cores are busy: a cell's speed depends on what ran before it.",
            "Turn it off while you measure; figures are lower then, and comparisons steadier:",
            f"echo {off} | sudo tee {machine.turbo_file}",
        )


def siblings(facts: Facts) -> Iterator[Finding]:
    """Yield hardware threads that share a core with another of ours, or with one that is not."""
    machine = facts.machine
    if machine.foreign_siblings:
        yield Finding(
            "shared-cores",
            f"Hardware threads of our cores are not ours: {cpu_list(machine.foreign_siblings)}.",
            "Whoever runs there takes up to half of a core's speed.",
            f"Use whole cores: give this process both hardware threads of each{where(machine.container)}.",
            grant_cpus(machine.container, (*machine.cpus, *machine.foreign_siblings)),
        )
    elif len(machine.cpus) > len(machine.cpu_per_core):
        yield Finding(
            "smt",
            f"{plural(len(machine.cpus), 'processor')} share {plural(len(machine.cpu_per_core), 'core')} (SMT).",
            "The kernel may put two threads of a runtime on one core, where each is slower by up to a half.",
            "Keep to one hardware thread of each core:",
            f"irbench run --cpus {cpu_list(machine.cpu_per_core)}",
        )


def virtual(facts: Facts) -> Iterator[Finding]:
    """Yield a virtual machine, whose host decides over what cannot be seen inside."""
    machine = facts.machine
    if machine.hypervisor is None:
        return
    hidden = [] if machine.governors else ["the frequency governor"]
    hidden += [] if machine.turbo is not None else ["turbo"]
    by = "" if machine.hypervisor == "unknown" else f" ({machine.hypervisor})"
    yield Finding(
        "virtual-machine",
        f"This is a virtual machine{by}; it is not told about {listing([*hidden, 'its neighbours'])}.",
        "Other machines on the same host change its speed for seconds to minutes, and no counter here shows it.",
        "It cannot be mended from inside. See how small a difference it lets you tell, measure longer with --thorough,"
        " or use dedicated hardware.",
        "irbench doctor --aa",
        lasting=True,
    )


def freezing(facts: Facts) -> Iterator[Finding]:
    """Yield idle workers that cannot be stopped."""
    if not facts.machine.freezes:
        yield Finding(
            "not-freezing",
            "Idle workers cannot be frozen here.",
            "Runtimes spin for some 40 ms after a call: the next cell's first calls are 1.5 to 1.9 times slower.",
            "Measure on Linux, with IRBENCH_NO_FREEZE unset:",
            "unset IRBENCH_NO_FREEZE",
        )


def schedstat(facts: Facts) -> Iterator[Finding]:
    """Yield a kernel that does not account for waiting and for other processes."""
    if not facts.machine.schedstat:
        yield Finding(
            "no-schedstat",
            "The kernel does not tell what processes use and how long they wait (/proc/*/schedstat).",
            "Disturbed blocks are not recognised, so they count like any other.",
            "Turn the accounting on, or see to it yourself that nothing else runs:",
            "sudo sysctl kernel.task_delayacct=1",
        )


def memory(facts: Facts) -> Iterator[Finding]:
    """Yield memory that may not suffice for several runtimes side by side."""
    machine = facts.machine
    if machine.available_memory_bytes < _LITTLE_MEMORY_BYTES:
        yield Finding(
            "little-memory",
            f"{gigabytes(machine.available_memory_bytes)} GB of memory are available.",
            "Models that do not fit side by side are measured in several tables, and large ones fail.",
            "Close what holds memory, or raise the container's limit; the largest are shown by:",
            "ps -eo pid,rss,comm --sort=-rss | head",
        )


def swap(facts: Facts) -> Iterator[Finding]:
    """Yield memory that lies on a disk."""
    machine = facts.machine
    if machine.swap_used_bytes > _MUCH_SWAP_BYTES:
        yield Finding(
            "swap",
            f"{gigabytes(machine.swap_used_bytes)} GB lie in swap.",
            "A call that touches such a page waits for the disk, a thousand times longer than for memory.",
            "Bring it back into memory, where it fits:",
            "sudo swapoff -a && sudo swapon -a",
        )


def clock(facts: Facts) -> Iterator[Finding]:
    """Yield a clock that is slow to read, or that moves in large steps."""
    if facts.clock_ns <= _SLOW_CLOCK_NS:
        return
    source = facts.machine.clock_source
    name = "" if source is None else f" ({source})"
    intercepted = source in _GOOD_CLOCKS
    yield Finding(
        "slow-clock",
        f"Two readings of the clock{name} are never less than {facts.clock_ns:.0f} ns apart.",
        "Every timed call holds one reading: models of a few microseconds look slower than they are.",
        "This source is usually quick: look for a sandbox or a tracer that stands in between."
        if intercepted
        else "Let the kernel read the processor's own counter; it refuses where that is not reliable:",
        None if intercepted else "echo tsc | sudo tee /sys/devices/system/clocksource/clocksource0/current_clocksource",
    )


def affinity(facts: Facts) -> Iterator[Finding]:
    """Yield processors of the machine that we may not use."""
    machine = facts.machine
    missing = set(machine.processors) - set(machine.cpus)
    if missing:
        effect = "The figures speak for so many processors, not for the whole machine."
        if len(machine.cpus) == 1:
            effect = "irbench and what it measures share one processor, and no model uses more than one thread."
        yield Finding(
            "affinity",
            f"We may use {len(machine.cpus)} of {plural(len(machine.processors), 'processor')}"
            f" ({cpu_list(machine.cpus)}).",
            effect,
            f"Where that is not meant, widen it{where(machine.container) or ' for this shell'}.",
            grant_cpus(machine.container, machine.processors),
        )
