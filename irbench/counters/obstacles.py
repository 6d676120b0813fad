"""Why something cannot be counted, as codes with facts; ``irbench.render.counter_texts`` has the words."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

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
