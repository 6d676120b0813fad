"""How many samples and blocks a launch takes, from the speeds of its warm-up and the time that is left."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from irbench.notices import Warn
from irbench.notices.warnings import TailOmitted
from irbench.runner.forecast import Forecast
from irbench.runner.turn import Turn
from irbench.spec import Timing
from irbench.stats import (
    LaunchCost,
    equal_calls,
    fewest_calls,
    fits,
    launch_size,
    least_seconds,
    samples_per_round,
    whole_turns,
)


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
        stride: Calls from the beginning of a block to that of the next, for all cells alike, where samples take turns.
    """

    samples: Mapping[str, int]
    timing: Timing
    warnings: tuple[Warn, ...] = ()
    stride: int = 0

    def blocks_that_count(self, blocks: int) -> int:
        """Return how many of a launch's first blocks are none of its burn-in."""
        return max(0, blocks - self.timing.burn_in_blocks)


def choose_tempo(turn: Turn, forecast: Forecast, starts: Starts, feeds: int) -> Tempo:
    """Return how many samples and blocks the speeds seen in the warm-up allow.

    A launch with new cells omits tails where the launches that an interval needs would not fit into the budget with
    them.

    Args:
        turn: Says what time is left, and what earlier launches decided.
        forecast: The protocol's numbers, and the speeds.
        starts: What this launch and later ones take until their first block.
        feeds: How many feeds take turns.
    """
    tempo, cost = _sized(turn, forecast, starts, feeds)
    late_s = least_seconds(tempo.timing, cost, turn.room.needed) - turn.room.until_s
    if not tempo.timing.tail or not turn.new or late_s <= 0:
        return tempo
    timing = forecast.timing
    omitted = TailOmitted(
        calls=timing.tail_calls,
        seconds=forecast.tails_s,
        launches=turn.room.needed,
        needed_s=timing.budget + late_s,
    )
    without, _ = _sized(turn, replace(forecast, timing=replace(timing, tail=False)), starts, feeds)
    return replace(without, warnings=(omitted,))


def _sized(turn: Turn, forecast: Forecast, starts: Starts, feeds: int) -> tuple[Tempo, LaunchCost]:
    """Return the most samples per round that fit into the time, and the blocks that fit then."""
    timing = forecast.timing
    # a row that failed in this launch keeps the samples it had in an earlier one, and has no speed now
    kept = {cell: count for cell, count in turn.samples.items() if cell in forecast.speeds}
    known = kept.keys() == forecast.speeds.keys()
    choices = iter([kept] if known else ({**chosen, **kept} for chosen in _choices(turn, forecast, feeds)))
    samples = next(choices)
    cost = forecast.cost(starts.now_s, starts.later_s, samples)
    for fewer in choices:
        if fits(timing, cost, turn.room):
            break
        samples = fewer
        cost = forecast.cost(starts.now_s, starts.later_s, samples)
    return Tempo(samples, launch_size(timing, cost, turn.room, turn.scatters), stride=_stride(samples, forecast)), cost


def _stride(samples: Mapping[str, int], forecast: Forecast) -> int:
    return fewest_calls(samples, {cell: forecast.speeds[cell].calls_per_sample for cell in samples}) if samples else 0


def _choices(turn: Turn, forecast: Forecast, feeds: int) -> Iterator[dict[str, int]]:
    """Yield samples per round, the most first."""
    timing, speeds = forecast.timing, forecast.speeds
    streams = {cell.id: cell.load.concurrency for cell in turn.cells if cell.id in speeds}
    completion_ns = {cell: speeds[cell].completion_ns for cell in streams}
    usual, fewest = (
        samples_per_round(completion_ns, streams, numbers)
        for numbers in (timing, replace(timing, min_calls=1, calls_per_stream=1))
    )
    if feeds == 1 or not usual:
        yield from (usual, fewest)
        return
    calls = {cell: speeds[cell].calls_per_sample for cell in streams}
    yield from (whole_turns(samples, calls, streams, feeds) for samples in (usual, fewest))
    yield from (equal_calls(samples, calls, streams) for samples in (usual, fewest))
