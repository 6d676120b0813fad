"""The words of what goes on: other programs, the hypervisor, the quota, and processors that move."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from irbench.diagnostics.finding import FindingCode
from irbench.notices import Facts
from irbench.render.finding_types import FindingText, FindingWords
from irbench.render.grants import grant_time, where
from irbench.render.quantities import listing, percent, plural

__all__ = ["ACTIVITY_FINDINGS"]

_EXCHANGE = "What two threads exchange takes longer: a model of 40 µs becomes up to 1.6 times slower."


def _crowded(facts: Facts) -> FindingWords:
    remedy, command = "Wait until it has passed, then look again.", "sleep 60; irbench doctor"
    if "foreign_share" in facts:
        remedy, command = "End them, or keep to processors that they leave alone with --cpus.", "top -o %CPU"
        largest = facts["stoppable"]
        if largest is not None:
            number = largest["process_id"]
            remedy += (
                f" Or, if nothing waits for it, stop process {number} ({largest['command']}) while you measure;"
                f" kill -CONT {number} lets it go on."
            )
            command = f"kill -STOP {number}"
    effect = "Calls wait for a processor: latencies grow, and blocks are excluded."
    return FindingWords(" ".join(_signs(facts)), effect, remedy, command)


def _signs(facts: Facts) -> Iterator[str]:
    if "foreign_share" in facts:
        names = [
            f"{program['name']} {percent(program['share'], 0)} (process {program['process_id']})"
            for program in facts["programs"]
        ]
        if facts["unnamed_share"] is not None:
            names.append(f"others {percent(facts['unnamed_share'], 0)}")
        named = f": {listing(names)}" if names else ""
        yield f"Other programs use {percent(facts['foreign_share'], 0)} of a processor{named}."
    if "pressure" in facts:
        yield f"In {percent(facts['pressure'], 0)} of the last 10 s some program waited for a processor."
    if "load_average" in facts:
        yield f"The load average of the last minute is {facts['load_average']:.1f}."


def _stolen(facts: Facts) -> FindingWords:
    return FindingWords(
        f"The hypervisor gave {percent(facts['share'], 0)} of a processor to others.",
        "Calls stand still while it does, by milliseconds each time.",
        "It cannot be fixed from inside: measure at another time, or on a machine with dedicated processors.",
    )


def _quota(facts: Facts) -> FindingWords:
    share, processors, container = facts["throttled_share"], facts["processors"], facts["container"]
    held = f" It held irbench back for {percent(share, 0)} of this look." if share > 0 else ""
    return FindingWords(
        f"A quota grants {facts['quota']:g} of {processors} processors' time.{held}",
        "What uses more stands still for the rest of every period (100 ms), so irbench starts with"
        f" {plural(facts['threads'], 'thread')}.",
        f"Raise it to as much as there are processors{where(container) or ' (group: /proc/self/cgroup)'}.",
        grant_time(container, processors),
    )


def _moved(facts: Facts) -> FindingWords:
    pair = listing(map(str, facts["cpus"]))
    return FindingWords(
        f"Processors {pair} moved between near ({facts['near_ns']:.0f} ns) and far ({facts['far_ns']:.0f} ns).",
        _EXCHANGE,
        "Nothing inside a virtual machine keeps them near: quote figures by regime (irbench reports both), measure"
        " with one thread, or use dedicated hardware.",
        "irbench run --threads 1",
    )


def _far(facts: Facts) -> FindingWords:
    pair = listing(map(str, facts["cpus"]))
    return FindingWords(
        f"Processors {pair} are {facts['median_ns']:.0f} ns apart; neighbours take about 50 to 100 ns.",
        _EXCHANGE,
        "Choose processors that share a cache (lscpu -e shows them) with --cpus; a virtual machine may not have"
        " them, then measure with one thread too.",
        "lscpu --extended",
    )


ACTIVITY_FINDINGS: Mapping[FindingCode, FindingText] = {
    "busy-machine": _crowded,
    "cpu-pressure": _crowded,
    "recent-load": _crowded,
    "stolen-time": _stolen,
    "cpu-quota": _quota,
    "cores-moved": _moved,
    "cores-far": _far,
}
