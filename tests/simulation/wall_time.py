"""Wall seconds until the fastest of four cells is named, and until all rows are decided.

Times of cells and costs of launches are constants of a host; seconds are sums of them. What is decided, how many
blocks a launch has and which cells the next one is for is decided by the shipped functions.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from itertools import combinations
from unittest.mock import patch

import numpy as np

from irbench.stats import intervals
from irbench.stats import speedups as compare
from irbench.stats.intervals import Interval, hodges_lehmann, looks_of
from irbench.stats.launch_planning import LaunchCost, Room, Scatter, launch_size, scatter_of
from irbench.stats.speedups import holm_intervals, launch_ratios, verdict
from irbench.stats.stopping_rule import contenders, half_width_wanted, launches_planned
from irbench.stats.winner import LeadEstimate, find_winner
from simulation.designs import Design, Host
from simulation.methods import for_its_own_count
from simulation.shipped import Reduced, decided_by, reduced, standing_of


@dataclass(frozen=True)
class Run:
    """What one run came to. Times are in seconds from its start; infinite where it ended before.

    Attributes:
        named_s: Until the fastest cell was named.
        decided_s: Until it was named and every row was faster, slower or the same.
        ended_s: Until it ended.
        launches: How many it had.
        wrong: Whether it named a cell that is not the fastest, at any look.
        covered: Whether the last interval of the lead holds the true one; ``None`` where there was none.
    """

    named_s: float
    decided_s: float
    ended_s: float
    launches: int
    wrong: bool
    covered: bool | None


def runs_of(design: Design, host: Host, runs: int, budget_s: float | None = None, seed: int = 0) -> list[Run]:
    """Run a design many times on a host.

    Args:
        design: The protocol.
        host: The machine and the cells.
        runs: How many.
        budget_s: Instead of the design's own.
        seed: Of all chance.
    """
    if budget_s is not None:
        design = replace(design, timing=replace(design.timing, budget=budget_s))
    with _decided_by(design):
        return [_Simulation(design, host, np.random.default_rng((seed, number))).run() for number in range(runs)]


class _Simulation:
    """One run of a design on a host."""

    def __init__(self, design: Design, host: Host, random: np.random.Generator) -> None:
        self._design, self._host, self._random = design, host, random
        self._timing = design.timing
        self._launches: list[Reduced] = []
        self._elapsed_s = 0.0
        self._blocks = design.timing.blocks

    def run(self) -> Run:
        named_s = decided_s = math.inf
        wrong, cells = False, frozenset(self._host.cells)
        finding = LeadEstimate()
        while cells:
            self._launch([cell for cell in self._host.cells if cell in cells])
            finding = find_winner(self._launches, self._host.cells, self._timing)
            if finding.leader is not None and finding.reason is None:
                named_s = min(named_s, self._elapsed_s)
                wrong |= finding.leader != self._host.cells[0]
            if finding.reason in (None, "same") and not any(self._open_rows()):
                decided_s = min(decided_s, self._elapsed_s)
            cells = self._next(finding)
        ended_s = self._elapsed_s + self._design.closing_s
        return Run(named_s, decided_s, ended_s, len(self._launches), wrong, self._covered(finding))

    def _launch(self, cells: Sequence[str]) -> None:
        start_s, block_s = self._start_s(cells), self._block_s(cells)
        number = len(self._launches)
        room = Room(
            self._timing.budget - self._elapsed_s - self._design.closing_s,
            max(1, self._planned - number),
        )
        sized = launch_size(self._timing, LaunchCost(start_s, block_s), room, self._scatters(cells))
        self._blocks = sized.blocks
        self._launches.append(self._draw(cells))
        self._elapsed_s += start_s + (self._blocks + self._timing.burn_in_blocks) * block_s

    @property
    def _planned(self) -> float:
        if self._design.room_for_lead:
            return launches_planned(len(self._host.cells), self._timing)
        return self._timing.min_launches

    def _draw(self, cells: Sequence[str]) -> Reduced:
        """Return one launch of these cells, each with a speed of its own."""
        host, blocks = self._host, self._blocks
        own = {
            cell: math.log(host.times_s[cell])
            + self._random.normal(0, host.launch_sd / math.sqrt(2))
            + self._random.normal(0, host.block_sd / math.sqrt(2), blocks)
            for cell in cells
        }
        ratios = {(item, other): hodges_lehmann(own[item] - own[other]) for item, other in combinations(cells, 2)}
        numbers = frozenset(range(blocks))
        log_ns = {cell: dict(enumerate(times.tolist())) for cell, times in own.items()}
        return replace(reduced(ratios), blocks=numbers, counted=numbers, log_ns=log_ns)

    def _next(self, finding: LeadEstimate) -> frozenset[str]:
        """Return the cells of the next launch; none at the end."""
        count = len(self._launches)
        if count < self._timing.min_launches:
            wanted = frozenset(self._host.cells)
        elif self._design.race:
            eligibility = standing_of(self._host.cells, self._host.baseline)
            wanted = contenders(self._launches, eligibility, self._timing)
        else:
            wide = (row.half_width > half_width_wanted(row, self._timing) for row in self._rows().values())
            wanted = frozenset(self._host.cells) if any(wide) else frozenset()
        blocks = self._blocks + self._timing.burn_in_blocks
        cost_s = self._start_s(sorted(wanted)) + blocks * self._block_s(sorted(wanted))
        over = self._elapsed_s + cost_s + self._design.closing_s > self._timing.budget
        return frozenset() if over or count >= self._timing.max_launches else wanted

    def _rows(self) -> dict[str, Interval]:
        baseline = self._host.baseline
        ratios = {cell: launch_ratios(self._launches, cell, baseline) for cell in self._host.cells if cell != baseline}
        if self._design.any_time:
            return holm_intervals(ratios, self._timing)
        looks, confidence = looks_of(self._timing), self._timing.confidence
        return {cell: compare.interval_at(values, looks, confidence) for cell, values in ratios.items()}

    def _open_rows(self) -> Iterator[str]:
        for cell, row in self._rows().items():
            if verdict(-row, self._timing) in ("preview", "undecided"):
                yield cell

    def _scatters(self, cells: Sequence[str]) -> Sequence[Scatter]:
        if not self._design.blocks_by_scatter:
            return ()
        found = (scatter_of(self._launches, cell, cells[0]) for cell in cells[1:])
        return [item for item in found if item is not None]

    def _start_s(self, cells: Sequence[str]) -> float:
        together = self._host.together if self._launches and self._design.together else 1.0
        return len(cells) * (together * self._host.start_s + self._design.warm_up_s)

    def _block_s(self, cells: Sequence[str]) -> float:
        return sum(max(self._host.round_s, self._host.calls * self._host.times_s[cell]) for cell in cells)

    def _covered(self, finding: LeadEstimate) -> bool | None:
        if finding.leader is None or finding.ratio is None or finding.ratio.confidence is None:
            return None
        return finding.ratio.low <= self._host.lead(finding.leader) <= finding.ratio.high


@contextmanager
def _decided_by(design: Design) -> Iterator[None]:
    """Let the shipped code form the design's intervals."""
    rule: Callable[..., Interval] | None = None if design.any_time else for_its_own_count
    with ExitStack() as stack:
        stack.enter_context(decided_by(rule))
        if design.ranks_first:
            stack.enter_context(patch.object(intervals, "FOR_RANKS", intervals.FOR_RANKS[:1]))
        stack.callback(intervals.bounds.cache_clear)
        intervals.bounds.cache_clear()
        yield
