"""Names of what can be counted: groups, and events in perf's own words."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from irbench.core.suggestions import did_you_mean

GROUPS: Mapping[str, tuple[str, ...]] = {
    "software": ("task-clock", "context-switches", "cpu-migrations", "minor-faults", "major-faults"),
    "ipc": ("cycles", "instructions"),
    "cache": ("cycles", "instructions", "cache-references", "cache-misses", "L1-dcache-loads", "L1-dcache-load-misses"),
    "branch": ("cycles", "instructions", "branches", "branch-misses"),
    "topdown": ("cycles", "instructions"),
}
"""Events by the name of a group. ``topdown`` also has the shares of pipeline slots, which are not events."""

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


def parse_counters(text: str | Iterable[str]) -> tuple[str, ...]:
    """Return the groups and events that a text or a list names, each once.

    Commas between slashes belong to an event: ``cpu/event=0x1,umask=0x2/``.

    Raises:
        ValueError: Nothing is named, a name cannot be one of perf's, or perf would write one name for two events.
    """
    texts = [text] if isinstance(text, str) else list(text)
    names = tuple(dict.fromkeys(name for each in texts for name in _split(each)))
    if not names:
        raise ValueError("no counter is named")
    for name in names:
        if not _EVENT.fullmatch(name) or name.count("/") % 2:
            raise ValueError(f"{name!r} is not a valid name of a counter")
        if name.casefold().startswith("topdown") and name not in GROUPS and _is_mistyped(name):
            raise ValueError(f"there is no group {name!r}. {did_you_mean(name, _NEARLY)}".rstrip())
    _check_labels(names)
    return names


def events_asked(names: Iterable[str]) -> tuple[str, ...]:
    """Return the events of groups, and the others as they are, each once."""
    return tuple(
        dict.fromkeys(
            event for name in names if toplev_level(name) is None for event in GROUPS.get(name, (name,))
        )
    )  # fmt: skip


def toplev_level(name: str) -> int | None:
    """Return the level that ``topdown-l2`` to ``topdown-l6`` asks of toplev; ``None`` for any other name."""
    match = _DEEPER.fullmatch(name)
    return int(match[1]) if match else None


def _is_mistyped(name: str) -> bool:
    """Whether a name is meant to be a level; the kernel's own events, ``topdown-retiring`` for example, are none."""
    return toplev_level(name) is None and re.fullmatch(r"topdown-?l?\d*", name.casefold()) is not None


def _check_labels(names: Iterable[str]) -> None:
    """Refuse two events that perf would write by the same name, so that their counts could not be told apart."""
    labels = [match[1] if (match := _LABEL.search(event)) else event for event in events_asked(names)]
    twice = next((label for label in labels if labels.count(label) > 1), None)
    if twice is not None:
        raise ValueError(f"two counters have the name {twice!r}")


def _split(text: str) -> list[str]:
    outside = re.split(r"(/[^/]*/)", text)
    marked = "".join(part if place % 2 else part.replace(",", "\n") for place, part in enumerate(outside))
    return [name.strip() for name in marked.split("\n") if name.strip()]
