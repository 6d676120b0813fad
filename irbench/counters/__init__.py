"""Hardware and software counters: what can be asked of ``perf stat``, how its answers are read, and what they mean.

Nothing here starts a process or touches a file; :mod:`irbench.measure.perf_stat` does.
"""

from __future__ import annotations

from irbench.counters.perf_output import (
    PHASES,
    RATIOS,
    CountedPhase,
    EventCount,
    PerfReading,
    figures_of,
    has_kind,
    is_user_only,
    matching_names,
    of_kind,
    read_intervals,
    read_perf,
    read_toplev,
    unit_of,
)
from irbench.counters.plan import (
    GROUPS,
    SOFTWARE_EVENTS,
    CounterPlan,
    Counting,
    Obstacle,
    ObstacleCode,
    events_asked,
    obstacle_from_messages,
    parse_counters,
    toplev_level,
)
from irbench.counters.topdown import (
    LEVEL_1,
    SHARES,
    Processor,
    TopdownMethod,
    events_of_method,
    fitting_method,
    kind_and_share,
    metric_group_in,
    shares_named,
    shares_of,
)

__all__ = [
    "GROUPS",
    "LEVEL_1",
    "PHASES",
    "RATIOS",
    "SHARES",
    "SOFTWARE_EVENTS",
    "CountedPhase",
    "CounterPlan",
    "Counting",
    "EventCount",
    "Obstacle",
    "ObstacleCode",
    "PerfReading",
    "Processor",
    "TopdownMethod",
    "events_asked",
    "events_of_method",
    "figures_of",
    "fitting_method",
    "has_kind",
    "is_user_only",
    "kind_and_share",
    "matching_names",
    "metric_group_in",
    "obstacle_from_messages",
    "of_kind",
    "parse_counters",
    "read_intervals",
    "read_perf",
    "read_toplev",
    "shares_named",
    "shares_of",
    "toplev_level",
    "unit_of",
]
