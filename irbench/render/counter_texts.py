"""Words of counters: why something cannot be counted and what helps, figures, and formulas."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from irbench.counter_row import CountedLaunch, CounterStop
from irbench.counters import GROUPS, Obstacle, ObstacleCode, TopdownMethod, kind_and_share
from irbench.notices import Facts
from irbench.quantities import NOT_MEASURED, listing, plural, significant
from irbench.render.footer import STOPPED_TEXTS

COUNTER_STOP_TEXTS: Mapping[CounterStop, str] = {
    "launches": "all launches made",
    "budget": STOPPED_TEXTS["budget"],
    "interrupt": "interrupted",
    "failures": "no row could be counted",
    "unfinished": STOPPED_TEXTS["unfinished"],
}
"""Why counting ended."""

PHASE_TEXTS = {"import": "import", "compile": "compile", "warm_up": "warm-up", "inference": "per inference"}

FIGURE_TEXTS = {
    "task-clock": "task-clock ms",
    "cpu-clock": "cpu-clock ms",
    "ipc": "instructions per cycle",
    "cache_miss_share": "cache misses, of references",
    "l1d_miss_share": "L1 data misses, of loads",
    "branch_miss_share": "branch misses, of branches",
    "retiring": "slots: retiring",
    "frontend_bound": "slots: frontend bound",
    "bad_speculation": "slots: bad speculation",
    "backend_bound": "slots: backend bound",
    "smt_contention": "slots: SMT contention",
}

TOPDOWN_TEXTS: Mapping[TopdownMethod, str] = {
    "perf": "shares of slots: metrics of perf",
    "intel-shares": "shares of slots: the processor's own counters, because this perf has no metrics for it",
    "intel-slots": "shares of slots: formulas of Yasin (ISPASS 2014), because this perf has no metrics for it",
    "amd-zen4": "shares of slots: formulas of AMD's reference for Zen 4, because this perf has no metrics for it",
    "amd-zen5": "shares of slots: formulas of AMD's reference for Zen 5, because this perf has no metrics for it",
}

_PREFIXES = ((1e9, 1e9, "G"), (1e6, 1e6, "M"), (1e4, 1e3, "k"))
"""From which value on which prefix is written, and what it stands for."""
_Text = Callable[[Facts], tuple[str, str]]


def obstacle_text(obstacle: Obstacle) -> str:
    """Return why something is not counted, as the end of a sentence."""
    return OBSTACLE_TEXTS[obstacle.code](obstacle.facts)[0]


def nodes_missing_text(launches: Sequence[CountedLaunch]) -> str | None:
    """Return in how many launches toplev reported no nodes, with its last reason; ``None`` if in none."""
    missing = [launch.nodes_missing for launch in launches if launch.nodes_missing is not None]
    if not missing:
        return None
    return f"in {len(missing)} of {plural(len(launches), 'launch')} {obstacle_text(missing[-1])}"


def obstacle_remedy(obstacle: Obstacle) -> str:
    """Return what helps, in one sentence."""
    return OBSTACLE_TEXTS[obstacle.code](obstacle.facts)[1]


def figure_text(name: str) -> str:
    """Return what a table calls a figure: events keep perf's names, shares of slots have the kind of core."""
    kind, share = kind_and_share(name)
    return f"{FIGURE_TEXTS[share]} ({kind})" if kind else FIGURE_TEXTS.get(name, name)


def figure_value(value: float | None, unit: str) -> str:
    """Return a figure of a counter: ``12.3 %`` of a share, ``1.23 G`` of a large count."""
    if value is None:
        return NOT_MEASURED
    if unit == "share":
        return f"{100 * value:.1f} %"
    for least, scale, prefix in _PREFIXES:
        if abs(value) >= least and not unit:
            return f"{significant(value / scale)} {prefix}"
    return f"{value:.0f}" if value >= 100 else significant(value)


def not_counted(asked: Sequence[str], unavailable: Mapping[str, Obstacle]) -> Iterator[tuple[str, Obstacle]]:
    """Yield what was asked for and cannot be counted, once for all that have the same reason.

    Args:
        asked: Groups and events, as the user named them.
        unavailable: By group and event.
    """
    whole = [name for name in asked if name in unavailable]
    covered = {event for name in whole for event in GROUPS.get(name, ())}
    names = (*whole, *(event for event in unavailable if event not in covered and event not in whole))
    reasons: list[tuple[list[str], Obstacle]] = []
    for name in names:
        same = next((found for found, obstacle in reasons if obstacle == unavailable[name]), None)
        if same is None:
            reasons.append(([name], unavailable[name]))
        else:
            same.append(name)
    yield from ((listing(found), obstacle) for found, obstacle in reasons)


def _no_perf(facts: Facts) -> tuple[str, str]:
    said = f" ({facts['said']})" if facts.get("said") else ""
    return (
        f"no working perf was found{said}",
        "Install it: linux-perf on Debian, linux-tools on Ubuntu, perf on Fedora and Arch.",
    )


def _old_perf(_facts: Facts) -> tuple[str, str]:
    return "this perf cannot write JSON", "Install perf 6.0 or later."


def _no_pmu(_facts: Facts) -> tuple[str, str]:
    return (
        "the kernel offers no counters of the processor, as in most virtual machines",
        "Measure on bare metal, or let the hypervisor pass them on (a vPMU); --counters software works here.",
    )


def _not_permitted(facts: Facts) -> tuple[str, str]:
    level = facts.get("level")
    level_text = "" if level is None else f" (kernel.perf_event_paranoid is {level})"
    return (
        f"the kernel does not permit it{level_text}",
        "Allow it: sudo sysctl kernel.perf_event_paranoid=1; in a container also --cap-add PERFMON.",
    )


def _not_supported(_facts: Facts) -> tuple[str, str]:
    return "this processor or its hypervisor does not support it", "Choose other events: perf list names them."


def _unknown_event(_facts: Facts) -> tuple[str, str]:
    return "perf knows no such event", f"Groups: {', '.join(GROUPS)}; perf list names the events."


def _no_topdown(_facts: Facts) -> tuple[str, str]:
    return (
        "perf has no Top-Down metrics for this processor, and no published formula fits it",
        "Install a newer perf; --counters ipc,cache,branch needs no such metrics.",
    )


def _no_toplev(_facts: Facts) -> tuple[str, str]:
    return (
        "there is no toplev on PATH",
        "Install pmu-tools for deeper levels (Intel processors), or ask for --counters topdown.",
    )


def _toplev_failed(facts: Facts) -> tuple[str, str]:
    said = f": {facts['said']}" if facts.get("said") else ""
    return f"toplev failed{said}", "Try it by itself: toplev -l2 --single-thread -- true"


def _several_kinds_of_cores(_facts: Facts) -> tuple[str, str]:
    return (
        "the processor has several kinds of cores, whose nodes would be mixed",
        "Ask for --counters topdown: perf reports its shares for each kind.",
    )


def _not_counted_here(facts: Facts) -> tuple[str, str]:
    if facts.get("alone"):
        return (
            "it was never on a counter, although nothing else was counted",
            "Something else holds the counters: end other perf sessions, and sudo sysctl kernel.nmi_watchdog=0.",
        )
    return "it was never on a counter", "Ask for fewer events at once."


def _not_named(_facts: Facts) -> tuple[str, str]:
    return "perf counts it without a distinct name", "Name it: cpu/event=0xc0,name=retired/, for example."


def _perf_failed(facts: Facts) -> tuple[str, str]:
    said = f": {facts['said']}" if facts.get("said") else ""
    return f"perf failed{said}", "Try it by itself: perf stat -j -e EVENT true"


OBSTACLE_TEXTS: Mapping[ObstacleCode, _Text] = {
    "no-perf": _no_perf,
    "old-perf": _old_perf,
    "no-pmu": _no_pmu,
    "not-permitted": _not_permitted,
    "not-supported": _not_supported,
    "unknown-event": _unknown_event,
    "no-topdown": _no_topdown,
    "no-toplev": _no_toplev,
    "toplev-failed": _toplev_failed,
    "several-kinds-of-cores": _several_kinds_of_cores,
    "not-counted": _not_counted_here,
    "not-named": _not_named,
    "perf-failed": _perf_failed,
}
"""What is wrong, and what helps."""
