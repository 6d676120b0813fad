"""Rules about current activity: other programs, the hypervisor, the CPU quota, shared caches."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from irbench.diagnostics.facts import Activity, Facts, Machine
from irbench.diagnostics.finding import Finding, FindingCode
from irbench.spec import Timing

_BUSY = Timing().dirty_foreign_share
"""Of the processors in use: where a block of a measurement counts as disturbed, so does a moment of looking."""
_UNSEEN = 0.01
"""Of a processor: what programs must have used that are not named, to be told of."""
_PRESSURE = 0.10
_LOAD = 0.5
_STOLEN = 0.02
_FAR_NS = 250.0


def crowded(facts: Facts) -> Iterator[Finding]:
    """Yield one finding, named after the worst of what one cause brings about, with the facts of all of it."""
    signs = list(_signs(facts.activity, facts.machine))
    if signs:
        yield Finding(signs[0][0], {name: value for _, own in signs for name, value in own.items()})


def _signs(activity: Activity, machine: Machine) -> Iterator[tuple[FindingCode, dict[str, Any]]]:
    """Yield codes with their facts, the worst first."""
    limit = _BUSY * min(machine.threads, len(machine.cpus))
    if activity.foreign_share > limit:
        unseen = activity.foreign_share - sum(program.share for program in activity.programs)
        largest = max(activity.programs, key=lambda program: program.share, default=None)
        stoppable = largest if largest is not None and largest.stoppable and largest.share > limit else None
        yield (
            "busy-machine",
            {
                "foreign_share": activity.foreign_share,
                "programs": [asdict(program) for program in activity.programs],
                "unnamed_share": unseen if activity.programs and unseen > _UNSEEN else None,
                "stoppable": None if stoppable is None else asdict(stoppable),
            },
        )
    if activity.pressure is not None and activity.pressure > _PRESSURE:
        yield "cpu-pressure", {"pressure": activity.pressure}
    if activity.load_average > _LOAD * len(machine.cpus):
        yield "recent-load", {"load_average": activity.load_average}


def stolen(facts: Facts) -> Iterator[Finding]:
    """Yield what the hypervisor takes away."""
    share = facts.activity.stolen_share
    if share > _STOLEN:
        yield Finding("stolen-time", {"share": share})


def quota(facts: Facts) -> Iterator[Finding]:
    """Yield a quota that is smaller than the processors it is spent on."""
    machine, throttled = facts.machine, facts.activity.throttled_share
    if machine.quota is None or machine.quota >= len(machine.cpus):
        return
    granted = {"quota": machine.quota, "processors": len(machine.cpus), "threads": machine.threads}
    yield Finding("cpu-quota", {**granted, "throttled_share": throttled, "container": machine.container})


def core_to_core(facts: Facts) -> Iterator[Finding]:
    """Yield processors that are far apart, or sometimes are."""
    link = facts.activity.core_to_core
    if link is None:
        return
    pair = list(facts.machine.cpus[:2])
    if len(link.regimes_ns) > 1:
        near_ns, far_ns = link.regimes_ns
        yield Finding("cores-moved", {"cpus": pair, "near_ns": near_ns, "far_ns": far_ns})
    elif link.median_ns > _FAR_NS:
        yield Finding("cores-far", {"cpus": pair, "median_ns": link.median_ns})
