"""What rows are compared by: a time per call, per sample, or of processors per sample."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from irbench.record import CellLaunch, LaunchRecord, Round
from irbench.spec import Group, Objective
from irbench.stats.estimators import percentile
from irbench.stats.rounds import call_latency_ns, round_statistic_ns

__all__ = ["above_max_latency", "round_cost_ns"]

_SHORTEST_NS = 1e-3
"""Keeps logarithms finite where the kernel saw no processor time."""


def round_cost_ns(objective: Objective) -> Callable[[CellLaunch, Round, int], float]:
    """Return the function that reduces a round to what is compared, in nanoseconds: the less, the better.

    Of ``latency`` the median time of a call; of ``fps`` the time per completed sample; of ``cost`` the processor time
    per completed sample, spinning included: the share of the round that the process' threads ran, in processors, times
    the time per sample.
    """
    return _COSTS[objective]


def above_max_latency(group: Group, records: Sequence[LaunchRecord]) -> Mapping[str, float]:
    """Return the cells whose p90 latency is above what the group's goal allows, with it in milliseconds.

    It is the median over launches of each launch's 90th percentile, burn-in left out where there is more.
    """
    bound_ms = group.goal.max_latency_ms if group.goal is not None else None
    if bound_ms is None:
        return {}
    measured = {
        cell.id: [launch for record in records for launch in record.cells if launch.cell == cell.id]
        for cell in group.cells
    }
    found = {cell: statistics.median(map(_p90_ms, launches)) for cell, launches in measured.items() if launches}
    return {cell: p90_ms for cell, p90_ms in found.items() if p90_ms > bound_ms}


def _p90_ms(launch: CellLaunch) -> float:
    counted = [round_ for round_ in launch.rounds if round_.block > 0] or launch.rounds
    calls = [call_latency_ns(round_, launch.calls_per_sample) for round_ in counted]
    return percentile(np.concatenate(calls) / 1e6, 90) if calls else 0.0


def _latency(launch: CellLaunch, round_: Round, _batch: int) -> float:
    return round_statistic_ns(round_, launch.calls_per_sample, by_completion=False)


def _time_per_sample(launch: CellLaunch, round_: Round, batch: int) -> float:
    return round_statistic_ns(round_, launch.calls_per_sample, by_completion=True) / batch


def _processor_time_per_sample(launch: CellLaunch, round_: Round, batch: int) -> float:
    processors = round_.evidence.cpu_ns / max(1, round_.evidence.wall_ns)
    return max(processors * _time_per_sample(launch, round_, batch), _SHORTEST_NS)


_COSTS: Mapping[Objective, Callable[[CellLaunch, Round, int], float]] = {
    "latency": _latency,
    "fps": _time_per_sample,
    "cost": _processor_time_per_sample,
}
