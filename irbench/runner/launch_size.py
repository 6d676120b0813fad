"""How many samples and blocks a launch takes, from the speeds of its warm-up and the time that is left."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from irbench.notices import Warn
from irbench.notices.warnings import TailOmitted
from irbench.runner.launch_state import LaunchInputs
from irbench.spec import Cell, Group, Timing
from irbench.stats.launch_planning import (
    LaunchCost,
    equal_calls,
    fewest_calls,
    fits,
    launch_size,
    least_seconds,
    mean_round_s,
    same_mix,
    samples_per_round,
    whole_turns,
)
from irbench.stats.run_modes.paced import paced_calls
from irbench.worker.cell import Warmed


@dataclass(frozen=True)
class RunAlone:
    """How a cell runs alone and uninterrupted.

    Attributes:
        samples: How many it takes; ``None`` for as many as last ``seconds``.
        first: Place of the sample that it begins with, where samples take turns.
    """

    seconds: float
    expected_s: float
    samples: int | None = None
    first: int = 0


@dataclass(frozen=True)
class Forecast:
    """What a launch will take on a quiet machine.

    Attributes:
        speeds: How each cell's warm-up ended, by cell id.
        answers: How often each cell answers once more after the blocks of this launch.
        beginnings_s: How long the parts of training steps take in a launch, in seconds, wanted or not.
        on_gpu: Ids of the cells that run on a GPU.
    """

    timing: Timing
    speeds: Mapping[str, Warmed]
    answers: int = 0
    beginnings_s: float = 0.0
    on_gpu: frozenset[str] = frozenset()

    def timing_of(self, cell: str) -> Timing:
        """Return the numbers of a cell's rounds."""
        return self.timing.on_gpu() if cell in self.on_gpu else self.timing

    def calls_s(self, cell: str, calls: int) -> float:
        """Return how long so many calls of a cell take, in seconds."""
        return calls * self.speeds[cell].completion_ns / 1e9

    def round_s(self, cell: str, samples: int) -> float:
        """Return how long a round of so many samples takes, its settle calls included, in seconds."""
        calls_s = self.calls_s(cell, samples * self.speeds[cell].calls_per_sample)
        return mean_round_s(calls_s, self.calls_s(cell, 1), self.timing_of(cell))

    def runs_alone(self, group: Group, launch: int) -> dict[str, RunAlone]:
        """Return how each cell runs alone in a launch; where samples take turns, with the same mix of them for all.

        What is left over of a turn goes on in the next launch.
        """
        seconds, speeds, feeds = self.timing.sustain, self.speeds, group.feeds
        if feeds == 1 or not speeds:
            return {cell: RunAlone(seconds, seconds) for cell in speeds}
        calls = {cell: speed.calls_per_sample for cell, speed in speeds.items()}
        streams = {cell.id: cell.load.concurrency for cell in group.cells if cell.id in speeds}
        lasting = {cell: math.ceil(seconds / self.calls_s(cell, calls[cell])) for cell in speeds}
        samples = same_mix(lasting, calls, streams, feeds)
        first = launch * fewest_calls(samples, calls)
        expected_s = {cell: self.calls_s(cell, count * calls[cell]) for cell, count in samples.items()}
        return {cell: RunAlone(seconds, expected_s[cell], samples[cell], first) for cell in samples}

    def paced_calls(self, cell: Cell) -> int:
        """Return how many calls of a cell are timed at the pace."""
        return paced_calls(self.speeds[cell.id].completion_ns, cell.load.concurrency, self.timing)

    def paced_s(self, cell: str, calls: int) -> float:
        """Return how long so many calls at the pace take, in seconds."""
        return calls * max(self.timing.pace, self.speeds[cell].completion_ns / 1e9)

    @property
    def tails_s(self) -> float:
        """How long the runs for tail percentiles take in a launch, in seconds, wanted or not."""
        return sum(self.calls_s(cell, self.timing.tail_calls) for cell in self.speeds)

    @property
    def after_blocks_s(self) -> float:
        """How long everything after the blocks takes, in seconds: that of each launch, and answers to be verified."""
        return self._after_each_s + sum(self.calls_s(cell, self.answers) for cell in self.speeds)

    def cost(self, start_s: float, later_start_s: float, samples: Mapping[str, int]) -> LaunchCost:
        """Return what this launch and later ones cost; what follows their blocks counts as a part of their starts."""
        block_s = sum(self.round_s(cell, count) for cell, count in samples.items())
        return LaunchCost(start_s + self.after_blocks_s, block_s, later_start_s + self._after_each_s)

    @property
    def _after_each_s(self) -> float:
        """How long what follows the blocks of each launch takes, in seconds: parts of steps, and runs alone."""
        tails_s = self.tails_s if self.timing.tail else 0.0
        idle_s = self.timing.idle if self.timing.energy else 0.0
        beginnings_s = self.beginnings_s if self.timing.beginnings else 0.0
        return beginnings_s + tails_s + self._paced_s + idle_s + len(self.speeds) * self.timing.sustain

    @property
    def _paced_s(self) -> float:
        """How long the runs at the pace take in a launch, in seconds, whatever the inferences in flight."""
        if not self.timing.pace:
            return 0.0
        calls = {cell: paced_calls(speed.completion_ns, 1, self.timing) for cell, speed in self.speeds.items()}
        return sum(self.paced_s(cell, count) for cell, count in calls.items())


@dataclass(frozen=True)
class Starts:
    """What launches take until their first block, in seconds."""

    now_s: float
    later_s: float


_FREE = LaunchCost(0.0, 0.0)
_LEFT_OVER_SHARE = 0.2
"""Of the time that is left, what parts of training steps must leave over: launches often take longer than foretold."""


@dataclass(frozen=True)
class Tempo:
    """How a launch is measured.

    Attributes:
        samples: Samples per round, by cell id.
        timing: The protocol's numbers, with the blocks of this launch; without tails where they do not fit.
        warnings: What was omitted.
        stride: Calls from the beginning of a block to that of the next, for all cells alike, where samples take turns.
        cost: What the launch takes, as its warm-up foretells it.
        late_s: By how much the launches without which there is no interval exceed the budget, in seconds; 0 or less
            where they fit.
    """

    samples: Mapping[str, int]
    timing: Timing
    warnings: tuple[Warn, ...] = ()
    stride: int = 0
    late_s: float = 0.0
    cost: LaunchCost = _FREE

    @property
    def expected_s(self) -> float:
        """How long the launch takes with its blocks, from its start."""
        return self.cost.start_s + (self.timing.blocks + self.timing.burn_in_blocks) * self.cost.block_s

    def blocks_that_count(self, blocks: int) -> int:
        """Return how many of a launch's first blocks are not part of its burn-in."""
        return max(0, blocks - self.timing.burn_in_blocks)


def choose_tempo(inputs: LaunchInputs, forecast: Forecast, starts: Starts, feeds: int) -> Tempo:
    """Return how many samples and blocks the speeds seen in the warm-up allow.

    A launch with new cells omits tails where the launches that an interval needs would not fit into the budget with
    them, and parts of training steps where those would hardly fit with them.
    """
    tempo = _sized(inputs, forecast, starts, feeds)
    if not inputs.new:
        return tempo
    is_divided = forecast.beginnings_s > 0 and tempo.timing.beginnings
    if is_divided and tempo.late_s > -_LEFT_OVER_SHARE * inputs.room.until_s:
        forecast = replace(forecast, timing=replace(forecast.timing, beginnings=False))
        tempo = _sized(inputs, forecast, starts, feeds)
    if not tempo.timing.tail or tempo.late_s <= 0:
        return tempo
    timing = forecast.timing
    omitted = TailOmitted(
        calls=timing.tail_calls,
        seconds=forecast.tails_s,
        launches=inputs.room.needed,
        needed_s=timing.before_s + timing.budget + tempo.late_s,
    )
    without = _sized(inputs, replace(forecast, timing=replace(timing, tail=False)), starts, feeds)
    return replace(without, warnings=(omitted,))


def _sized(inputs: LaunchInputs, forecast: Forecast, starts: Starts, feeds: int) -> Tempo:
    """Return the most samples per round that fit into the time, and the blocks that fit then."""
    timing = forecast.timing
    # a row that failed in this launch keeps the samples it had in an earlier one, and has no speed now
    kept = {cell: count for cell, count in inputs.samples.items() if cell in forecast.speeds}
    known = kept.keys() == forecast.speeds.keys()
    choices = iter([kept] if known else ({**chosen, **kept} for chosen in _choices(inputs, forecast, feeds)))
    samples = next(choices)
    cost = forecast.cost(starts.now_s, starts.later_s, samples)
    for fewer in choices:
        if fits(timing, cost, inputs.room):
            break
        samples = fewer
        cost = forecast.cost(starts.now_s, starts.later_s, samples)
    sized = launch_size(timing, cost, inputs.room, inputs.scatters)
    late_s = least_seconds(sized, cost, inputs.room.needed) - inputs.room.until_s
    return Tempo(samples, sized, stride=_stride(samples, forecast), late_s=late_s, cost=cost)


def _stride(samples: Mapping[str, int], forecast: Forecast) -> int:
    return fewest_calls(samples, {cell: forecast.speeds[cell].calls_per_sample for cell in samples}) if samples else 0


def _choices(inputs: LaunchInputs, forecast: Forecast, feeds: int) -> Iterator[dict[str, int]]:
    """Yield samples per round, the most first."""
    speeds = forecast.speeds
    timing = forecast.timing.on_gpu() if forecast.on_gpu & speeds.keys() else forecast.timing
    streams = {cell.id: cell.load.concurrency for cell in inputs.cells if cell.id in speeds}
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
