"""Clusters in one dimension: slow launches, and blocks with and without a shared cache."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from irbench.notices import Warn
from irbench.notices.doubts import Regime, RegimeChange, RegimeRow, SlowLaunches, SlowRow, TwoModes
from irbench.stats.figures import launch_levels
from irbench.stats.intervals import hodges_lehmann
from irbench.stats.notice_rules.table_state import TableState

_SLOW_GAP = math.log(1.03)
_FAR_GAP = math.log(1.3)
_CLEARLY = 2.0
"""How many times wider than either cluster a gap must be."""
_FEWEST_FAR_BLOCKS = 3
_TWO_MODES = 1 / 3


@dataclass(frozen=True)
class ModeSplit:
    """Values on both sides of their widest gap, as positions in the original sequence."""

    lower: tuple[int, ...]
    upper: tuple[int, ...]


def split_in_two(values: Sequence[float], least_gap: float) -> ModeSplit | None:
    """Return the two clusters that a sequence falls into, or ``None`` where it is one.

    The widest gap between neighbours parts them if it is at least ``least_gap`` and twice the widest gap inside
    either cluster.
    """
    order = sorted(range(len(values)), key=values.__getitem__)
    gaps = [values[upper] - values[lower] for lower, upper in pairwise(order)]
    if not gaps:
        return None
    cut = max(range(len(gaps)), key=gaps.__getitem__)
    inside = max((gap for position, gap in enumerate(gaps) if position != cut), default=0.0)
    if gaps[cut] < max(least_gap, _CLEARLY * inside):
        return None
    return ModeSplit(tuple(order[: cut + 1]), tuple(order[cut + 1 :]))


def near_and_far(log_ns: Sequence[float]) -> ModeSplit | None:
    """Return the two regimes that core-to-core latencies, as logarithms, fall into; ``None`` where it is one."""
    split = split_in_two(log_ns, _FAR_GAP)
    return None if split is None or min(len(split.lower), len(split.upper)) < _FEWEST_FAR_BLOCKS else split


def mode_warnings(state: TableState) -> Iterator[Warn]:
    """Yield warnings about launches of two speeds, and about processors that moved."""
    yield from _slow_launches(state)
    yield from _regimes(state)


def _slow_launches(state: TableState) -> Iterator[Warn]:
    by_kind: dict[type[TwoModes | SlowLaunches], list[SlowRow]] = {}
    for cell in state.eligibility.healthy:
        levels = launch_levels(state.launches, cell)
        split = split_in_two(levels, _SLOW_GAP) if len(levels) > 3 else None
        if split is None or len(split.lower) < 2:
            continue
        slower = math.expm1(_middle(levels, split.upper) - _middle(levels, split.lower))
        share = len(split.upper) / len(levels)
        kind = TwoModes if min(share, 1 - share) >= _TWO_MODES else SlowLaunches
        row = SlowRow(cell, slow_launches=len(split.upper), launches=len(levels), slower=slower)
        by_kind.setdefault(kind, []).append(row)
    yield from (kind(rows=tuple(rows)) for kind, rows in by_kind.items())


def _regimes(state: TableState) -> Iterator[Warn]:
    probes = {
        (launch, block.block): math.log(block.core_to_core_ns)
        for launch, record in enumerate(state.records)
        for block in record.blocks
        if block.core_to_core_ns
    }
    keys = list(probes)
    split = near_and_far([probes[key] for key in keys])
    if split is None:
        return
    sides = {"near": [keys[index] for index in split.lower], "far": [keys[index] for index in split.upper]}
    regimes = {
        name: Regime(
            core_to_core_ns=math.exp(statistics.median(probes[key] for key in blocks)),
            blocks=len(blocks),
            rows=_ratios(state, blocks),
        )
        for name, blocks in sides.items()
    }
    speedups = [{row.cell: row.speedup for row in regime.rows} for regime in regimes.values()]
    changes = [math.log(near / speedups[1][cell]) for cell, near in speedups[0].items() if cell in speedups[1]]
    if not changes or max(map(abs, changes)) > math.log1p(state.timing.within):
        yield RegimeChange(**regimes)


def _ratios(state: TableState, blocks: Sequence[tuple[int, int]]) -> tuple[RegimeRow, ...]:
    baseline = state.eligibility.baseline
    if baseline is None:
        return ()
    rows: list[RegimeRow] = []
    for cell in state.rivals:
        logs: list[float] = []
        for launch, block in blocks:
            if not state.launches[launch].counts_for(cell, baseline):
                continue
            own, other = (state.launches[launch].log_ns[each] for each in (cell, baseline))
            if block in own and block in other:
                logs.append(other[block] - own[block])
        if logs:
            rows.append(RegimeRow(cell, math.exp(hodges_lehmann(logs))))
    return tuple(rows)


def _middle(values: Sequence[float], positions: Sequence[int]) -> float:
    return statistics.median(values[position] for position in positions)
