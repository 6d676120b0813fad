"""How many samples a round has, and how many blocks a launch, by the speeds that the warm-up found."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from irbench.runner.forecast import Forecast
from irbench.runner.turn import Tempo, Turn
from irbench.spec import Timing
from irbench.stats import equal_calls, fits, launch_size, samples_per_round, whole_turns

__all__ = ["WarmedGroup", "choose_tempo"]


@dataclass(frozen=True)
class WarmedGroup:
    """The cells of a launch after their warm-up.

    Attributes:
        forecast: What calls will take, by the warm-up.
        streams: Inferences in flight, by cell id.
        feeds: How many feeds take turns.
        answers: How often each cell answers once more after the blocks.
        start_s: What the launch took so far.
        later_start_s: What later launches will take until their first block.
    """

    forecast: Forecast
    streams: Mapping[str, int]
    feeds: int
    answers: int
    start_s: float
    later_start_s: float


def choose_tempo(group: WarmedGroup, turn: Turn, timing: Timing) -> Tempo:
    """Return the most samples per round that fit into the time, and the blocks that fit then.

    Args:
        group: The cells of the launch.
        turn: What is known before it; later launches keep the samples of the first.
        timing: The protocol's numbers.
    """
    # a row that failed in this launch keeps the samples it had in an earlier one, and has no speed now
    kept = {cell: count for cell, count in turn.samples.items() if cell in group.streams}
    choices = iter([kept]) if kept else _choices(group, timing)
    samples = next(choices)
    cost = group.forecast.cost(group.start_s, group.later_start_s, samples, group.answers)
    for fewer in choices:
        if fits(timing, cost, turn.room):
            break
        samples = fewer
        cost = group.forecast.cost(group.start_s, group.later_start_s, samples, group.answers)
    return Tempo(samples, launch_size(timing, cost, turn.room, turn.scatters))


def _choices(group: WarmedGroup, timing: Timing) -> Iterator[dict[str, int]]:
    """Yield samples per round, the most first."""
    speeds = group.forecast.speeds
    completion_ns = {cell: speeds[cell].completion_ns for cell in group.streams}
    usual, fewest = (
        samples_per_round(completion_ns, group.streams, numbers) for numbers in (timing, replace(timing, min_calls=1))
    )
    if group.feeds == 1 or not usual:
        yield from (usual, fewest)
        return
    calls = {cell: speeds[cell].calls_per_sample for cell in group.streams}
    yield from (whole_turns(samples, calls, group.streams, group.feeds) for samples in (usual, fewest))
    yield from (equal_calls(samples, calls, group.streams) for samples in (usual, fewest))
