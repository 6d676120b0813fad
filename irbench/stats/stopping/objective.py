"""What rows are compared by: a time per call, per sample, or of processors per sample."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from irbench.core.record import CellLaunch, Round
from irbench.spec import Objective
from irbench.stats.rounds import round_statistic_ns

_SHORTEST_NS = 1e-3
"""Keeps logarithms finite where the kernel saw no processor time."""


def round_cost_ns(objective: Objective, *, adds_up: bool = False) -> Callable[[CellLaunch, Round, int], float]:
    """Return the function that reduces a round to what is compared, in nanoseconds: the less, the better.

    Of ``latency`` the median time of a call; of ``fps`` the time per completed sample; of ``cost`` the processor time
    per completed sample, spinning included: the share of the round that the process' threads ran, in processors, times
    the time per sample.

    Args:
        objective: What rows are compared by.
        adds_up: Whether rounds are to be averaged: of ``latency`` it is then the mean time of a call. Where calls are
            slow only while something else runs, a median is that of whichever are more, and jumps with their share.
    """
    return _time_per_call if adds_up and objective == "latency" else _COSTS[objective]


def _latency(launch: CellLaunch, round_: Round, _batch: int) -> float:
    return round_statistic_ns(round_, launch.calls_per_sample, by_completion=False)


def _time_per_call(launch: CellLaunch, round_: Round, _batch: int) -> float:
    return round_statistic_ns(round_, launch.calls_per_sample, by_completion=True)


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
