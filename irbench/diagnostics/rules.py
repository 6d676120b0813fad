"""Apply all rules to the observations of a machine; findings in the order of their usual effect."""

from __future__ import annotations

from irbench.diagnostics.facts import Facts
from irbench.diagnostics.finding import Finding
from irbench.diagnostics.rules_activity import core_to_core, crowded, quota, stolen
from irbench.diagnostics.rules_machine import (
    affinity,
    clock,
    counters,
    freezing,
    governor,
    memory,
    schedstat,
    siblings,
    swap,
    turbo,
    virtual,
)

_RULES = (
    crowded,
    freezing,
    quota,
    stolen,
    core_to_core,
    governor,
    turbo,
    siblings,
    schedstat,
    memory,
    swap,
    clock,
    affinity,
    virtual,
    counters,
)
"""By what they usually cost: from half of the speed down to what concerns only some runs; last what nothing fixes."""


def find(facts: Facts) -> tuple[Finding, ...]:
    """Return what disturbs measurement, in the order of what it usually costs."""
    return tuple(finding for rule in _RULES for finding in rule(facts))
