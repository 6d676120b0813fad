"""From the counts of a phase to figures: events for each inference, and ratios of events."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Literal, TypeAlias

from irbench.counters.perf_output import EventCount

CountedPhase: TypeAlias = Literal["import", "compile", "warm_up", "inference"]
PHASE_TEXTS: Mapping[CountedPhase, str] = {
    "import": "import",
    "compile": "compile",
    "warm_up": "warm-up",
    "inference": "per inference",
}
PHASES: tuple[CountedPhase, ...] = ("import", "compile", "warm_up", "inference")
"""In the order of time; ``compile`` includes loading and the first inference."""

RATIOS: Mapping[str, tuple[str, str]] = {
    "ipc": ("instructions", "cycles"),
    "cache_miss_share": ("cache-misses", "cache-references"),
    "l1d_miss_share": ("L1-dcache-load-misses", "L1-dcache-loads"),
    "branch_miss_share": ("branch-misses", "branches"),
}
"""What is divided by what. Both are of the same launch and phase, so that what was counted beside cancels."""

_CLOCKS = ("task-clock", "cpu-clock")


def figures_of(
    events: Mapping[str, EventCount], shares: Mapping[str, float], inferences: int, wanted: Collection[str]
) -> dict[str, float]:
    """Return the figures of one phase of one launch.

    Args:
        events: What was counted, by event.
        shares: Of the pipeline's slots, by name.
        inferences: That were made while the counters ran; 0 where the phase is not divided by them.
        wanted: The events that the user asked for; others were counted for a formula only.

    Returns:
        Counts for each inference, or of the whole phase; ratios, and shares from 0 to 1. An event that was not counted
        has no figure, nor has a ratio with it.
    """
    counts = {name: count.value for name, count in events.items() if count.value is not None}
    found = {name: counts[name] / max(1, inferences) for name in wanted if name in counts}
    for name, (part, whole) in RATIOS.items():
        if part in wanted and whole in wanted and counts.get(whole) and part in counts:
            found[name] = counts[part] / counts[whole]
    return {**found, **shares}


def unit_of(figure: str, *, is_share: bool = False) -> str:
    """Return the unit of a figure: ``ms`` for clocks, ``share`` for shares from 0 to 1, empty for counts and IPC.

    Args:
        figure: Its name.
        is_share: Whether it is one of the shares of slots.
    """
    if figure in _CLOCKS:
        return "ms"
    return "share" if is_share or figure.endswith("_share") else ""
