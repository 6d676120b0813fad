"""What a run is asked to count, and what of that this machine counts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from irbench.perf_events.obstacles import Obstacle
from irbench.perf_events.perf_output import EventCount, PerfReading
from irbench.perf_events.topdown import TopdownMethod, events_of_method, is_grouped


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


@dataclass(frozen=True)
class Counting:
    """How this machine counts what was asked for.

    Attributes:
        topdown: Whose formula gives the shares of slots; ``None`` where they were not asked for, or cannot be had.
        metric_group: perf's own group of metrics, where ``topdown`` is ``perf``.
        toplev: The program that gives deeper levels; ``None`` without.
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
        arguments = ["-e", ",".join(self.events)] if self.events else []
        if self.metric_group is not None:
            arguments += ["-M", self.metric_group]
        elif self.topdown is not None and is_grouped(self.topdown):
            arguments += ["-e", f"{{{','.join(events_of_method(self.topdown))}}}"]
        return tuple(arguments)
