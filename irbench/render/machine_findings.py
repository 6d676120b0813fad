"""The words of what a machine is: clocks, hardware threads, memory, and what its kernel allows and shows."""

from __future__ import annotations

from collections.abc import Mapping

from irbench.diagnostics.finding import FindingCode
from irbench.notices import Facts
from irbench.render.figures import gigabytes
from irbench.render.finding_types import FindingText, FindingWords
from irbench.render.grants import grant_cpus, where
from irbench.render.quantities import cpu_list, listing, plural

__all__ = ["MACHINE_FINDINGS"]

_GOOD_CLOCKS = ("tsc", "kvm-clock", "hyperv_clocksource_tsc_page", "arch_sys_counter", "timebase")
"""Clock sources that are read without entering the kernel."""
_HIDDEN = {"governor": "the frequency governor", "turbo": "turbo"}


def _governor(facts: Facts) -> FindingWords:
    return FindingWords(
        f"The frequency governor is {listing(facts['governors'])}.",
        "The clock rises only after work has begun: short calls, and the first of each round, run at a lower one.",
        "Keep it at full speed while you measure:",
        "echo performance | sudo tee /sys/devices/system/cpu/cpu*/cpufreq/scaling_governor",
    )


def _turbo(facts: Facts) -> FindingWords:
    off = 1 if facts["file"].endswith("no_turbo") else 0
    return FindingWords(
        "Turbo is on.",
        "The clock depends on heat and on how many cores are busy: a cell's speed depends on what ran before it.",
        "Turn it off while you measure; figures are lower then, and comparisons steadier:",
        f"echo {off} | sudo tee {facts['file']}",
    )


def _shared_cores(facts: Facts) -> FindingWords:
    container, others = facts["container"], facts["foreign_siblings"]
    return FindingWords(
        f"Hardware threads of our cores are not ours: {cpu_list(others)}.",
        "Whoever runs there takes up to half of a core's speed.",
        f"Use whole cores: give this process both hardware threads of each{where(container)}.",
        grant_cpus(container, (*facts["cpus"], *others)),
    )


def _smt(facts: Facts) -> FindingWords:
    cpus, first = facts["cpus"], facts["cpu_per_core"]
    return FindingWords(
        f"{plural(len(cpus), 'processor')} share {plural(len(first), 'core')} (SMT).",
        "The kernel may put two threads of a runtime on one core, where each is slower by up to a half.",
        "Keep to one hardware thread of each core:",
        f"irbench run --cpus {cpu_list(first)}",
    )


def _virtual(facts: Facts) -> FindingWords:
    by = "" if facts["hypervisor"] is None else f" ({facts['hypervisor']})"
    hidden = listing([*(_HIDDEN[name] for name in facts["hidden"]), "its neighbours"])
    return FindingWords(
        f"This is a virtual machine{by}; it is not told about {hidden}.",
        "Other machines on the same host change its speed for seconds to minutes, and no counter here shows it.",
        "It cannot be fixed from inside. See how small a difference it lets you tell, measure longer with --thorough,"
        " or use dedicated hardware.",
        "irbench doctor --aa",
    )


def _freezing(_: Facts) -> FindingWords:
    return FindingWords(
        "Idle workers cannot be frozen here.",
        "Runtimes spin for some 40 ms after a call: the next cell's first calls are 1.5 to 1.9 times slower.",
        "Measure on Linux, with IRBENCH_NO_FREEZE unset:",
        "unset IRBENCH_NO_FREEZE",
    )


def _schedstat(_: Facts) -> FindingWords:
    return FindingWords(
        "The kernel does not tell what processes use and how long they wait (/proc/*/schedstat).",
        "Disturbed blocks are not recognised, so they count like any other.",
        "Turn the accounting on, or see to it yourself that nothing else runs:",
        "sudo sysctl kernel.task_delayacct=1",
    )


def _memory(facts: Facts) -> FindingWords:
    return FindingWords(
        f"{gigabytes(facts['available_bytes'])} GB of memory are available.",
        "Models that do not fit side by side are measured in several tables, and large ones fail.",
        "Close what holds memory, or raise the container's limit; the largest are shown by:",
        "ps -eo pid,rss,comm --sort=-rss | head",
    )


def _swap(facts: Facts) -> FindingWords:
    return FindingWords(
        f"{gigabytes(facts['used_bytes'])} GB lie in swap.",
        "A call that touches such a page waits for the disk, a thousand times longer than for memory.",
        "Bring it back into memory, where it fits:",
        "sudo swapoff -a && sudo swapon -a",
    )


def _clock(facts: Facts) -> FindingWords:
    source = facts["source"]
    name = "" if source is None else f" ({source})"
    intercepted = source in _GOOD_CLOCKS
    return FindingWords(
        f"Two readings of the clock{name} are never less than {facts['reading_ns']:.0f} ns apart.",
        "Every timed call holds one reading: models of a few microseconds look slower than they are.",
        "This source is usually quick: look for a sandbox or a tracer that stands in between."
        if intercepted
        else "Let the kernel read the processor's own counter; it refuses where that is not reliable:",
        None if intercepted else "echo tsc | sudo tee /sys/devices/system/clocksource/clocksource0/current_clocksource",
    )


def _affinity(facts: Facts) -> FindingWords:
    cpus, processors, container = facts["cpus"], facts["processors"], facts["container"]
    effect = "The figures speak for so many processors, not for the whole machine."
    if len(cpus) == 1:
        effect = "irbench and what it measures share one processor, and no model uses more than one thread."
    return FindingWords(
        f"{len(cpus)} of {plural(len(processors), 'processor')} are available ({cpu_list(cpus)}).",
        effect,
        f"Where that is not meant, widen it{where(container) or ' for this shell'}.",
        grant_cpus(container, processors),
    )


MACHINE_FINDINGS: Mapping[FindingCode, FindingText] = {
    "governor": _governor,
    "turbo": _turbo,
    "shared-cores": _shared_cores,
    "smt": _smt,
    "virtual-machine": _virtual,
    "not-freezing": _freezing,
    "no-schedstat": _schedstat,
    "little-memory": _memory,
    "swap": _swap,
    "slow-clock": _clock,
    "affinity": _affinity,
}
