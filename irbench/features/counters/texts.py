"""Words of counters: figures, phases, and formulas."""

from __future__ import annotations

from collections.abc import Sequence

from irbench.core.counter_row import CountedLaunch
from irbench.core.quantities import NOT_MEASURED, plural, significant
from irbench.counters.topdown import kind_and_share

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


_PREFIXES = ((1e9, 1e9, "G"), (1e6, 1e6, "M"), (1e4, 1e3, "k"))
"""From which value on which prefix is written, and what it stands for."""


def nodes_missing_text(launches: Sequence[CountedLaunch]) -> str | None:
    """Return in how many launches toplev reported no nodes, with its last reason; ``None`` if in none."""
    missing = [launch.nodes_missing for launch in launches if launch.nodes_missing is not None]
    if not missing:
        return None
    return f"in {len(missing)} of {plural(len(launches), 'launch')} {missing[-1].why()}"


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
