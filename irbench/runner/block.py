"""Which cells one block times, and what happened on the machine during it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from irbench.measure.core_to_core import CoreLink
from irbench.measure.machine import MachineSnapshot, foreign_cpu_ns
from irbench.record import BlockEvidence
from irbench.runner.cell_progress import CellProgress
from irbench.spec import Cell, Objective, Timing
from irbench.stats import behind, round_cost_ns


def timed_cells(
    cells: Sequence[Cell], progress: Mapping[str, CellProgress], objective: Objective, timing: Timing
) -> tuple[str, ...]:
    """Return the ids of the cells that the next block times: all but those that the first one showed far behind.

    Args:
        cells: The healthy ones.
        progress: Of each cell, by its id.
        objective: What cells are compared by.
        timing: The protocol's numbers.
    """
    timed = tuple(cell.id for cell in cells)
    if not timing.behind or not all(progress[cell].rounds for cell in timed):
        return timed
    cost_ns = round_cost_ns(objective)
    first = {
        cell.id: cost_ns(progress[cell.id].as_launch(cell, 0), progress[cell.id].rounds[0], cell.load.batch)
        for cell in cells
    }
    dropped = behind(first, timing)
    return tuple(cell for cell in timed if cell not in dropped)


def block_evidence(
    number: int, order: tuple[str, ...], between: tuple[MachineSnapshot, MachineSnapshot], link: CoreLink
) -> BlockEvidence:
    """Return the evidence of a block.

    Args:
        number: The block, counted from 0.
        order: Cell ids in the order in which they were run.
        between: What was seen before and after it.
        link: The core-to-core probe, which is asked now.
    """
    before, after = between
    return BlockEvidence(
        block=number,
        order=order,
        wall_ns=after.at_ns - before.at_ns,
        foreign_cpu_ns=foreign_cpu_ns(before, after),
        throttled_ns=after.throttled_ns - before.throttled_ns,
        steal_ns=after.steal_ns - before.steal_ns,
        core_to_core_ns=link.core_to_core_ns(),
    )
