"""How often a gate decides rightly within its time: of equal models, of a real slowdown, and beside other programs.

Decision, intervals and looks are the shipped ones. Times within launches are drawn as for runs; a launch costs a start
besides its blocks, and none begins that would end after the budget.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np

from irbench.across_runs.changes import FigureChange, checked_condition
from irbench.features.gate.decision import GatedRow, RowOutcome, judged
from irbench.features.gate.options import GATE_BUDGET_S
from irbench.features.gate.run import TIMING
from irbench.options.conditions import slower_than
from irbench.stats.intervals import interval_at, looks_of
from irbench.stats.two_samples import Shift
from simulation.busy_machine import SHIPPED, disturbed_blocks
from simulation.markdown import markdown_table
from simulation.neighbours import NEIGHBOURS, draw
from simulation.regimes import REGIMES, Array, launches_of
from simulation.shipped import hodges_lehmann

LIMIT = slower_than(0.05)
SLOWDOWNS = (0.0, 0.025, 0.05, 0.1)
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


def decide(ratios: Callable[[int], Sequence[float]], ended_s: Sequence[float]) -> tuple[RowOutcome, int]:
    """Return the outcome of a gate, and after how many launches it ended.

    Args:
        ratios: Returns ln(new / base) of each launch that counts after so many.
        ended_s: When each launch ends.
    """
    most = min(TIMING.max_launches, sum(end_s <= GATE_BUDGET_S for end_s in ended_s))
    outcome: RowOutcome = "undecided"
    for count in range(TIMING.min_launches, most + 1):
        interval = interval_at(ratios(count), looks_of(TIMING), TIMING.confidence)
        value, low, high = map(math.expm1, (interval.value, interval.low, interval.high))
        shift = Shift(value, low, high, interval.confidence)
        change = FigureChange("time", "ms", 1.0, 1 + value, shift, shift, "pairs", interval.count, interval.count)
        outcome = judged(GatedRow("row", "old", "new", "undecided", (checked_condition(LIMIT, change),))).outcome
        if outcome != "undecided":
            return outcome, count
    return outcome, most


@cache
def quiet_gates(regime: str, slowdown: float, runs: int) -> Gates:
    """Return what gates come to on a machine of its own."""
    blocks = TIMING.blocks
    launch_s = _START_S + (blocks + 1) * _BLOCK_S
    most = min(TIMING.max_launches, int(GATE_BUDGET_S / launch_s))
    new, base = launches_of(REGIMES[regime], (runs, most, blocks), math.log1p(slowdown), seed=1)
    ratios: Array = hodges_lehmann(new - base)
    ended_s = [launch_s * (number + 1) for number in range(most)]
    return _shares([decide(lambda count, own=own: list(own[:count]), ended_s) for own in ratios])


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

        found.append(decide(ratios, np.cumsum(launch_s[run]).tolist()))
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
    return markdown_table(heads, rows)
