"""What a run counts besides speeds, and whether this machine can, before anything is measured."""

from __future__ import annotations

from dataclasses import replace

from irbench.errors import IrbenchError
from irbench.measure.counter_support import counting_for
from irbench.options.run import RunOptions
from irbench.perf_events.counter_plan import CounterPlan, Counting
from irbench.perf_events.obstacles import not_counted
from irbench.stats.intervals import FEWEST_LAUNCHES

_QUICK_LAUNCHES, _THOROUGH_LAUNCHES = 3, 10


def counting_of(options: RunOptions) -> Counting | None:
    """Return how this machine counts what is asked for; ``None`` where nothing is."""
    if options.counters is None:
        if options.timeline is not None:
            raise IrbenchError("--timeline shows counters.", hint="Say which: `--counters software`, for example.")
        return None
    counting = counting_for(CounterPlan(options.counters, _milliseconds(options.timeline), _launches(options)))
    if counting.counts_nothing:
        raise _impossible(counting)
    if counting.plan.timeline_ms is not None and not counting.events:
        raise IrbenchError("A timeline needs an event that can be counted.", hint="Add a group: software, for example.")
    return counting


def with_cycles(counting: Counting | None) -> Counting | None:
    """Return a counting that has cycles where toplev tells shares of slots: they weight those of several models."""
    if counting is None or counting.toplev is None or "cycles" in counting.events:
        return counting
    cycles = counting_for(CounterPlan(("cycles",)))
    return replace(
        counting,
        events=(*counting.events, *cycles.events),
        perf_names={**counting.perf_names, **cycles.perf_names},
        user_only=counting.user_only or cycles.user_only,
        unavailable={**counting.unavailable, **cycles.unavailable},
    )


def _impossible(counting: Counting) -> IrbenchError:
    reasons = list(not_counted(counting.plan.asked, counting.unavailable))
    (names, obstacle), *others = reasons
    return IrbenchError(
        f"`--counters {names}` cannot be counted: {obstacle.why()}.",
        hint=obstacle.remedy(),
        details=[f"{also}: {reason.why()}." for also, reason in others],
    )


def _milliseconds(timeline_s: float | None) -> int | None:
    return None if timeline_s is None else round(1e3 * timeline_s)


def _launches(options: RunOptions) -> int:
    return _QUICK_LAUNCHES if options.quick else _THOROUGH_LAUNCHES if options.thorough else FEWEST_LAUNCHES
