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
from irbench.stats.notices.scene import Scene


def slower_levels(scene: Scene) -> Iterator[Note]:
    """Yield a note for each optimised row that is slower than the row of the exported graph beside it.

    Rows beside the table's baseline are left out: their speedup says it. What is claimed of the others holds together
    with the protocol's confidence; see :func:`irbench.stats.compare.holm_intervals`.
    """
    pairs = dict(_pairs(scene))
    ratios = {
        cell: [-ratio for ratio in launch_ratios(scene.launches, cell, exported)] for cell, exported in pairs.items()
    }
    measured = {cell: values for cell, values in ratios.items() if values}
    for cell, faster in holm_intervals(measured, scene.timing).items():
        if verdict(faster, scene.timing) == "slower":
            value, low, high = map(math.exp, (faster.value, faster.low, faster.high))
            yield SlowerThanExported(cell=cell, exported=pairs[cell], value=value, low=low, high=high)


def _pairs(scene: Scene) -> Iterator[tuple[str, str]]:
    """Yield each optimised row with that of the exported graph, which differs from it in nothing else."""
    healthy = [cell for cell in scene.group.cells if cell.id in scene.standing.healthy]
    exported = [cell for cell in healthy if not _is_optimized(cell) and cell.id != scene.standing.baseline]
    for cell in filter(_is_optimized, healthy):
        beside = (other.id for other in exported if _differ_in_graph_alone(cell, other, scene))
        other = next(beside, None)
        if other is not None:
            yield cell.id, other


def _is_optimized(cell: Cell) -> bool:
    return cell.artifact is not None and bool(cell.artifact.variant)


def _differ_in_graph_alone(cell: Cell, other: Cell, scene: Scene) -> bool:
    own, others = (replace(row, id="", artifact=None, accuracy=None, work=None) for row in (cell, other))
    precisions = scene.standing.precisions
    return own == others and precisions.get(cell.id) == precisions.get(other.id)


def find_notes(scene: Scene) -> tuple[Note, ...]:
    """Return what belongs below a group's table."""
    return (*_lowered_ir_versions(scene), *_tails(scene), *slower_levels(scene), *_neighbours(scene))


def _lowered_ir_versions(scene: Scene) -> Iterator[Note]:
    for cell in scene.standing.healthy:
        for launch in itertools.islice(scene.launches_of(cell), 1):
            held, given = (launch.effective.get(key) for key in ("ir_version", "lowered_ir_version"))
            if given is not None:
                yield IrVersionLowered(cell=cell, ir_version=held, lowered_ir_version=given)


def _tails(scene: Scene) -> Iterator[Note]:
    for cell in scene.standing.healthy:
        tails = [launch.tail_ns for launch in scene.launches_of(cell)]
        p99 = tail_percentiles_ms(tails, 99, scene.timing)
        if p99:
            yield TailRange(cell=cell, low_ms=min(p99), high_ms=max(p99))


def _neighbours(scene: Scene) -> Iterator[Note]:
    if scene.timing.busy_processors:
        yield BusyNeighbour(processors=tuple(scene.timing.busy_processors))
