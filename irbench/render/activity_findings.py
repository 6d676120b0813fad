"""Findings about current activity, in words: other programs, the hypervisor, the CPU quota, shared caches."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from irbench.diagnostics.finding import FindingCode
from irbench.notices import Facts
from irbench.quantities import listing, percent, plural
from irbench.render.finding_types import FindingText, FindingWords
from irbench.render.grants import grant_time, where

_EXCHANGE = "Threads take longer to exchange data: a model of 40 µs becomes up to 1.6 times slower."


def _crowded(facts: Facts) -> FindingWords:
    remedy, command = "Wait until it is over, then check again.", "sleep 60; irbench doctor"
    if "foreign_share" in facts:
        remedy, command = "Close them, or use idle processors with --cpus.", "top -o %CPU"
        largest = facts["stoppable"]
        if largest is not None:
            number = largest["process_id"]
            remedy += (
                f" Or, if nothing depends on it, pause process {number} ({largest['command']}) while you measure;"
                f" kill -CONT {number} resumes it."
            )
            command = f"kill -STOP {number}"
    effect = "Calls wait for a processor: latencies increase, and blocks are excluded."
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
        yield f"In {percent(facts['pressure'], 0)} of the last 10 s some process waited for a processor."
    if "load_average" in facts:
        yield f"The load average of the last minute is {facts['load_average']:.1f}."


def _stolen(facts: Facts) -> FindingWords:
    return FindingWords(
        f"The hypervisor gave {percent(facts['share'], 0)} of a processor's time to other virtual machines.",
        "Calls are interrupted for milliseconds each time.",
        "This cannot be fixed from inside the virtual machine: measure at another time, or on a machine with"
        " dedicated processors.",
    )


def _quota(facts: Facts) -> FindingWords:
    share, processors, container = facts["throttled_share"], facts["processors"], facts["container"]
    held = f" It throttled irbench for {percent(share, 0)} of this check." if share > 0 else ""
    return FindingWords(
        f"A CPU quota allows the time of {facts['quota']:g} of {processors} processors.{held}",
        "Processes that exceed it are stopped for the rest of each period of 100 ms, so irbench uses"
        f" {plural(facts['threads'], 'thread')} by default.",
        f"Raise it to the number of processors{where(container) or ' (group: /proc/self/cgroup)'}.",
        grant_time(container, processors),
    )


def _moved(facts: Facts) -> FindingWords:
    pair = listing(map(str, facts["cpus"]))
    return FindingWords(
        f"vCPUs {pair} did not share a cache all the time (between {facts['near_ns']:.0f} ns and"
        f" {facts['far_ns']:.0f} ns apart).",
        _EXCHANGE,
        "This cannot be fixed from inside the virtual machine: quote the figures of each state (irbench reports"
        " both), measure with one thread, or use dedicated hardware.",
        "irbench run --threads 1",
    )


def _far(facts: Facts) -> FindingWords:
    pair = listing(map(str, facts["cpus"]))
    return FindingWords(
        f"Processors {pair} do not share a cache ({facts['median_ns']:.0f} ns apart; 50 to 100 ns is usual with one).",
        _EXCHANGE,
        "Choose processors that share a cache (lscpu -e lists them) with --cpus. A virtual machine may not have"
        " any; then also measure with one thread.",
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
