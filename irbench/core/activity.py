"""Progress of long operations, as values; ``irbench.render.progress_texts`` has the texts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

ActivityCode = Literal[
    "expected-outputs",
    "starting",
    "compile-and-warm-up",
    "warm-up",
    "neighbours",
    "over-budget",
    "block",
    "alone",
    "tail",
    "paced",
    "beginnings",
    "launch-finished",
    "cold-survey",
    "cold-launch",
    "warm-launch",
    "soak",
    "serve",
    "counted-launch",
    "traced-steps",
    "profile",
]
ACTIVITY_TEXTS: Mapping[ActivityCode, str] = {
    "expected-outputs": "computing expected outputs",
    "starting": "starting workers",
    "compile-and-warm-up": "compiling and warming up {row}",
    "warm-up": "warming up {row}",
    "neighbours": "starting what runs beside the rows",
    "over-budget": "no time for intervals: they need about `--budget {needed_s}s`",
    "block": "block {block}, {clean_blocks} undisturbed ones needed",
    "alone": "{row} alone (--sustain)",
    "tail": "{row}: tail latency (--tail)",
    "paced": "{row} at a constant pace (--pace)",
    "beginnings": "{row}: forward, backward and optimizer apart",
    "launch-finished": "launch finished",
    "cold-survey": "{row}: verifying, and finding the files it reads (--cold)",
    "cold-launch": "{row}, cold cache (--cold)",
    "warm-launch": "{row}, warm cache (--cold)",
    "soak": "{row}: block {block}",
    "serve": "{row}: load {block}",
    "counted-launch": "{row}: counting (--counters)",
    "traced-steps": "{row}: tracing steps (--xprof)",
    "profile": "profiling {row}",
}


@dataclass(frozen=True)
class Activity:
    """What runs now.

    Attributes:
        code: What it is.
        row: Whose turn it is, where it is a single row's.
        block: The block under way, counted from 1.
        clean_blocks: How many undisturbed blocks end the launch.
        needed_s: Which budget the launches would take that an interval needs, in whole seconds, where that is more than
            was given.
    """

    code: ActivityCode
    row: str | None = None
    block: int | None = None
    clean_blocks: int | None = None
    needed_s: int | None = None


@dataclass(frozen=True)
class Outlook:
    """How well the figure that decides is known, and what is still missing.

    Attributes:
        row: The leader; where nothing leads, the row whose own time is known least well.
        lead: How many times as fast as its rival it is; ``None`` where nothing leads.
        half_width: Half the width of the interval, as a fraction.
        is_as_loaded: Whether all blocks count, because most were disturbed.
        quiet_launches: How many launches have blocks that count, and of how many; ``None`` where all have.
        contradicted_by: The row that leads once other blocks count, and how many times as fast as the leader it is
            there; ``None`` where that changes nothing.
        target: At which half-width it is known well enough; ``None`` before there are intervals.
        intervals_from: How many launches each row needs before there are intervals, while there are none.
        rows_left: How many rows the next launch is for; ``None`` where it is for all.
    """

    row: str
    lead: float | None
    half_width: float
    target: float | None = None
    intervals_from: int | None = None
    rows_left: int | None = None
    is_as_loaded: bool = False
    quiet_launches: tuple[int, int] | None = None
    contradicted_by: tuple[str, float] | None = None
