"""Whether other programs were busier in the turns of one cell than in those of another, by more than is fair.

Cells take turns in random order, so a load that knows nothing of them falls on all alike. What it uses may still
differ: beside a cell that keeps all processors busy a program gets less than beside one that leaves some idle. A
scheduler that shares fairly among runnable threads bounds that. On p processors, m threads of others get m p / (m + k)
processors beside k threads of a cell, and at most min(m, p) beside one that uses none: never more than
1 + max(1, k / p) times as much. What differs by more is tied to the turns: a program that reacts to a cell, or that
gives way to it.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from itertools import combinations

from irbench.record import CellLaunch, LaunchRecord
from irbench.result import UnevenLoad
from irbench.spec import Group, Timing
from irbench.stats.intervals import interval_at, looks_of
from irbench.stats.observed import Observed

_LEAST = 2.0
"""What is added to either load before they are divided, as a multiple of what makes a block dirty: so little disturbs
nobody, whatever its ratio, and counting in ticks may be off by as much."""


def uneven_load(
    group: Group, records: Sequence[LaunchRecord], launches: Sequence[Observed], timing: Timing
) -> UnevenLoad | None:
    """Return the pair of cells whose loads differ most; ``None`` where none surely differs by more than is fair.

    Args:
        group: Says how many threads cells have.
        records: Its launches.
        launches: The same, reduced.
        timing: Looks and confidence, and what makes a block dirty.
    """
    loads = {
        cell.id: {
            record.launch: load
            for record, observed in zip(records, launches, strict=True)
            for measured in record.cells
            if measured.cell == cell.id and (load := _load(measured, observed)) is not None
        }
        for cell in group.cells
    }
    processors = max((record.processors for record in records), default=1)
    threads = max((cell.load.all_threads or 1 for cell in group.cells), default=1)
    return most_uneven(loads, processors, 1 + max(1.0, threads / processors), timing)


def most_uneven(
    loads: Mapping[str, Mapping[int, float]], processors: int, fair: float, timing: Timing
) -> UnevenLoad | None:
    """Return the pair of cells whose loads differ most; ``None`` where none surely differs by more than is fair.

    Every pair is tested, so each at the confidence of one of several claims (Bonferroni). Intervals are over launches
    and hold at all looks together.

    Args:
        loads: Processors that others used in a cell's turns, by cell, then by launch.
        processors: How many are in use.
        fair: How many times as much others may get in the turns of one cell as in those of another.
        timing: Looks and confidence, and what makes a block dirty.
    """
    least = _LEAST * timing.dirty_foreign_share * processors
    pairs = list(combinations([cell for cell, own in loads.items() if own], 2))
    found: dict[tuple[str, str], float] = {}
    for one, other in pairs:
        common = loads[one].keys() & loads[other].keys()
        ratios = [
            math.log((max(0.0, loads[one][launch]) + least) / (max(0.0, loads[other][launch]) + least))
            for launch in sorted(common)
        ]
        if not ratios:
            continue
        interval = interval_at(ratios, looks_of(timing), 1 - (1 - timing.confidence) / len(pairs))
        if interval.confidence is not None and interval.low > math.log(fair):
            found[one, other] = interval.low
        if interval.confidence is not None and -interval.high > math.log(fair):
            found[other, one] = -interval.high
    if not found:
        return None
    more, less = max(found, key=found.__getitem__)
    return UnevenLoad(more, less, _usual(loads[more]), _usual(loads[less]))


def _load(measured: CellLaunch, observed: Observed) -> float | None:
    """Return how many processors others used in the cell's turns of a launch; ``None`` where that is unknown."""
    seen = [round_.evidence for round_ in measured.rounds if round_.block in observed.blocks]
    foreign = [evidence.foreign_cpu_ns for evidence in seen if evidence.foreign_cpu_ns is not None]
    if not seen or len(foreign) < len(seen):
        return None
    return sum(foreign) / max(1, sum(evidence.wall_ns for evidence in seen))


def _usual(loads: Mapping[int, float]) -> float:
    return max(0.0, statistics.median(loads.values()))
