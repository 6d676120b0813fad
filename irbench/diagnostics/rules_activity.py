"""Rules about what goes on: other programs, the hypervisor, the quota, and processors that move."""

from __future__ import annotations

from collections.abc import Iterator

from irbench.diagnostics.facts import Activity, Facts, Machine
from irbench.diagnostics.finding import Finding
from irbench.diagnostics.grants import grant_time, where
from irbench.phrases import listing, percent, plural
from irbench.spec import Timing

__all__ = ["core_to_core", "crowded", "quota", "stolen"]

_BUSY = Timing().dirty_foreign_share
"""Of the processors in use: where a block of a measurement counts as disturbed, so does a moment of looking."""
_UNSEEN = 0.01
"""Of a processor: what programs must have used that are not named, to be told of."""
_PRESSURE = 0.10
_LOAD = 0.5
_STOLEN = 0.02
_FAR_NS = 250.0


def crowded(facts: Facts) -> Iterator[Finding]:
    """Yield one finding, named after the worst of what one cause brings about, which says all of it."""
    activity = facts.activity
    found = dict(_signs(activity, facts.machine))
    if not found:
        return
    remedy, command = "Wait until it has passed, then look again.", "sleep 60; irbench doctor"
    if "busy-machine" in found:
        remedy, command = "End them, or keep to processors that they leave alone with --cpus.", "top -o %CPU"
        largest = next((program for program in activity.programs if program.stoppable), None)
        if largest is not None:
            number = largest.process_id
            remedy += (
                f" Or, if nothing waits for it, stop process {number} ({largest.command}) while you measure;"
                f" kill -CONT {number} lets it go on."
            )
            command = f"kill -STOP {number}"
    yield Finding(
        code=next(iter(found)),
        found=" ".join(found.values()),
        effect="Calls wait for a processor: latencies grow, and blocks are set aside.",
        remedy=remedy,
        command=command,
    )


def _signs(activity: Activity, machine: Machine) -> Iterator[tuple[str, str]]:
    """Yield codes and sentences, the worst first."""
    if activity.foreign_share > _BUSY * min(machine.threads, len(machine.cpus)):
        names = [
            f"{program.name} {percent(program.share, 0)} (process {program.process_id})"
            for program in activity.programs
        ]
        unseen = activity.foreign_share - sum(program.share for program in activity.programs)
        if names and unseen > _UNSEEN:
            names.append(f"others {percent(unseen, 0)}")
        named = f": {listing(names)}" if names else ""
        yield "busy-machine", f"Other programs use {percent(activity.foreign_share, 0)} of a processor{named}."
    if activity.pressure is not None and activity.pressure > _PRESSURE:
        share = percent(activity.pressure, 0)
        yield "cpu-pressure", f"In {share} of the last 10 s some program waited for a processor."
    if activity.load_average > _LOAD * len(machine.cpus):
        yield "recent-load", f"The load average of the last minute is {activity.load_average:.1f}."


def stolen(facts: Facts) -> Iterator[Finding]:
    """Yield what the hypervisor takes away."""
    share = facts.activity.stolen_share
    if share > _STOLEN:
        yield Finding(
            "stolen-time",
            f"The hypervisor gave {percent(share, 0)} of a processor to others.",
            "Calls stand still while it does, by milliseconds each time.",
            "It cannot be mended from inside: measure at another time, or on a machine with dedicated processors.",
        )


def quota(facts: Facts) -> Iterator[Finding]:
    """Yield a quota that is smaller than the processors it is spent on."""
    machine, throttled = facts.machine, facts.activity.throttled_share
    processors = len(machine.cpus)
    if machine.quota is None or machine.quota >= processors:
        return
    held = f" It held us back for {percent(throttled, 0)} of this look." if throttled > 0 else ""
    yield Finding(
        "cpu-quota",
        f"A quota grants {machine.quota:g} of {processors} processors' time.{held}",
        f"What uses more stands still for the rest of every period (100 ms), so irbench starts with"
        f" {plural(machine.threads, 'thread')}.",
        f"Raise it to as much as there are processors{where(machine.container) or ' (group: /proc/self/cgroup)'}.",
        grant_time(machine.container, processors),
    )


def core_to_core(facts: Facts) -> Iterator[Finding]:
    """Yield processors that are far apart, or sometimes are."""
    link = facts.activity.core_to_core
    if link is None:
        return
    pair = listing(str(cpu) for cpu in facts.machine.cpus[:2])
    effect = "What two threads exchange takes longer: a model of 40 µs becomes up to 1.6 times slower."
    if len(link.regimes_ns) > 1:
        near_ns, far_ns = link.regimes_ns
        yield Finding(
            "cores-moved",
            f"Processors {pair} moved between near ({near_ns:.0f} ns) and far ({far_ns:.0f} ns).",
            effect,
            "Nothing inside a virtual machine keeps them near: quote figures by regime (irbench reports both), measure"
            " with one thread, or use dedicated hardware.",
            "irbench run --threads 1",
        )
    elif link.median_ns > _FAR_NS:
        yield Finding(
            "cores-far",
            f"Processors {pair} are {link.median_ns:.0f} ns apart; neighbours take about 50 to 100 ns.",
            effect,
            "Choose processors that share a cache (lscpu -e shows them) with --cpus; a virtual machine may not have"
            " them, then measure with one thread too.",
            "lscpu --extended",
        )
