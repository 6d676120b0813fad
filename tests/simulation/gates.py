"""How often a gate decides rightly within its time: of equal models, of a real slowdown, and beside other programs.

Launches are simulated; which of them there are, how they are decided and when they end is the shipped loop
(:class:`irbench.features.gate.decision.UntilDecided`). A launch of it has one block here, whose times are those that
the blocks of a drawn launch are reduced to for all gates at once. A launch costs a start besides its blocks.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from unittest.mock import patch

import launches as made
import numpy as np

from irbench.core.record import LaunchRecord
from irbench.core.result import GroupResult
from irbench.features.gate import decision
from irbench.features.gate.decision import REGRESSIONS, GatedTable, RowOutcome, UntilDecided, gated_rows
from irbench.features.gate.options import GATE_BUDGET_S
from irbench.features.gate.run import TIMING
from irbench.features.gate.sides import Pair, Side, Sides
from irbench.options.conditions import slower_than
from irbench.spec import Cell, Group, Load
from irbench.stats.eligibility import Admission
from irbench.stats.stopping_rule import Next, Pace
from irbench.stats.summary import summarise
from simulation.busy_machine import SHIPPED, disturbed_blocks
from simulation.markdown import markdown_table
from simulation.neighbours import NEIGHBOURS, draw
from simulation.regimes import REGIMES, Array, launches_of
from simulation.shipped import hodges_lehmann

LIMIT = slower_than(0.05)
SLOWDOWNS = (0.0, 0.025, 0.05, 0.1)
MANY_ROWS = 4
_OF_ONE_BLOCK = replace(TIMING, burn_in_blocks=0)
_START_S, _BLOCK_S = 4.0, 0.15
"""What the starts of two rows take, and a block on a quiet machine."""
QUIET = ("quiet", "noisy launches", "slow launches 10 %", "drift", "changing clock", "heavy tails")
LOADED = (
    "bursts of 20 ms, 43 %",
    "all the time",
    "bursts of 0.3 s, 43 %",
    "bursts as long as blocks, like a clock",
    "bursts of 0.3 s, 70 %",
)
_SIDES = Sides(Side("tiny", {"backend": "old"}), Side("tiny", {"backend": "new"}))
_MS = 10.0
"""What a call of the older side takes."""


@dataclass(frozen=True)
class Gates:
    """Shares of gates.

    Attributes:
        passed: That exclude the limit.
        regressions: That find a regression.
        launches: At which they end; their mean.
    """

    passed: float
    regressions: float
    launches: float


Ratios = Callable[[int], Sequence[float]]
"""Returns ln(new / base) of each launch that counts after so many, of one row."""


def decide(rows: Sequence[Ratios], ended_s: Sequence[float], budget_s: float = GATE_BUDGET_S) -> tuple[RowOutcome, int]:
    """Return the outcome of a gate, and after how many launches it ended.

    Args:
        rows: What each row measures.
        ended_s: When each launch ends.
        budget_s: The gate's.
    """
    group = _group(len(rows))
    timing = replace(_OF_ONE_BLOCK, budget=budget_s)
    schedule = UntilDecided(_SIDES, (LIMIT,))
    pairs = schedule.sides.pairs_of(group)
    launched: list[tuple[str, ...]] = []
    following = Next(tuple(cell.id for cell in group.cells))
    with patch.object(decision, "summarise", lambda *_, **__: _table(len(rows))):
        while following.stopped_by is None and len(launched) < len(ended_s):
            launched.append(following.cells)
            if len(launched) < min(timing.min_launches, len(ended_s)):
                continue  # there are no intervals yet, and each row is launched again
            records = _records(rows, pairs, launched)
            launches_s = np.diff([0.0, *ended_s[: len(launched)]])[-len(records) :].tolist()
            pace = Pace(ended_s[len(launched) - 1], launches_s)
            following = schedule.following(group, records, timing, Admission(), pace)
        decided = gated_rows(GatedTable(group, _table(len(rows)), records, timing), pairs, (LIMIT,))
    outcomes = {row.outcome for row in decided}
    if outcomes & REGRESSIONS:
        return "regression", len(launched)
    return ("passed" if outcomes == {"passed"} else "undecided"), len(launched)


@cache
def _group(rows: int) -> Group:
    """Return a table whose rows differ in their threads."""
    cells = [
        Cell(f"{side}{threads}", None, side, "cpu", Load(batch=1, threads=threads))
        for threads in range(1, rows + 1)
        for side in ("old", "new")
    ]
    return replace(made.group("old"), cells=tuple(cells), baseline="old1")


@cache
def _table(rows: int) -> GroupResult:
    """Return a table whose rows are well: all that a gate reads of it besides its launches."""
    group = _group(rows)
    records = made.even({cell.id: [_MS] * 6 for cell in group.cells}, blocks=1)
    return summarise(group, records, _OF_ONE_BLOCK, Admission(), stopped_by="unfinished", seconds=1.0)


def _records(rows: Sequence[Ratios], pairs: Sequence[Pair], launched: Sequence[Sequence[str]]) -> list[LaunchRecord]:
    """Return the launches that count: each has the next ratio of the rows in it."""
    left = [
        list(ratios(sum(pair.new in cells for cells in launched))) for pair, ratios in zip(pairs, rows, strict=True)
    ]
    levels: list[dict[str, float]] = []
    for cells in launched:
        own = [(pair, ratios.pop(0)) for pair, ratios in zip(pairs, left, strict=True) if pair.new in cells and ratios]
        if own:
            of_new = {pair.new: _MS * math.exp(ratio) for pair, ratio in own}
            levels.append({**{pair.base: _MS for pair, _ in own}, **of_new})
    return made.in_parts(levels, blocks=1)


@cache
def quiet_gates(regime: str, slowdown: float, runs: int, rows: int = 1) -> Gates:
    """Return what gates come to on a machine of its own; of several rows, the first is slower and the others equal.

    A gate of several rows has the time of as many gates.
    """
    blocks = TIMING.blocks
    launch_s = rows * (_START_S + (blocks + 1) * _BLOCK_S)
    most = min(TIMING.max_launches, int(rows * GATE_BUDGET_S / launch_s))
    shape = (runs, most, blocks)
    drawn = [
        launches_of(REGIMES[regime], shape, math.log1p(slowdown if row == 0 else 0.0), seed=1 + row)
        for row in range(rows)
    ]
    ratios: list[Array] = [hodges_lehmann(new - base) for new, base in drawn]
    ended_s = [launch_s * (number + 1) for number in range(most)]

    def gate_of(run: int) -> tuple[RowOutcome, int]:
        own = [of_row[run].tolist() for of_row in ratios]
        return decide([lambda count, row=row: row[:count] for row in own], ended_s, rows * GATE_BUDGET_S)

    return _shares([gate_of(run) for run in range(runs)])


@cache
def loaded_gates(neighbour: str, slowdown: float, runs: int) -> Gates:
    """Return what gates come to beside another program."""
    first, blocks = TIMING.burn_in_blocks, TIMING.most_blocks
    drawn = draw(NEIGHBOURS[neighbour], (runs, 14, first + blocks), math.log1p(slowdown), seed=1)
    dirty = disturbed_blocks(drawn)
    launch_s = _START_S + drawn.turn_s.sum(axis=(2, 3))
    found = []
    for run in range(runs):
        calls_s, own_dirty = drawn.calls_s[run, :, first:], dirty[run]
        is_quiet = (~own_dirty).sum(axis=1) >= TIMING.min_blocks
        levels = np.log(np.median(calls_s, axis=-1))
        ratio = levels[..., 0] - levels[..., 1]
        counted = [~own_dirty[number] if is_quiet[number] else own_dirty[number] >= 0 for number in range(len(ratio))]
        usual = [float(hodges_lehmann(ratio[number][counted[number]][None])[0]) for number in range(len(ratio))]
        busy = SHIPPED(calls_s).tolist()

        def ratios(
            count: int, usual: Sequence[float] = usual, busy: Sequence[float] = busy,
            is_quiet: Sequence[bool] = is_quiet, own_dirty: Array = own_dirty,
        ) -> Sequence[float]:  # fmt: skip
            if own_dirty[:count].mean() <= 0.5:
                return usual[:count]
            if sum(is_quiet[:count]) >= TIMING.min_launches:
                return [usual[number] for number in range(count) if is_quiet[number]]
            return busy[:count]

        found.append(decide([ratios], np.cumsum(launch_s[run]).tolist()))
    return _shares(found)


def _shares(found: Sequence[tuple[RowOutcome, int]]) -> Gates:
    outcomes = Counter(outcome for outcome, _ in found)
    share = {outcome: count / len(found) for outcome, count in outcomes.items()}
    launches = float(np.mean([count for _, count in found]))
    return Gates(share.get("passed", 0.0), share.get("regression", 0.0), launches)


def as_table(runs: int) -> str:
    """Return the shares of gates that fail and pass by the real slowdown, as Markdown."""
    heads = ["machine", *(f"{100 * slowdown:g} %: fail, pass" for slowdown in SLOWDOWNS), "launches"]
    rows = []
    for names, gates in ((QUIET, quiet_gates), (LOADED, loaded_gates)):
        for name in names:
            found = [gates(name, slowdown, runs) for slowdown in SLOWDOWNS]
            shares = [f"{each.regressions:.3f}, {each.passed:.3f}" for each in found]
            rows.append([name, *shares, f"{found[0].launches:.1f}"])
    for name in QUIET[:2]:
        found = [quiet_gates(name, slowdown, runs, MANY_ROWS) for slowdown in SLOWDOWNS]
        shares = [f"{each.regressions:.3f}, {each.passed:.3f}" for each in found]
        rows.append([f"{name}, {MANY_ROWS} rows, one slower", *shares, f"{found[0].launches:.1f}"])
    return markdown_table(heads, rows)
