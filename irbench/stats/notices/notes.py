"""Notes below a table."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import replace

from irbench.notices import Note
from irbench.notices.notes import BusyNeighbour, IrVersionLowered, SlowerThanExported, TailRange
from irbench.spec import Cell
from irbench.stats.compare import holm_intervals, launch_ratios, verdict
from irbench.stats.figures import tail_percentiles_ms
from irbench.stats.notices.table_state import TableState


def slower_levels(state: TableState) -> Iterator[Note]:
    """Yield a note for each optimised row that is slower than the row of the exported graph beside it.

    Rows beside the table's baseline are left out: their speedup says it. What is claimed of the others holds together
    with the protocol's confidence; see :func:`irbench.stats.compare.holm_intervals`.
    """
    pairs = dict(_pairs(state))
    ratios = {
        cell: [-ratio for ratio in launch_ratios(state.launches, cell, exported)] for cell, exported in pairs.items()
    }
    measured = {cell: values for cell, values in ratios.items() if values}
    for cell, faster in holm_intervals(measured, state.timing).items():
        if verdict(faster, state.timing) == "slower":
            value, low, high = map(math.exp, (faster.value, faster.low, faster.high))
            yield SlowerThanExported(cell=cell, exported=pairs[cell], value=value, low=low, high=high)


def _pairs(state: TableState) -> Iterator[tuple[str, str]]:
    """Yield each optimised row with that of the exported graph, which differs from it in nothing else."""
    healthy = [cell for cell in state.group.cells if cell.id in state.eligibility.healthy]
    exported = [cell for cell in healthy if not _is_optimized(cell) and cell.id != state.eligibility.baseline]
    for cell in filter(_is_optimized, healthy):
        beside = (other.id for other in exported if _differ_in_graph_alone(cell, other, state))
        other = next(beside, None)
        if other is not None:
            yield cell.id, other


def _is_optimized(cell: Cell) -> bool:
    return cell.artifact is not None and bool(cell.artifact.variant)


def _differ_in_graph_alone(cell: Cell, other: Cell, state: TableState) -> bool:
    own, others = (replace(row, id="", artifact=None, accuracy=None, work=None) for row in (cell, other))
    precisions = state.eligibility.precisions
    return own == others and precisions.get(cell.id) == precisions.get(other.id)


def find_notes(state: TableState) -> tuple[Note, ...]:
    """Return what belongs below a group's table."""
    return (*_lowered_ir_versions(state), *_tails(state), *slower_levels(state), *_neighbours(state))


def _lowered_ir_versions(state: TableState) -> Iterator[Note]:
    for cell in state.eligibility.healthy:
        for launch in itertools.islice(state.launches_of(cell), 1):
            held, given = (launch.effective.get(key) for key in ("ir_version", "lowered_ir_version"))
            if given is not None:
                yield IrVersionLowered(cell=cell, ir_version=held, lowered_ir_version=given)


def _tails(state: TableState) -> Iterator[Note]:
    for cell in state.eligibility.healthy:
        tails = [launch.tail_ns for launch in state.launches_of(cell)]
        p99 = tail_percentiles_ms(tails, 99, state.timing)
        if p99:
            yield TailRange(cell=cell, low_ms=min(p99), high_ms=max(p99))


def _neighbours(state: TableState) -> Iterator[Note]:
    if state.timing.busy_processors:
        yield BusyNeighbour(processors=tuple(state.timing.busy_processors))
