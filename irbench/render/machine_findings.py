"""Findings about the machine, in words: clocks, hardware threads, memory, and what the kernel provides."""

from __future__ import annotations

from collections.abc import Mapping

from irbench.counters import Obstacle
from irbench.diagnostics.finding import FindingCode
from irbench.notices import Facts
from irbench.options.values import cpu_list
from irbench.quantities import listing, plural
from irbench.render.counter_texts import not_counted, obstacle_remedy, obstacle_text
from irbench.render.figures import gigabytes
from irbench.render.finding_types import FindingText, FindingWords
from irbench.render.grants import grant_cpus, where

_GOOD_CLOCKS = ("tsc", "kvm-clock", "hyperv_clocksource_tsc_page", "arch_sys_counter", "timebase")
"""Clock sources that are read without entering the kernel."""
_HIDDEN = {"governor": "the frequency governor", "turbo": "turbo"}


def _governor(facts: Facts) -> FindingWords:
    return FindingWords(
        f"The frequency governor is {listing(facts['governors'])}.",
        "The clock frequency rises only after work has started: short calls, and the first of each round, run slower.",
        "Set it to performance while you measure:",
        "echo performance | sudo tee /sys/devices/system/cpu/cpu*/cpufreq/scaling_governor",
    )


def _turbo(facts: Facts) -> FindingWords:
    off = 1 if facts["file"].endswith("no_turbo") else 0
    return FindingWords(
        "Turbo is on.",
        "The clock frequency depends on temperature and on the number of busy cores, so speed depends on what ran"
        " before.",
        "Turn it off while you measure; speeds are lower then, and comparisons more stable:",
        f"echo {off} | sudo tee {facts['file']}",
    )


def _shared_cores(facts: Facts) -> FindingWords:
    container, others = facts["container"], facts["foreign_siblings"]
    return FindingWords(
        f"Some hardware threads of the available cores are not available: {cpu_list(others)}.",
        "A program that runs there takes up to half of a core's speed.",
        f"Make both hardware threads of each core available{where(container)}.",
        grant_cpus(container, (*facts["cpus"], *others)),
    )


def _smt(facts: Facts) -> FindingWords:
    cpus, first = facts["cpus"], facts["cpu_per_core"]
    return FindingWords(
        f"{plural(len(cpus), 'processor')} share {plural(len(first), 'core')} (SMT).",
        "The kernel may run two threads of a runtime on one core, where each is up to half as fast.",
        "Use one hardware thread of each core:",
        f"irbench run --cpus {cpu_list(first)}",
    )


def _virtual(facts: Facts) -> FindingWords:
    by = "" if facts["hypervisor"] is None else f" ({facts['hypervisor']})"
    hidden = listing([*(_HIDDEN[name] for name in facts["hidden"]), "other virtual machines"])
    compared = facts.get("compared_with_itself", False)  # then the report says it already
    check = "M" if compared else "Check how small a difference can be detected here, m"
    return FindingWords(
        f"This is a virtual machine{by}; it cannot see {hidden}.",
        "Other virtual machines on the same host change its speed for seconds to minutes, and no counter shows it.",
        f"This cannot be fixed from inside. {check}easure longer with --thorough, or use dedicated hardware.",
        None if compared else "irbench doctor --aa",
    )


def _freezing(_: Facts) -> FindingWords:
    return FindingWords(
        "Idle workers cannot be frozen here.",
        "Runtimes spin for about 40 ms after a call, so the first calls of the next row are 1.5 to 1.9 times slower.",
        "Measure on Linux, with IRBENCH_NO_FREEZE unset:",
        "unset IRBENCH_NO_FREEZE",
    )


def _schedstat(_: Facts) -> FindingWords:
    return FindingWords(
        "The kernel does not report the processor time and waiting time of processes (/proc/*/schedstat).",
        "Disturbed blocks cannot be detected, so they are not excluded.",
        "Enable the accounting, or make sure yourself that nothing else runs:",
        "sudo sysctl kernel.task_delayacct=1",
    )


def _memory(facts: Facts) -> FindingWords:
    return FindingWords(
        f"{gigabytes(facts['available_bytes'])} GB of memory are available.",
        "Models that do not fit into memory together are measured in several tables, and large ones fail.",
        "Close programs that use much memory, or raise the container's limit. The largest are listed by:",
        "ps -eo pid,rss,comm --sort=-rss | head",
    )


def _swap(facts: Facts) -> FindingWords:
    return FindingWords(
        f"{gigabytes(facts['used_bytes'])} GB of swap are used.",
        "A call that uses a swapped page waits for the disk, a thousand times longer than for memory.",
        "Move it back into memory, if it fits:",
        "sudo swapoff -a && sudo swapon -a",
    )


def _clock(facts: Facts) -> FindingWords:
    source = facts["source"]
    name = "" if source is None else f" ({source})"
    intercepted = source in _GOOD_CLOCKS
    return FindingWords(
        f"Two consecutive readings of the clock{name} are at least {facts['reading_ns']:.0f} ns apart.",
        "Every timed call includes one reading, so models of a few microseconds look slower than they are.",
        "This clock source is usually fast: look for a sandbox or a tracer that intercepts it."
        if intercepted
        else "Let the kernel use the processor's counter; it refuses if the counter is not reliable:",
        None if intercepted else "echo tsc | sudo tee /sys/devices/system/clocksource/clocksource0/current_clocksource",
    )


def _affinity(facts: Facts) -> FindingWords:
    cpus, processors, container = facts["cpus"], facts["processors"], facts["container"]
    effect = "The figures are for these processors, not for the whole machine."
    if len(cpus) == 1:
        effect = "irbench and the backends share one processor, and no model uses more than one thread."
    return FindingWords(
        f"{len(cpus)} of {plural(len(processors), 'processor')} are available ({cpu_list(cpus)}).",
        effect,
        f"If that is not intended, allow more{where(container) or ' for this shell'}.",
        grant_cpus(container, processors),
    )


def _counters(facts: Facts) -> FindingWords:
    reasons = {name: Obstacle(missing["code"], missing["facts"]) for name, missing in facts["unavailable"].items()}
    (names, obstacle), *others = not_counted(tuple(reasons), reasons)
    also = "".join(f"; {name}: {obstacle_text(reason)}" for name, reason in others)
    is_forbidden = obstacle.code == "not-permitted"
    return FindingWords(
        f"perf cannot count {names}: {obstacle_text(obstacle)}{also}.",
        f"irbench run --counters shows {listing(facts['available'] or ['none of them'])}; speeds are not affected.",
        obstacle_remedy(obstacle),
        "sudo sysctl kernel.perf_event_paranoid=1" if is_forbidden else None,
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
    "counters-missing": _counters,
    "affinity": _affinity,
}
