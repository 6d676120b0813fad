"""Launch records reduced to one number per cell and block."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from irbench.record import BlockEvidence, CellLaunch, LaunchRecord, Round
from irbench.spec import Group, Timing
from irbench.stats.blocks import dirty_blocks
from irbench.stats.estimators import hodges_lehmann
from irbench.stats.objective import round_cost_ns

__all__ = ["Blocks", "Observed", "clean_blocks", "log_level", "log_ratio_of_launch", "observe", "sort_blocks"]


@dataclass(frozen=True)
class Blocks:
    """The blocks of one launch, sorted.

    Attributes:
        blocks: Numbers of all blocks after the burn-in.
        dirty: Those that were disturbed.
        counted: Those that figures are derived from: the clean ones, or all where too few are clean.
    """

    blocks: frozenset[int]
    dirty: frozenset[int]
    counted: frozenset[int]


@dataclass(frozen=True)
class Observed(Blocks):
    """One launch, reduced.

    Attributes:
        log_ns: Natural logarithm of what is compared, in nanoseconds, by cell id, then by block.
    """

    log_ns: Mapping[str, Mapping[int, float]]

    @property
    def too_few_clean(self) -> bool:
        """Whether disturbed blocks had to be counted."""
        return bool(self.dirty & self.counted)


def observe(group: Group, records: Sequence[LaunchRecord], timing: Timing) -> tuple[Observed, ...]:
    """Return each launch reduced.

    Args:
        group: Says what cells are compared by.
        records: The group's launches.
        timing: Says which blocks are dirty, and how many clean ones are enough (``min_blocks``).
    """
    batches = {cell.id: cell.load.batch for cell in group.cells}
    cost_ns = round_cost_ns(group.objective)

    def log_cost(cell: CellLaunch, round_: Round) -> float:
        return math.log(cost_ns(cell, round_, batches.get(cell.cell, 1)))

    return tuple(_observe_one(record, timing, log_cost) for record in records)


def log_ratio_of_launch(observed: Observed, cell: str, other: str, *, all_blocks: bool = False) -> float | None:
    """Return the Hodges-Lehmann estimate over blocks of ln(cell) - ln(other); ``None`` without a common block."""
    own, others = observed.log_ns.get(cell, {}), observed.log_ns.get(other, {})
    common = own.keys() & others.keys() & (observed.blocks if all_blocks else observed.counted)
    return hodges_lehmann([own[block] - others[block] for block in sorted(common)]) if common else None


def log_level(observed: Observed, cell: str) -> float | None:
    """Return the Hodges-Lehmann estimate over blocks of a cell's own ln(ns); ``None`` where it did not measure."""
    own = observed.log_ns.get(cell, {})
    counted = sorted(own.keys() & observed.counted)
    return hodges_lehmann([own[block] for block in counted]) if counted else None


def sort_blocks(record: LaunchRecord, timing: Timing) -> Blocks:
    """Return which blocks of a launch were disturbed, and which figures are derived from."""
    blocks = frozenset(block.block for block in record.blocks if block.block >= timing.burn_in_blocks)
    rounds = {cell.cell: cell.rounds for cell in record.cells}
    clean = clean_blocks(record.blocks, rounds, timing, record.processors)
    return Blocks(blocks, blocks - clean, clean if len(clean) >= timing.min_blocks else blocks)


def clean_blocks(
    blocks: Sequence[BlockEvidence], rounds: Mapping[str, Sequence[Round]], timing: Timing, processors: int
) -> frozenset[int]:
    """Return the numbers of the blocks after the burn-in that nothing disturbed.

    Args:
        blocks: The launch's blocks so far.
        rounds: Each cell's rounds, by cell id.
        timing: The protocol's numbers.
        processors: How many are in use.
    """
    first = timing.burn_in_blocks
    counted = [block for block in blocks if block.block >= first]
    own = {cell: [round_ for round_ in found if round_.block >= first] for cell, found in rounds.items()}
    return frozenset(round_.block for round_ in counted) - dirty_blocks(counted, own, timing, processors)


def _observe_one(record: LaunchRecord, timing: Timing, log_cost: Callable[[CellLaunch, Round], float]) -> Observed:
    found = sort_blocks(record, timing)
    return Observed(
        blocks=found.blocks,
        dirty=found.dirty,
        counted=found.counted,
        log_ns={
            cell.cell: {round_.block: log_cost(cell, round_) for round_ in cell.rounds if round_.block in found.blocks}
            for cell in record.cells
        },
    )
