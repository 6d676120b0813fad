"""Which counters ``irbench run --counters`` has on this machine."""

from __future__ import annotations

from irbench.counters import GROUPS, CounterPlan
from irbench.diagnostics.facts import CounterFacts
from irbench.measure.counter_support import counting_for


def describe_counters() -> CounterFacts:
    """Return which groups of counters are available, and why others are not; perf counts a short program for that."""
    counting = counting_for(CounterPlan(tuple(GROUPS)))
    return CounterFacts(
        version=counting.version or None,
        available=tuple(name for name in GROUPS if name not in counting.unavailable),
        unavailable={name: counting.unavailable[name] for name in GROUPS if name in counting.unavailable},
    )
