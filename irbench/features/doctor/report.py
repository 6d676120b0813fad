"""All that the doctor found, as one value."""

from __future__ import annotations

import statistics
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from irbench.features.doctor.findings import Finding
from irbench.features.doctor.machine import Facts
from irbench.features.doctor.self_comparison import SelfComparison
from irbench.measure.overhead import Overhead, Repeats
from irbench.roofline import MachinePeaks

GOAL_NS = 300.0
"""What a timed call may cost beyond a bare loop."""
NotKept = Literal["restricted", "no-products", "no-bandwidth", "fewer-cores"]
"""Why peaks that were measured are not kept for the machine: a backend or processors were chosen, or something is
missing that is known already."""


@dataclass(frozen=True)
class PeakReport:
    """What the machine attains at most.

    Attributes:
        peaks: As they are known; ``None`` where a measurement was interrupted and nothing was known before.
        outcome: Whether they were measured now, were kept since an earlier measurement, or are those of an earlier one
            because this one was interrupted.
        now: What their age is counted from, in UTC.
        not_kept: Why those that were measured now are not kept; ``None`` where they are.
    """

    peaks: MachinePeaks | None
    outcome: Literal["measured", "kept", "interrupted"]
    now: datetime
    not_kept: NotKept | None = None


@dataclass(frozen=True)
class Report:
    """What was found.

    Attributes:
        facts: What was seen of the machine.
        findings: What disturbs measurement, in the order of what it usually costs.
        overhead: What irbench's own loop costs.
        self_comparison: A backend against itself; ``None`` where that was not asked for.
        peak: What the machine attains at most; ``None`` where that is not known and was not asked for.
    """

    facts: Facts
    findings: tuple[Finding, ...]
    overhead: Overhead
    self_comparison: SelfComparison | None = None
    peak: PeakReport | None = None


def quartiles_ns(repeats: Repeats) -> tuple[float, float]:
    """Return between which values the middle half of at least two repeats lies; a disturbed one does not stretch it."""
    low_ns, _, high_ns = statistics.quantiles(repeats.values_ns, n=4, method="inclusive")
    return low_ns, high_ns
