"""What this machine will be asked to count, once it is known what it can."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from irbench.counters.perf_output import EventCount, PerfReading
from irbench.counters.topdown import TopdownMethod, events_of_method, is_grouped
from irbench.suggestions import did_you_mean

ObstacleCode: TypeAlias = Literal[
    "no-perf",
    "old-perf",
    "no-pmu",
    "not-permitted",
    "not-supported",
    "unknown-event",
    "no-topdown",
    "no-toplev",
    "toplev-failed",
    "several-kinds-of-cores",
    "not-counted",
    "not-named",
    "perf-failed",
]
"""``no-pmu``: no counters of the processor are visible, as in most virtual machines; ``not-supported``: this processor
lacks the event; ``not-counted``: perf could, but the event was never on a counter while it was wanted, ``alone`` where
nothing else was;
``not-named``: perf counts it, under no name by which the count could be told from others."""

_FORBIDDEN = re.compile(
    r"perf_event_paranoid|Access to performance monitoring|No permission|Permission denied|Operation not permitted"
)
_UNKNOWN_OPTION = re.compile(r"unknown (?:option|switch) `?(?:j|control)", re.IGNORECASE)
_UNKNOWN_EVENT = re.compile(
    r"event syntax error|Unable to find|Bad event|parser error|Cannot find metric", re.IGNORECASE
)
_UNSUPPORTED = re.compile(r"No supported events|not supported|No such device|Invalid argument", re.IGNORECASE)


@dataclass(frozen=True)
class Obstacle:
    """Why an event, or a group, is not counted.

    Attributes:
        code: For programs.
        facts: What was seen, as JSON values: ``level`` of perf_event_paranoid, what perf ``said``.
    """

    code: ObstacleCode
    facts: Mapping[str, Any] = field(default_factory=dict[str, Any])


def obstacle_from_messages(said: str, paranoid: int | None) -> Obstacle:
    """Return what the messages of a perf that failed mean.

    Args:
        said: What it wrote to stderr.
        paranoid: The kernel's level; ``None`` where it is unknown.
    """
    if _UNKNOWN_OPTION.search(said):
        return Obstacle("old-perf")
    if _FORBIDDEN.search(said):
        return Obstacle("not-permitted", {"level": paranoid})
    if _UNKNOWN_EVENT.search(said):
        return Obstacle("unknown-event")
    if _UNSUPPORTED.search(said):
        return Obstacle("not-supported")
    lines = [line.strip() for line in said.splitlines() if line.strip() not in ("", "Error:")]
    return Obstacle("perf-failed", {"said": lines[0] if lines else ""})


GROUPS: Mapping[str, tuple[str, ...]] = {
    "software": ("task-clock", "context-switches", "cpu-migrations", "minor-faults", "major-faults"),
    "ipc": ("cycles", "instructions"),
    "cache": (
        "cycles",
        "instructions",
        "cache-references",
        "cache-misses",
        "L1-dcache-loads",
        "L1-dcache-load-misses",
    ),
    "branch": ("cycles", "instructions", "branches", "branch-misses"),
    "topdown": ("cycles", "instructions"),
}
"""Events by the name of a group. ``topdown`` also has the shares of pipeline slots, which are no events."""

SOFTWARE_EVENTS = frozenset(
    {
        "alignment-faults", "bpf-output", "cgroup-switches", "context-switches", "cpu-clock", "cpu-migrations", "cs",
        "dummy", "emulation-faults", "faults", "major-faults", "migrations", "minor-faults", "page-faults",
        "task-clock",
    }
)  # fmt: skip
"""Events that the kernel counts itself, so that they need no counters of the processor."""

_DEEPER = re.compile(r"topdown-l([2-6])")
_EVENT = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.:/=,@-]*")
_LABEL = re.compile(r"[/,]name=([^,/]+)")
_NEARLY = (*GROUPS, "topdown-l2")


@dataclass(frozen=True)
class CounterPlan:
    """What a run is asked to count.

    Attributes:
        asked: Groups and events, in the user's order.
        timeline_ms: Of how many milliseconds each step of the timeline is; ``None`` without a timeline.
        launches: Counted launches of each row.
    """

    asked: tuple[str, ...]
    timeline_ms: int | None = None
    launches: int = 6


def parse_counters(text: str | Iterable[str]) -> tuple[str, ...]:
    """Return the groups and events that a text or a list names, each once.

    Commas between slashes belong to an event: ``cpu/event=0x1,umask=0x2/``.

    Raises:
        ValueError: Nothing is named, a name cannot be one of perf's, or perf would write one name for two events.
    """
    given = [text] if isinstance(text, str) else list(text)
    names = tuple(dict.fromkeys(name for each in given for name in _split(each)))
    if not names:
        raise ValueError("no counter is named")
    for name in names:
        if not _EVENT.fullmatch(name) or name.count("/") % 2:
            raise ValueError(f"{name!r} is no name of a counter")
        if name.casefold().startswith("topdown") and name not in GROUPS and _is_mistyped(name):
            raise ValueError(f"there is no group {name!r}. {did_you_mean(name, _NEARLY)}".rstrip())
    _check_labels(names)
    return names


def events_asked(asked: Iterable[str]) -> tuple[str, ...]:
    """Return the events of groups, and the others as they are, each once."""
    return tuple(
        dict.fromkeys(
            event for name in asked if toplev_level(name) is None for event in GROUPS.get(name, (name,))
        )
    )  # fmt: skip


def toplev_level(name: str) -> int | None:
    """Return the level that ``topdown-l2`` to ``topdown-l6`` asks of toplev; ``None`` for any other name."""
    found = _DEEPER.fullmatch(name)
    return int(found[1]) if found else None


def _is_mistyped(name: str) -> bool:
    """Whether a name is meant to be a level; the kernel's own events, ``topdown-retiring`` for example, are none."""
    return toplev_level(name) is None and re.fullmatch(r"topdown-?l?\d*", name.casefold()) is not None


def _check_labels(names: Iterable[str]) -> None:
    """Refuse two events that perf would write by the same name, so that their counts could not be told apart."""
    labels = [found[1] if (found := _LABEL.search(event)) else event for event in events_asked(names)]
    twice = next((label for label in labels if labels.count(label) > 1), None)
    if twice is not None:
        raise ValueError(f"two counters have the name {twice!r}")


def _split(text: str) -> list[str]:
    outside = re.split(r"(/[^/]*/)", text)
    marked = "".join(part if place % 2 else part.replace(",", "\n") for place, part in enumerate(outside))
    return [name.strip() for name in marked.split("\n") if name.strip()]


@dataclass(frozen=True)
class Counting:
    """How this machine counts what was asked for.

    Attributes:
        plan: What was asked for.
        perf: The program.
        version: Its version.
        events: Those of the user's events that it can count, as perf is asked for them.
        topdown: Whose formula gives the shares of slots; ``None`` where they were not asked for, or cannot be had.
        metric_group: perf's own group of metrics, where ``topdown`` is ``perf``.
        toplev: The program that gives deeper levels; ``None`` without.
        level: The level that is asked of it.
        user_only: Whether the kernel's part is left out.
        unavailable: What was asked for and cannot be counted, with the reason.
        perf_names: By event, the names that perf writes for it.
    """

    plan: CounterPlan
    perf: str
    version: str
    events: tuple[str, ...] = ()
    topdown: TopdownMethod | None = None
    metric_group: str | None = None
    toplev: str | None = None
    level: int | None = None
    user_only: bool = False
    unavailable: Mapping[str, Obstacle] = field(default_factory=dict[str, Obstacle])
    perf_names: Mapping[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])

    def counts(self, reading: PerfReading) -> dict[str, EventCount]:
        """Return the counts of a reading: the user's events as the user wrote them, others by perf's names."""
        own = {event: reading.count(self.perf_names.get(event, (event,))) for event in self.events}
        mapped = {name for event in self.events for name in self.perf_names.get(event, (event,))}
        return {**own, **{name: count for name, count in reading.events.items() if name not in (mapped | own.keys())}}

    @property
    def counts_nothing(self) -> bool:
        """Whether nothing that was asked for can be counted."""
        return not self.events and self.topdown is None and self.toplev is None

    @property
    def arguments(self) -> tuple[str, ...]:
        """What perf is asked to count, as arguments of ``perf stat``."""
        found = ["-e", ",".join(self.events)] if self.events else []
        if self.metric_group is not None:
            found += ["-M", self.metric_group]
        elif self.topdown is not None and is_grouped(self.topdown):
            found += ["-e", f"{{{','.join(events_of_method(self.topdown))}}}"]
        return tuple(found)
