"""Launch records reduced to one number per cell and block."""

from __future__ import annotations

import math
import statistics
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, combinations
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from irbench.core.record import BlockEvidence, CellLaunch, LaunchRecord, Round, ns_per_completion
from irbench.spec import Group, Objective, Timing
from irbench.stats.blocks import dirty_blocks
from irbench.stats.intervals import hodges_lehmann

_SHORTEST_CPU_NS = 1e-3
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
    return max(processors * _time_per_sample(launch, round_, batch), _SHORTEST_CPU_NS)


_COSTS: Mapping[Objective, Callable[[CellLaunch, Round, int], float]] = {
    "latency": _latency,
    "fps": _time_per_sample,
    "cost": _processor_time_per_sample,
}


_SHORTEST_NS = 1e-3
"""Keeps logarithms finite where a clock is too coarse to see a call."""


def call_latency_ns(round_: Round, calls_per_sample: int) -> NDArray[np.float64]:
    """Return issue to completion of each call in nanoseconds; where a sample is several calls, their mean."""
    return round_.latency_ns / calls_per_sample


def time_per_completion_ns(round_: Round) -> float:
    """Return the wall time of a round's window over what completed in it, in nanoseconds per sample."""
    return ns_per_completion(round_.completion_ns)


def round_statistic_ns(round_: Round, calls_per_sample: int, *, by_completion: bool) -> float:
    """Return what one round says of its cell's speed, in nanoseconds per call."""
    sample_ns = time_per_completion_ns(round_) if by_completion else float(np.median(round_.latency_ns))
    return max(sample_ns / calls_per_sample, _SHORTEST_NS)


Reduction: TypeAlias = Literal["undisturbed", "as-loaded", "disturbed"]
"""How the launches of a table are reduced. ``undisturbed``: by their undisturbed blocks; launches with too few of them
are left out where enough others remain. Where most blocks were disturbed and no such launches remain, ``as-loaded``: by
the mean over all blocks, which says how rows do on the machine as loaded as it was; or ``disturbed``, where that cannot
be said: by the undisturbed blocks of launches with enough of them and all blocks of the others, and nothing is claimed.
"""

_MOSTLY = 0.5


@dataclass(frozen=True)
class Blocks:
    """The blocks of one launch, sorted.

    Attributes:
        blocks: Numbers of all blocks after the burn-in.
        dirty: Those that were disturbed.
        counted: Those that figures are derived from: the clean ones, or all where too few are clean; none of a launch
            that is left out.
    """

    blocks: frozenset[int]
    dirty: frozenset[int]
    counted: frozenset[int]

    @property
    def is_disturbed(self) -> bool:
        """Whether too few blocks are clean, so that disturbed ones count."""
        return bool(self.dirty & self.counted)


@dataclass(frozen=True)
class Observed(Blocks):
    """One launch, reduced.

    Attributes:
        log_ns: Natural logarithm of what is compared, in nanoseconds, by cell id, then by block.
        reduction: How blocks become a figure of the launch, and which launches and blocks count.
        left_out: Cells, each for itself, and pairs of cells for which it does not count: it was disturbed, and they
            have enough launches that were not.
    """

    log_ns: Mapping[str, Mapping[int, float]]
    reduction: Reduction = field(default="undisturbed", kw_only=True)
    left_out: frozenset[frozenset[str]] = field(default=frozenset(), kw_only=True)

    def counts_for(self, *cells: str) -> bool:
        """Whether the launch measured a cell or both of a pair, and counts for what is said of them."""
        return self.log_ns.keys() >= set(cells) and not self.leaves_out(*cells)

    def counts_for_any(self, cells: Collection[str]) -> bool:
        """Whether the launch counts for any of these cells; without cells, whether any of its blocks does."""
        return any(map(self.counts_for, cells)) if cells else bool(self.counted)

    def leaves_out(self, *cells: str) -> bool:
        """Whether a cell or a pair can do without the launch; a pair of a cell and itself is that cell."""
        return frozenset(cells) in self.left_out


def observe(
    group: Group, records: Sequence[LaunchRecord], timing: Timing, *, as_loaded: bool = True
) -> tuple[Observed, ...]:
    """Return each launch reduced, in the way that what the kernel reported of all of them allows, never their times.

    Args:
        group: Says what cells are compared by.
        records: The group's launches.
        timing: Says which blocks are dirty, and how many clean ones are enough (``min_blocks``).
        as_loaded: Whether it may be as the machine was loaded; otherwise a row has the same times in every run.
    """
    if not as_loaded:
        return _reduced(group, records, timing, "undisturbed")
    sorted_blocks = [sort_blocks(record, timing) for record in records]
    return _reduced(group, records, timing, _reduction(records, sorted_blocks, timing))


def _reduced(
    group: Group, records: Sequence[LaunchRecord], timing: Timing, reduction: Reduction
) -> tuple[Observed, ...]:
    sorted_blocks = [sort_blocks(record, timing) for record in records]
    left_out = [frozenset[frozenset[str]]()] * len(records)
    if reduction == "undisturbed":
        left_out = _left_out(records, sorted_blocks, timing)
    elif reduction == "as-loaded":
        sorted_blocks = [replace(blocks, counted=blocks.blocks) for blocks in sorted_blocks]
    batches = {cell.id: cell.load.batch for cell in group.cells}
    cost_ns = round_cost_ns(group.objective, adds_up=reduction == "as-loaded")

    def log_cost(cell: CellLaunch, round_: Round) -> float:
        return math.log(cost_ns(cell, round_, batches.get(cell.cell, 1)))

    return tuple(
        _observe_one(record, blocks, log_cost, reduction, out)
        for record, blocks, out in zip(records, sorted_blocks, left_out, strict=True)
    )


def records_that_count(
    records: Sequence[LaunchRecord], launches: Sequence[Observed], cell: str, beside: str | None = None
) -> list[LaunchRecord]:
    """Return the records of the launches that are not left out for a cell, or for its comparison with another one."""
    pairs = zip(records, launches, strict=True)
    return [
        record for record, own in pairs if (own.counted or not own.blocks) and not own.leaves_out(cell, beside or cell)
    ]


def mostly_disturbed(launches: Sequence[Blocks]) -> bool:
    """Whether something outside disturbed more than half of all blocks, counted or not."""
    return _disturbed_share(launches) > _MOSTLY


def _disturbed_share(launches: Sequence[Blocks]) -> float:
    return sum(len(own.dirty) for own in launches) / max(1, sum(len(own.blocks) for own in launches))


def reduction_of(launches: Sequence[Observed]) -> Reduction:
    """Return how the launches of a table are reduced."""
    return launches[0].reduction if launches else "undisturbed"


def is_as_loaded(launches: Sequence[Observed]) -> bool:
    """Whether the figures are those of the machine as loaded as it was."""
    return reduction_of(launches) == "as-loaded"


def _reduction(records: Sequence[LaunchRecord], sorted_blocks: Sequence[Blocks], timing: Timing) -> Reduction:
    if not mostly_disturbed(sorted_blocks):
        return "undisturbed"
    often = {cells for cells in _often(records, timing) if len(cells) == 1}
    if often and often <= _often(_undisturbed(records, sorted_blocks), timing):
        return "undisturbed"
    return "as-loaded" if _knows_whose_turn(records) else "disturbed"


def _left_out(
    records: Sequence[LaunchRecord], sorted_blocks: Sequence[Blocks], timing: Timing
) -> list[frozenset[frozenset[str]]]:
    """Return the cells and pairs that can do without each launch: of a disturbed one, those with enough others."""
    above = _disturbed_share(sorted_blocks) > timing.left_out_above
    enough = _often(_undisturbed(records, sorted_blocks), timing) if above else set[frozenset[str]]()
    return [
        frozenset(cells for cells in _cells_and_pairs(record) if cells in enough)
        if blocks.is_disturbed
        else frozenset()
        for record, blocks in zip(records, sorted_blocks, strict=True)
    ]


def _undisturbed(records: Sequence[LaunchRecord], sorted_blocks: Sequence[Blocks]) -> list[LaunchRecord]:
    return [record for record, own in zip(records, sorted_blocks, strict=True) if not own.is_disturbed]


def _often(records: Sequence[LaunchRecord], timing: Timing) -> set[frozenset[str]]:
    """Return the cells and pairs of cells that as many launches measured as an interval needs."""
    counts = Counter(cells for record in records for cells in _cells_and_pairs(record))
    return {cells for cells, count in counts.items() if count >= timing.min_launches}


def _cells_and_pairs(record: LaunchRecord) -> Iterator[frozenset[str]]:
    names = [cell.cell for cell in record.cells]
    return map(frozenset, chain(combinations(names, 1), combinations(names, 2)))


def _knows_whose_turn(records: Sequence[LaunchRecord]) -> bool:
    """Whether it is known how much of the load fell into the turns of each cell, and the load is not the cells' own.

    A quota that a cell has used up throttles the one after it.
    """
    rounds = [round_ for record in records for cell in record.cells for round_ in cell.rounds]
    blocks = [block for record in records for block in record.blocks]
    throttled = sum(block.throttled_ns > 0 for block in blocks)
    known = all(round_.evidence.foreign_cpu_ns is not None for round_ in rounds)
    return known and throttled <= _MOSTLY * len(blocks)


def observe_otherwise(
    group: Group, records: Sequence[LaunchRecord], launches: Sequence[Observed], timing: Timing
) -> tuple[Observed, ...]:
    """Return the launches reduced in the other way: by all blocks where undisturbed ones count, and the reverse.

    A run is reduced again after each launch, and how may change. Where most blocks were disturbed at some look, or all
    of them counted, all count by mean times.

    Args:
        group: Says what cells are compared by.
        records: The group's launches.
        launches: The same, as the table reduces them.
        timing: Says which blocks are dirty, and how many clean ones are enough.
    """
    if is_as_loaded(launches):
        by_blocks = _reduced(group, records, timing, "undisturbed")
        return tuple(replace(own, counted=frozenset(), log_ns={}) if own.is_disturbed else own for own in by_blocks)
    sorted_blocks = [sort_blocks(record, timing) for record in records]
    looks = range(1, len(launches) + 1)
    are_many = any(mostly_disturbed(sorted_blocks[:look]) for look in looks) and _knows_whose_turn(records)
    by_mean = are_many or any(_reduction(records[:look], sorted_blocks[:look], timing) == "as-loaded" for look in looks)
    if by_mean:
        return _reduced(group, records, timing, "as-loaded")
    return tuple(replace(own, counted=own.blocks) for own in _reduced(group, records, timing, "disturbed"))


def log_ratio_of_launch(observed: Observed, cell: str, other: str) -> float | None:
    """Return what a launch says of ln(cell) - ln(other); ``None`` without a common block that counts.

    It is the Hodges-Lehmann estimate over blocks; as loaded, the difference of the logarithms of two means.
    """
    if not observed.counts_for(cell, other):
        return None
    own, others = observed.log_ns[cell], observed.log_ns[other]
    common = sorted(own.keys() & others.keys() & observed.counted)
    if not common:
        return None
    if observed.reduction == "as-loaded":
        return _log_mean([own[block] for block in common]) - _log_mean([others[block] for block in common])
    return hodges_lehmann([own[block] - others[block] for block in common])


def log_level(observed: Observed, cell: str) -> float | None:
    """Return what a launch says of a cell's own ln(ns), as its ratios; ``None`` where it did not measure."""
    if not observed.counts_for(cell):
        return None
    own = observed.log_ns[cell]
    counted = [own[block] for block in sorted(own.keys() & observed.counted)]
    if not counted:
        return None
    return _log_mean(counted) if observed.reduction == "as-loaded" else hodges_lehmann(counted)


def _log_mean(logs: Sequence[float]) -> float:
    """Return the logarithm of the mean of what these are the logarithms of."""
    most = max(logs)
    return most + math.log(statistics.fmean(math.exp(value - most) for value in logs))


def sort_blocks(record: LaunchRecord, timing: Timing) -> Blocks:
    """Return which blocks of a launch were disturbed, and which count where no launch is left out."""
    blocks = frozenset(block.block for block in record.blocks if block.block >= timing.burn_in_blocks)
    rounds = {cell.cell: cell.rounds for cell in record.cells}
    clean = clean_blocks(record.blocks, rounds, timing, record.processors)
    return Blocks(blocks, blocks - clean, clean if len(clean) >= timing.min_blocks else blocks)


def clean_blocks(
    blocks: Sequence[BlockEvidence], rounds: Mapping[str, Sequence[Round]], timing: Timing, processors: int
) -> frozenset[int]:
    """Return the numbers of the blocks after the burn-in that nothing disturbed."""
    first = timing.burn_in_blocks
    counted = [block for block in blocks if block.block >= first]
    own = {cell: [round_ for round_ in own_rounds if round_.block >= first] for cell, own_rounds in rounds.items()}
    return frozenset(round_.block for round_ in counted) - dirty_blocks(counted, own, timing, processors)


def _observe_one(
    record: LaunchRecord,
    blocks: Blocks,
    log_cost: Callable[[CellLaunch, Round], float],
    reduction: Reduction,
    left_out: frozenset[frozenset[str]],
) -> Observed:
    # a launch of which nothing counts measured no cell, and another one is wanted for it
    is_left_out = bool(left_out) and left_out.issuperset(_cells_and_pairs(record))
    counted = frozenset[int]() if is_left_out else blocks.counted
    cells = record.cells if counted or not blocks.blocks else ()
    return Observed(
        blocks=blocks.blocks,
        dirty=blocks.dirty,
        counted=counted,
        log_ns={
            cell.cell: {round_.block: log_cost(cell, round_) for round_ in cell.rounds if round_.block in blocks.blocks}
            for cell in cells
        },
        reduction=reduction,
        left_out=left_out,
    )
