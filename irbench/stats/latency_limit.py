"""Rows that answer later than was asked for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from irbench.core.record import LaunchRecord
from irbench.spec import Group
from irbench.stats.eligibility import Eligibility
from irbench.stats.figures import Rounds, by_launch, percentile_ms, rounds_that_count, supports_p90
from irbench.stats.intervals import median
from irbench.stats.observed import Observed


def within_max_latency(
    eligibility: Eligibility, group: Group, records: Sequence[LaunchRecord], launches: Sequence[Observed]
) -> Eligibility:
    """Return the eligibility with the cells whose p90 latency is above what the group's goal allows.

    It is the table's: the median over launches, over the blocks that count. Where a launch has too few calls to bound
    it, a cell is above only if its median latency is.

    Args:
        eligibility: Every cell's part.
        group: Says what is allowed.
        records: Its launches.
        launches: The same, reduced.
    """
    limit_ms = group.goal.max_latency_ms if group.goal is not None else None
    if limit_ms is None:
        return eligibility
    rounds = {cell: rounds_that_count(records, launches, cell) for cell in eligibility.healthy}
    latencies_ms = {cell: _latency_ms(own) for cell, own in rounds.items() if own}
    return replace(eligibility, too_slow={cell: ms for cell, ms in latencies_ms.items() if ms > limit_ms})


def _latency_ms(rounds: Rounds) -> float:
    launches = by_launch(rounds)
    percent = 90 if all(map(supports_p90, launches)) else 50
    return median([percentile_ms(percent)(own) for own in launches])
