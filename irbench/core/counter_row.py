"""Rows of counters: what each counted launch came to, and the figures that follow from that."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias, TypeVar

from irbench.core.record import Failure
from irbench.core.row import UNFINISHED_TEXT, LaunchesStop, RowHead, TableHead, WithEnds
from irbench.perf_events.counter_plan import Counting
from irbench.perf_events.obstacles import Obstacle
from irbench.perf_events.perf_output import CountedPhase, EventCount
from irbench.perf_events.topdown import TopdownMethod

TimelineStop: TypeAlias = Literal["budget", "interrupt"]
"""Why not every row has a timeline; the counters of the table are whole."""
COUNTER_STOP_TEXTS: Mapping[LaunchesStop, str] = {
    "launches": "all launches made",
    "budget": "the budget has no time for another launch",
    "interrupt": "interrupted",
    "failures": "no row could be counted",
    "unfinished": UNFINISHED_TEXT,
}
"""Why counting ended."""


@dataclass(frozen=True)
class PhaseCounts:
    """What one phase of one launch came to, raw.

    Attributes:
        events: Counts by event, those included that only a formula needs.
        shares: Of the slots of the pipeline, from 0 to 1, by name.
        inferences: That were made while the counters ran; 0 in the phases that are counted as a whole.
    """

    events: Mapping[str, EventCount]
    shares: Mapping[str, float] = field(default_factory=dict[str, float])
    inferences: int = 0


@dataclass(frozen=True)
class CountedLaunch:
    """One launch, raw.

    Attributes:
        round: Counted from 0.
        phases: What each phase came to.
        nodes_missing: Why toplev reported no nodes in this launch; null where it did, or was not asked.
    """

    round: int
    phases: Mapping[CountedPhase, PhaseCounts]
    nodes_missing: Obstacle | None = None


@dataclass(frozen=True)
class PhaseTimeline:
    """How counts went on within one phase of a launch of its own.

    Attributes:
        phase: The phase that was counted.
        step_s: Duration of each step, in seconds; the last one is what was left.
        counts: In each step, by event; null where an event was not on a counter.
    """

    phase: CountedPhase
    step_s: tuple[float, ...]
    counts: Mapping[str, tuple[float | None, ...]]


@dataclass(frozen=True)
class CounterFigure(WithEnds):
    """One figure of one phase, over launches.

    Attributes:
        phase: It; figures of ``inference`` are for one inference, those of others for the whole phase.
        name: An event, ``ipc``, the name of a share of events, or that of a share of slots; on a processor with several
            kinds of cores a share of slots is that of one of them, ``cpu_core/retiring/``.
        unit: ``ms`` for clocks, ``share`` for shares from 0 to 1, empty for counts and ratios.
        value: The median over launches; null where it was not counted in any.
        confidence: Of the interval; null without one.
        launches: In how many it was counted.
        running_share: The smallest share of the time for which an event it is made of was on a counter; below 1 the
            counts are scaled, because there were more events than counters.
    """

    phase: CountedPhase
    name: str
    unit: str = ""
    value: float | None = None
    confidence: float | None = None
    launches: int = 0
    running_share: float = 1.0


@dataclass(frozen=True, kw_only=True)
class CounterRow(RowHead):
    """One row of a table whose speeds were measured before.

    Attributes:
        id: Of the cell; that of its row among the speeds too.
        inferences: That were counted, in all launches together.
        figures: Phase by phase.
        launches: Every counted launch, raw.
        timeline: Of a launch of its own; empty without ``--timeline``.
        timeline_failure: Why that launch gave none; the figures are those of the launches before.
    """

    inferences: int = 0
    figures: tuple[CounterFigure, ...] = ()
    launches: tuple[CountedLaunch, ...] = ()
    timeline: tuple[PhaseTimeline, ...] = ()
    timeline_failure: Failure | None = None


@dataclass(frozen=True, kw_only=True)
class CountedWith:
    """How counts were taken, from launches whose times are not used.

    Attributes:
        asked: Groups and events, as the user named them.
        events: Those of them that were counted, by name.
        perf_version: Of the program that counted.
        topdown: Whose formula the shares of slots are of; null without shares.
        level: The level of Top-Down that toplev was asked for; null without.
        user_only: Whether the kernel's part is left out.
        unavailable: What was asked for and cannot be counted on this machine, and why.
    """

    asked: tuple[str, ...]
    events: tuple[str, ...]
    perf_version: str
    confidence: float
    stopped_by: LaunchesStop = "unfinished"
    seconds: float = 0.0
    topdown: TopdownMethod | None = None
    level: int | None = None
    user_only: bool = False
    unavailable: Mapping[str, Obstacle] = field(default_factory=dict[str, Obstacle])


Counts = TypeVar("Counts", bound=CountedWith)


def counted_with(kind: type[Counts], counting: Counting, **facts: Any) -> Counts:
    """Return counts of any kind with what is known of how they are taken."""
    return kind(
        asked=counting.plan.asked,
        events=counting.events,
        perf_version=counting.version,
        topdown=counting.topdown,
        level=counting.level,
        user_only=counting.user_only,
        unavailable=counting.unavailable,
        **facts,
    )


@dataclass(frozen=True, kw_only=True)
class CounterTable(CountedWith, TableHead):
    """The counters of the rows of one table of speeds, from launches whose times are not used.

    Attributes:
        table: Place of the table of speeds in the run, counted from 0.
        preview: Whether there are too few launches for intervals.
        timeline_ms: Duration of each step of the timelines; null without.
        timelines_stopped_by: Why no further timeline was taken; null where each row has had its turn.
    """

    table: int
    rounds: int
    preview: bool
    timeline_ms: int | None = None
    timelines_stopped_by: TimelineStop | None = None
    rows: tuple[CounterRow, ...] = ()
