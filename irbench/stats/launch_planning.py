"""The sizes of a measurement: calls per sample, samples per round, the order of a block, blocks per launch."""

from __future__ import annotations

import math
import random
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from irbench.spec import Timing
from irbench.stats.observed import Observed

_EFFICIENCY = math.pi / 3
"""Variance of a Hodges-Lehmann estimate of n normal values, as a multiple of their variance over n."""


@dataclass(frozen=True)
class Scatter:
    """The variance of a log ratio on both levels.

    Attributes:
        between: Of the launches' estimates.
        within: Of the blocks of a launch, mean over launches.
        blocks: In a launch, on average.
        launches: How many launches have shown it.
    """

    between: float
    within: float
    blocks: float
    launches: int

    @property
    def within_estimate(self) -> float:
        """What the blocks alone let a launch's estimate vary by."""
        return _EFFICIENCY * self.within / self.blocks

    @property
    def launch(self) -> float:
        """The variance that launches have of their own; 0 where blocks explain all of it."""
        return max(0.0, self.between - self.within_estimate)


def scatter_of(launches: Sequence[Observed], cell: str, other: str) -> Scatter | None:
    """Return how ln(cell / other) scatters; ``None`` with fewer than two launches of several blocks each."""
    estimates: list[float] = []
    variances: list[float] = []
    counts: list[int] = []
    for launch in launches:
        if not launch.counts_for(cell, other):
            continue
        own, others = launch.log_ns[cell], launch.log_ns[other]
        ratios = [own[block] - others[block] for block in launch.counted if block in own and block in others]
        if len(ratios) > 1:
            estimates.append(statistics.fmean(ratios))
            variances.append(statistics.variance(ratios))
            counts.append(len(ratios))
    if len(estimates) < 2:
        return None
    between, within = statistics.variance(estimates), statistics.fmean(variances)
    return Scatter(between, within, statistics.fmean(counts), len(estimates))


def blocks_worth_taking(scatters: Sequence[Scatter], start_s: float, block_s: float, timing: Timing) -> int:
    """Return how many clean blocks a launch should have so that time buys the most certainty.

    With variance b of blocks and l of launches, a launch of n blocks costs ``start_s + n block_s`` and tells the ratio
    with variance l + b / n; the product is least at n = sqrt(start_s / block_s * b / l). Variances are summed over the
    pairs that are compared, because a single pair's own are known from few launches. Between ``timing.min_blocks`` and
    ``timing.most_blocks``. With fewer than four launches it is at least ``timing.blocks``: their variance may be far
    from the true one.
    Source: Kalibera and Jones, "Rigorous Benchmarking in Reasonable Time", ISMM 2013, section 6.

    Without scatters it is ``timing.blocks``.
    """
    within = _EFFICIENCY * sum(scatter.within for scatter in scatters)
    if not within or block_s <= 0:
        return timing.blocks
    launch = sum(scatter.launch for scatter in scatters)
    worth = math.sqrt(start_s / block_s * within / launch) if launch else math.inf
    least = timing.min_blocks if all(each.launches >= _LAUNCHES_KNOWN for each in scatters) else timing.blocks
    return round(max(least, min(timing.most_blocks, worth)))


_LAUNCHES_KNOWN = 4
GUESSED_START_S = 1.5
"""What importing, compiling and starting one cell costs before anything is known of it."""
SIDE_BY_SIDE = 0.6
"""What cells that start and compile side by side take, as a share of taking turns: two processors, partly used."""
_LATER_TAKE = 1.1
"""What later launches take at worst, of what the first one foretells: a block less is better than a launch less."""
_SHORT_CALL_NS = 20_000
_SHORTEST_SAMPLE_NS = 50_000
_FARTHEST = 4.0
"""Cells whose calls differ more than this take their own numbers of samples; a common one makes slow rounds long."""

_MEAN_SETTLING = 1.5
"""Settle calls take their shortest time, and by chance up to twice that."""


@dataclass(frozen=True)
class LaunchCost:
    """What one launch costs, in seconds.

    Attributes:
        start_s: Everything in a launch but its blocks: starts, warm-ups, and uninterrupted runs where they are wanted.
        block_s: One round of every cell.
        later_start_s: The same as ``start_s`` of the launches that follow; ``None`` where it will be alike.
    """

    start_s: float
    block_s: float
    later_start_s: float | None = None

    @property
    def later_s(self) -> float:
        """What a later launch costs besides its blocks."""
        return self.start_s if self.later_start_s is None else self.later_start_s


@dataclass(frozen=True)
class Room:
    """What is left for a launch and those that must follow it.

    Attributes:
        left_s: What they are sized for, in seconds.
        launches: How many must fit into it, this one included; one of fewer cells is a part of one.
        end_s: When this one must have ended, in seconds; ``left_s`` unless given.
        needed: Without how many launches there is no interval, this one included; blocks that replace disturbed ones
            leave room for them.
    """

    left_s: float
    launches: float
    end_s: float | None = None
    needed: int = 1

    @property
    def until_s(self) -> float:
        """When this launch must have ended, in seconds from its start."""
        return self.left_s if self.end_s is None else self.end_s


def calls_per_sample(call_ns: float) -> int:
    """Return how many calls one latency sample should last: 1 unless the clock would disturb what it reads.

    A reading costs some 50 ns. Calls below 20 µs are therefore timed together, at least 50 µs at once.
    """
    return 1 if call_ns >= _SHORT_CALL_NS else math.ceil(_SHORTEST_SAMPLE_NS / max(call_ns, 1.0))


def samples_per_round(completion_ns: Mapping[str, float], streams: Mapping[str, int], timing: Timing) -> dict[str, int]:
    """Return how many samples each cell takes in a round: odd, so that the median is one of them.

    A cell with streams takes a multiple of them instead: where requests keep in step they complete in bursts, and only
    whole bursts leave no remainder in completions per window.

    At least ``timing.min_calls``, and enough that a round lasts ``timing.round_seconds``. In a group with streams
    ``timing.stream_round_seconds``, and ``timing.calls_per_stream`` for each stream. All cells take as many as the
    fastest needs, unless their calls differ more than fourfold.
    """
    with_streams = any(streams[cell] > 1 for cell in completion_ns)
    round_ns = 1e9 * (timing.stream_round_seconds if with_streams else timing.round_seconds)
    needed = {
        cell: math.ceil(
            max(
                timing.min_calls,
                timing.calls_per_stream * streams[cell] if with_streams else 0,
                round_ns / (call_ns * (calls_per_sample(call_ns) if streams[cell] == 1 else 1)),
            )
        )
        for cell, call_ns in completion_ns.items()
    }
    if needed and max(completion_ns.values()) <= _FARTHEST * min(completion_ns.values()):
        needed = dict.fromkeys(needed, max(needed.values()))
    return {cell: whole_streams(samples, streams[cell]) for cell, samples in needed.items()}


def settle_calls(completion_ns: float, timing: Timing, generator: random.Random) -> int:
    """Return how many untimed calls a round begins with: as many as last ``timing.settle``, and by chance up to twice.

    Calls that are long at regular intervals would keep in step with rounds of a constant number of calls, and the
    timed window would catch too many of them, or none, in every round.
    """
    fewest = max(1, math.ceil(timing.settle * 1e9 / completion_ns))
    return generator.randint(fewest, 2 * fewest)


def mean_round_s(calls_s: float, call_s: float, timing: Timing) -> float:
    """Return how long a round takes with its settle calls, which last :func:`settle_calls` on average, in seconds."""
    return calls_s + _MEAN_SETTLING * max(timing.settle, call_s)


def fewest_warm_up_calls(timing: Timing, in_flight: int) -> int:
    """Return as few samples of a warm-up as tell a median time per completion, with so many calls in flight."""
    return max(timing.min_calls, 2 * in_flight)


def block_order(
    number: int, cells: Sequence[str], previous: Sequence[str], generator: random.Random
) -> tuple[str, ...]:
    """Return the order of the cells in a block.

    Blocks 0, 2, 4, ... draw a permutation and the one after each is its reverse: over such a pair every cell has
    the same mean position, so that a steady drift of the machine favours nobody.
    """
    if number % 2 and set(cells) <= set(previous):
        return tuple(cell for cell in reversed(previous) if cell in cells)
    order = list(cells)
    generator.shuffle(order)
    return tuple(order)


def behind(costs: Mapping[str, float], timing: Timing) -> frozenset[str]:
    """Return the cells that take no further block of a launch: far behind the best, where the protocol says how far."""
    limit = timing.behind * min(costs.values(), default=0.0)
    return frozenset(cell for cell, cost in costs.items() if timing.behind and cost > limit)


def launch_size(timing: Timing, cost: LaunchCost, room: Room, scatters: Sequence[Scatter]) -> Timing:
    """Return the protocol with the number of blocks of one launch.

    As many as buy the most certainty for their time (:func:`irbench.stats.launch_planning.blocks_worth_taking`), and
    as let all launches that must fit still fit on a quiet machine. Launches are worth more than blocks, because an
    interval is taken over launches: blocks go first, down to ``timing.min_blocks``. Those that replace disturbed ones
    are planned as far as this launch ends in time with them, and the launches that an interval needs still fit.
    """
    worthwhile = blocks_worth_taking(scatters, cost.start_s, cost.block_s, timing)
    smallest_s = cost.later_s + (fewest_blocks(timing) + timing.burn_in_blocks) * cost.block_s
    now = _blocks_in(room.until_s - cost.start_s - (room.needed - 1) * _LATER_TAKE * smallest_s, cost, timing)
    blocks = round(max(fewest_blocks(timing), min(worthwhile, _affordable_blocks(timing, cost, room), now)))
    with_spare = math.ceil(blocks * timing.max_blocks / timing.blocks)
    return replace(timing, blocks=blocks, max_blocks=round(max(blocks, min(with_spare, now))))


def least_seconds(timing: Timing, cost: LaunchCost, launches: int) -> float:
    """Return how long so many launches take with their fewest blocks, this one included, in seconds."""
    blocks_s = (fewest_blocks(timing) + timing.burn_in_blocks) * cost.block_s
    return cost.start_s + blocks_s + (launches - 1) * (cost.later_s + blocks_s)


def fits(timing: Timing, cost: LaunchCost, room: Room) -> bool:
    """Return whether all launches that must fit do with their fewest blocks; see :func:`launch_size`."""
    return _affordable_blocks(timing, cost, room) >= fewest_blocks(timing)


def fewest_blocks(timing: Timing) -> int:
    """Return how many blocks a launch has at least, its burn-in not counted."""
    return min(timing.min_blocks, timing.blocks)


def needs_more_blocks(taken: int, clean: int, timing: Timing) -> bool:
    """Return whether a launch takes another block.

    Until as many are clean as are wanted. Beyond ``timing.blocks`` only while those that replace disturbed ones can
    still make up that number, or the ``timing.min_blocks`` without which a launch counts disturbed ones too.
    """
    if clean >= timing.blocks or taken >= timing.max_blocks:
        return False
    reachable = clean + timing.max_blocks - taken
    return taken < timing.blocks or reachable >= timing.blocks or clean < timing.min_blocks <= reachable


def _affordable_blocks(timing: Timing, cost: LaunchCost, room: Room) -> float:
    launches = max(1, room.launches)
    return _blocks_in((room.left_s - cost.start_s - (launches - 1) * cost.later_s) / launches, cost, timing)


def _blocks_in(seconds: float, cost: LaunchCost, timing: Timing) -> float:
    """Return how many blocks besides the burn-in so much time has room for; fewer than none where it is too short."""
    return math.floor(seconds / cost.block_s) - timing.burn_in_blocks if cost.block_s > 0 else math.inf


def least_table_s(cells: int, timing: Timing, start_s: float) -> float:
    """Return the least wall time that one group should take, in seconds, whatever its budget is."""
    blocks = (timing.blocks + timing.burn_in_blocks) * (timing.round_seconds + timing.settle)
    paced_s = max(timing.pace_seconds, timing.pace_calls * timing.pace) if timing.pace else 0.0
    starts = timing.min_launches * (cells - 1) + launch_limits(cells, timing)[0]  # the baseline is in every launch
    idle_s = launch_limits(cells, timing)[0] * timing.idle if timing.energy else 0.0
    return starts * (start_s + timing.warm_up + blocks + timing.sustain + paced_s) + idle_s


def launch_limits(cells: int, timing: Timing) -> tuple[int, int]:
    """Return how many launches a group has at least and at most.

    Where no launch holds all of its cells, the first ones show each of them once, and the others have as many of them
    as fit beside the baseline.
    """
    parts = parts_of(cells, timing.most_cells)
    if parts == 1:
        return timing.min_launches, timing.max_launches
    again = (timing.min_launches - 1) * (cells - 1)
    return parts + math.ceil(again / (timing.most_cells - 1)), parts * timing.max_launches


def parts_of(cells: int, most: int) -> int:
    """Return how many launches show every cell once, each with the baseline."""
    return max(1, math.ceil((cells - 1) / (most - 1)))


def whole_streams(samples: int, streams: int) -> int:
    """Return the next multiple of the streams; without streams the next odd number."""
    return samples | 1 if streams == 1 else math.ceil(samples / streams) * streams


_MOST_MORE = 2
"""How many times the fewest calls cells may make to make the same ones: slow cells pay for it."""


def whole_turns(
    samples: Mapping[str, int], calls_per_sample: Mapping[str, int], streams: Mapping[str, int], feeds: int
) -> dict[str, int]:
    """Return so many more samples per round that each of several feeds is used equally often in it."""
    whole: dict[str, int] = {}
    for cell, count in samples.items():
        unit = math.lcm(feeds // math.gcd(feeds, calls_per_sample[cell]), streams[cell])
        whole[cell] = _next_multiple(count, unit)
    return whole


def equal_calls(
    samples: Mapping[str, int], calls_per_sample: Mapping[str, int], streams: Mapping[str, int]
) -> dict[str, int]:
    """Return so many samples per round that all cells make the same number of calls: about as few as any of them makes.

    Calls come in whole samples, and those of streams in a multiple of them. Where no number of at most twice the
    fewest suits all cells, each makes the next one that suits it: more calls than others, from the same first one on.
    """
    if not samples:
        return {}
    fewest = fewest_calls(samples, calls_per_sample)
    units = {cell: calls_per_sample[cell] * streams[cell] for cell in samples}
    same = _next_multiple(fewest, math.lcm(*units.values()))
    calls = {
        cell: same if same <= _MOST_MORE * fewest else _next_multiple(fewest, unit) for cell, unit in units.items()
    }
    return {cell: count // calls_per_sample[cell] for cell, count in calls.items()}


def fewest_calls(samples: Mapping[str, int], calls_per_sample: Mapping[str, int]) -> int:
    """Return how many calls the cell makes in a round that makes the fewest.

    Where samples take turns, each block begins so many after the one before, for all cells alike.
    """
    return min(count * calls_per_sample[cell] for cell, count in samples.items())


def same_mix(
    samples: Mapping[str, int], calls_per_sample: Mapping[str, int], streams: Mapping[str, int], feeds: int
) -> dict[str, int]:
    """Return so many samples that runs of different speeds meet the same mix of feeds.

    Whole turns where every cell makes one, otherwise the same number of calls.
    """
    if fewest_calls(samples, calls_per_sample) < feeds:
        return equal_calls(samples, calls_per_sample, streams)
    return whole_turns(samples, calls_per_sample, streams, feeds)


def _next_multiple(number: int, unit: int) -> int:
    return unit * math.ceil(number / unit)
