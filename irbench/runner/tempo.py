"""How many samples and blocks a launch takes, from the speeds of its warm-up and the time that is left."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from irbench.notices import Warn
from irbench.runner.forecast import Forecast
from irbench.runner.turn import Turn
from irbench.spec import Timing
from irbench.stats import LaunchCost, fits, launch_size, least_seconds, samples_per_round

__all__ = ["Starts", "Tempo", "choose_tempo"]


@dataclass(frozen=True)
class Starts:
    """What launches take until their first block, in seconds.

    Attributes:
        now_s: This launch.
        later_s: Those that follow.
    """

    now_s: float
    later_s: float


@dataclass(frozen=True)
class Tempo:
    """How a launch is measured.

    Attributes:
        samples: Samples per round, by cell id.
        timing: The protocol's numbers, with the blocks of this launch; without tails where they do not fit.
        warnings: What was omitted.
    """

    samples: Mapping[str, int]
    timing: Timing
    warnings: tuple[Warn, ...] = ()


def choose_tempo(turn: Turn, forecast: Forecast, starts: Starts) -> Tempo:
    """Return how many samples and blocks the speeds seen in the warm-up allow.

    The first launch omits tails where the launches that an interval needs would not fit into the budget with them.

    Args:
        turn: Says what time is left, and what earlier launches decided.
        forecast: The protocol's numbers, and the speeds.
        starts: What this launch and later ones take until their first block.
    """
    tempo, cost = _sized(turn, forecast, starts)
    late_s = least_seconds(tempo.timing, cost, turn.room.needed) - turn.room.until_s
    if not tempo.timing.tail or turn.number > 0 or late_s <= 0:
        return tempo
    timing = forecast.timing
    facts = {
        "calls": timing.tail_calls,
        "seconds": forecast.tails_s,
        "launches": turn.room.needed,
        "needed_s": timing.budget + late_s,
    }
    without, _ = _sized(turn, replace(forecast, timing=replace(timing, tail=False)), starts)
    return replace(without, warnings=(Warn("tail-omitted", facts),))


def _sized(turn: Turn, forecast: Forecast, starts: Starts) -> tuple[Tempo, LaunchCost]:
    timing = forecast.timing
    streams = {cell.id: cell.load.streams for cell in turn.cells if cell.id in forecast.speeds}
    completion_ns = {cell: forecast.speeds[cell].completion_ns for cell in streams}
    # a row that failed in this launch keeps the samples it had in an earlier one, and has no speed now
    samples = {cell: count for cell, count in turn.samples.items() if cell in streams}
    samples = samples or samples_per_round(completion_ns, streams, timing)
    cost = forecast.cost(starts.now_s, starts.later_s, samples)
    if not turn.samples and not fits(timing, cost, turn.room):
        samples = samples_per_round(completion_ns, streams, replace(timing, min_calls=1))
        cost = forecast.cost(starts.now_s, starts.later_s, samples)
    return Tempo(samples, launch_size(timing, cost, turn.room, turn.scatters)), cost
