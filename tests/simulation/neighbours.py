"""A machine that other programs keep busy, and the truth of a comparison on it, from constants alone.

Another program works and pauses by turns. While it works, calls of each row go on at a lower speed of that row's own.
How long it works and pauses is drawn again each time, as the sum of a few exponential times: one makes it as irregular
as calls at random, many nearly a clock. Such a program is a Markov chain, so that what calls take on average follows
from its constants by matrices alone: :func:`truth_of` never looks at a drawn time.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from simulation.regimes import Array, Regime

_ROWS = (0, 1)
"""The cell and the baseline."""


@dataclass(frozen=True)
class Neighbour:
    """Another program beside two rows, and the noise of launches and rounds as in the other regimes.

    Attributes:
        works_s: How long it works on average before it pauses.
        pauses_s: How long it pauses on average; 0 never.
        stages: How many exponential times each of these is the sum of.
        slowdown: How many times as long calls of the cell and of the baseline take while it works.
        uses: How many processors it then uses beside either of them; 0 where it waits until the row's turn is over.
        shares: Between which shares its working time lies, drawn again in each launch with cycles as long as before;
            empty where all launches are alike.
        call_s: What a call of the baseline takes while nothing else runs.
        calls: In a timed window.
        launch_sd: Of a row's log time from launch to launch.
        round_sd: Of a round's log time.
    """

    works_s: float = 0.3
    pauses_s: float = 0.4
    stages: int = 6
    slowdown: tuple[float, float] = (2.0, 2.0)
    uses: tuple[float, float] = (1.0, 1.0)
    shares: tuple[float, float] | None = None
    call_s: float = 0.02
    calls: int = 3
    launch_sd: float = Regime.launch_sd
    round_sd: float = Regime.round_sd

    @property
    def alike(self) -> Neighbour:
        """The same with both rows treated as the baseline is: a backend against itself."""
        return replace(self, slowdown=(self.slowdown[1],) * 2, uses=(self.uses[1],) * 2)

    @property
    def share(self) -> float:
        """Of the time, that in which it works, or would where it is not tied to a turn."""
        return self.works_s / (self.works_s + self.pauses_s)


_ONE_SIDED = (1.8, 1.0)
NEIGHBOURS = {
    "bursts of 0.3 s, 20 %": Neighbour(0.3, 1.2),
    "bursts of 0.3 s, 43 %": Neighbour(0.3, 0.4),
    "bursts of 0.3 s, 70 %": Neighbour(0.3, 0.13),
    "bursts of 0.3 s, 43 %, calls of 50 ms": Neighbour(0.3, 0.4, call_s=0.05),
    "bursts of 20 ms, 43 %": Neighbour(0.02, 0.027),
    "bursts of 3 s, 20 %": Neighbour(3.0, 12.0),
    "bursts of 3 s, 20 %, slows one row": Neighbour(3.0, 12.0, slowdown=_ONE_SIDED),
    "bursts of 3 s, 43 %": Neighbour(3.0, 4.0),
    "bursts of 3 s, 70 %": Neighbour(3.0, 1.3),
    "bursts at random, 43 %": Neighbour(0.3, 0.4, stages=1),
    "bursts as long as blocks, like a clock": Neighbour(0.11, 0.11, stages=40),
    "0.3 s, 43 %, slows one row": Neighbour(0.3, 0.4, slowdown=_ONE_SIDED),
    "20 ms, 43 %, slows one row": Neighbour(0.02, 0.027, slowdown=_ONE_SIDED),
    "0.3 s, 70 %, slows one row": Neighbour(0.3, 0.13, slowdown=_ONE_SIDED),
    "0.1 s, 60 %, slows one row": Neighbour(0.1, 0.067, slowdown=_ONE_SIDED),
    "0.3 s, 60 %, slows one row, calls of 50 ms": Neighbour(0.3, 0.2, slowdown=_ONE_SIDED, call_s=0.05),
    "3 s, 43 %, slows one row": Neighbour(3.0, 4.0, slowdown=_ONE_SIDED),
    "another load in each launch": Neighbour(shares=(0.1, 0.9)),
    "another load in each launch, slows one row": Neighbour(shares=(0.1, 0.9), slowdown=_ONE_SIDED),
    "all the time": Neighbour(0.3, 0.0),
    "all the time, slows one row, fair share": Neighbour(0.3, 0.0, slowdown=_ONE_SIDED, uses=(0.55, 1.0)),
}
"""Whose load is not tied to a row's turn: a scheduler that is fair gives it half as much at least beside one row as
beside another."""
TIED = {
    "only in one row's turn": Neighbour(0.3, 0.0, slowdown=(2.0, 1.0), uses=(1.0, 0.0)),
    "bursts, only in one row's turn": Neighbour(0.1, 0.067, slowdown=(2.0, 1.0), uses=(1.0, 0.0)),
    "now and then, only in one row's turn": Neighbour(0.3, 1.2, slowdown=(2.0, 1.0), uses=(1.0, 0.0)),
    "three times as much in one row's turn": Neighbour(0.1, 0.067, slowdown=(2.0, 1.35), uses=(1.0, 0.33)),
}
"""Whose load is."""


@dataclass(frozen=True)
class Drawn:
    """What runs of the protocol saw; every array begins with (runs, launches, blocks, rows).

    Attributes:
        calls_s: What each call of a timed window took; one more axis.
        foreign_s: Processor time of the other program in the turn.
        turn_s: How long the turn lasted, settle calls included.
    """

    calls_s: Array
    foreign_s: Array
    turn_s: Array


def draw(neighbour: Neighbour, shape: tuple[int, int, int], effect: float, seed: int) -> Drawn:
    """Return what runs see.

    Args:
        neighbour: What runs beside the rows.
        shape: Runs, launches, blocks, the burn-in included.
        effect: By how much the cell truly is slower while nothing else runs, as a difference of log times.
        seed: Of all chance.
    """
    runs, launches, blocks = shape
    random = np.random.default_rng(seed)
    machine = _Machine(neighbour, random, runs * launches)
    calls_s = np.empty((runs * launches, blocks, 2, neighbour.calls))
    foreign_s, turn_s = np.empty((runs * launches, blocks, 2)), np.empty((runs * launches, blocks, 2))
    speeds = np.exp(random.normal(0, neighbour.launch_sd, (runs * launches, 2)))
    first = random.random(runs * launches) < 0.5
    for block in range(blocks):
        first = ~first if block % 2 else random.random(runs * launches) < 0.5
        for place in _ROWS:
            row = np.where(first, place, 1 - place)
            work_s = neighbour.call_s * np.exp(effect * (row == 0)) * speeds[np.arange(len(row)), row]
            foreign, turn = machine.go_on(row, work_s)  # the settle call
            at = np.arange(len(row)), block, row
            for call in range(neighbour.calls):
                used, calls_s[(*at, call)] = machine.go_on(row, work_s)
                foreign, turn = foreign + used, turn + calls_s[(*at, call)]
            foreign_s[at], turn_s[at] = foreign, turn
    calls_s *= np.exp(random.normal(0, neighbour.round_sd, turn_s.shape))[..., None]
    return Drawn(*(found.reshape(runs, launches, *found.shape[1:]) for found in (calls_s, foreign_s, turn_s)))


class _Machine:
    """The other program beside many launches at once, each at its own point of its work."""

    def __init__(self, neighbour: Neighbour, random: np.random.Generator, count: int) -> None:
        self._random, self._stages = random, neighbour.stages
        shares = np.full(count, neighbour.share)
        if neighbour.shares is not None:
            shares = random.uniform(*neighbour.shares, count)
        cycle_s = neighbour.works_s + neighbour.pauses_s
        self._mean_s = np.stack([(1 - shares) * cycle_s, shares * cycle_s]) / neighbour.stages
        self._slow = np.array([(1.0, 1.0), neighbour.slowdown])
        self._uses = np.array([(0.0, 0.0), neighbour.uses])
        self._works = (random.random(count) < shares).astype(np.int64)
        self._stage = random.integers(0, neighbour.stages, count)

    def go_on(self, row: NDArray[np.int64], work_s: Array) -> tuple[Array, Array]:
        """Let a row do some work; return processor time of the other program, and how long it took."""
        left, foreign, took = work_s.copy(), np.zeros(len(row)), np.zeros(len(row))
        at = np.arange(len(row))
        while at.size:
            works, own = self._works[at], row[at]
            slow = self._slow[works, own]
            until = self._random.exponential(size=at.size) * self._mean_s[works, at]
            if not self._mean_s[0, at].any():
                until[:] = np.inf
            spent = np.minimum(until, left[at] * slow)
            took[at] += spent
            foreign[at] += spent * self._uses[works, own]
            left[at] -= spent / slow
            changed = until <= spent
            self._advance(at[changed])
            at = at[changed]
        return foreign, took

    def _advance(self, at: NDArray[np.int64]) -> None:
        self._stage[at] += 1
        over = at[self._stage[at] == self._stages]
        self._stage[over] = 0
        self._works[over] = 1 - self._works[over]


def truth_of(neighbour: Neighbour, blocks: int, effect: float) -> float:
    """Return ln(time per inference of the cell / of the baseline), each expected over the counted blocks of a launch.

    A launch begins at any moment. With another load in each launch it is that of the launch in the middle, whose load
    is: what half of the launches exceed.

    Args:
        neighbour: What runs beside the rows.
        blocks: Of a launch, the burn-in included, which does not count.
        effect: The difference of log times while nothing else runs.
    """
    if neighbour.shares is not None:
        middle = sum(neighbour.shares) / 2
        cycle_s = neighbour.works_s + neighbour.pauses_s
        neighbour = replace(neighbour, works_s=middle * cycle_s, pauses_s=(1 - middle) * cycle_s, shares=None)
    if neighbour.pauses_s == 0:
        return effect + math.log(neighbour.slowdown[0] / neighbour.slowdown[1])
    expected = _expected_s(neighbour, blocks, effect)
    return math.log(expected[0] / expected[1])


def _expected_s(neighbour: Neighbour, blocks: int, effect: float) -> Array:
    """Return how long the timed windows of each row are expected to take in all counted blocks of a launch."""
    turns = [_Turn.of(neighbour, row, neighbour.call_s * math.exp(effect * (row == 0))) for row in _ROWS]
    steady = np.repeat([1 - neighbour.share, neighbour.share], neighbour.stages) / neighbour.stages
    ways = dict.fromkeys(_ROWS, steady / 2)  # how likely each state is, with each order of the block before
    expected = np.zeros(2)
    for block in range(blocks):
        if block % 2:
            before = {1 - first: state for first, state in ways.items()}
        else:
            both = sum(ways.values())
            before = dict.fromkeys(_ROWS, both / 2)
        ways = {}
        for first, state in before.items():
            now = state
            for row in (first, 1 - first):
                expected[row] += (block > 0) * turns[row].window_s(now)
                now = now @ turns[row].after
            ways[first] = now
    return expected


@dataclass(frozen=True)
class _Turn:
    """A row's turn as matrices over the states of the other program.

    Attributes:
        settled: To each state after the settle call from each before the turn.
        after: The same, after the whole turn.
        lasts_s: How long the timed window is expected to take from each state that it begins in.
    """

    settled: Array
    after: Array
    lasts_s: Array

    @classmethod
    def of(cls, neighbour: Neighbour, row: int, call_s: float) -> _Turn:
        """Return the turn of a row whose calls take so long while nothing else runs."""
        stages = neighbour.stages
        means_s = np.repeat([neighbour.pauses_s, neighbour.works_s], stages) / stages
        slow = np.repeat([1.0, neighbour.slowdown[row]], stages)
        rates = (np.roll(np.eye(2 * stages), 1, axis=1) - np.eye(2 * stages)) / means_s[:, None]
        per_work = slow[:, None] * rates  # changes of state while a second of work is done
        settled = _exponential(per_work * call_s)
        # the integral of the state over the work, weighted by how long each second of work takes
        widened = np.zeros((2 * stages + 1,) * 2)
        widened[:-1, :-1], widened[:-1, -1] = per_work, slow
        grown = _exponential(widened * call_s * neighbour.calls)
        return cls(settled, settled @ grown[:-1, :-1], grown[:-1, -1])

    def window_s(self, state: Array) -> float:
        """Return how long the timed window takes, expected from the state before the turn."""
        return float(state @ self.settled @ self.lasts_s)


def _exponential(matrix: Array) -> Array:
    """Return the exponential of a matrix, by its series after halving until that converges, and squaring again."""
    halvings = max(0, math.ceil(math.log2(max(1e-12, np.abs(matrix).sum(axis=1).max()))) + 1)
    small = matrix / 2**halvings
    term = total = np.eye(len(matrix))
    for power in range(1, 16):
        term = term @ small / power
        total = total + term
    for _ in range(halvings):
        total = total @ total
    return total
