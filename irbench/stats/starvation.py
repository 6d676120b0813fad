"""Whether a row's latencies account for all of its requests in flight.

Where requests are kept in flight without a pause, their number is the rate of completions times the mean latency:
Little, "A Proof for the Queuing Formula: L = lambda W", Operations Research 9 (1961). A runtime that serves a few
streams and lets the others wait completes as many requests as a fair one. Those that wait are in no percentile, so that
the product falls short of the number of streams.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from irbench.record import LaunchRecord, Round
from irbench.spec import Cell
from irbench.stats.figures import Rounds, rounds_that_count
from irbench.stats.observed import Observed

_LEAST_SHARE = 0.8
"""Of the requests in flight that latencies must account for."""
_FEWEST_PER_STREAM = 4
_IN_MOST_ROUNDS = 0.9
"""A request that is long by chance spans some rounds; one that is not served spans nearly all."""


@dataclass(frozen=True)
class InFlight:
    """What a row's rounds say of its requests in flight.

    Attributes:
        asked: How many were to be kept in flight.
        kept: How many were on average, gaps between one request and the next left out.
        found: How many the completed ones account for: completions per second times their mean latency.
        open_share: Requests that were open at the end of a round, as a share of them and of the completed ones.
        spanned: The share of rounds with a request that was open from before the window until after it.
        oldest_ns: How long the oldest of these had been open, in nanoseconds.
    """

    asked: int
    kept: float
    found: float
    open_share: float
    spanned: float
    oldest_ns: float

    @property
    def some_starve(self) -> bool:
        """Whether percentiles leave out requests that waited longest."""
        return self.found < _LEAST_SHARE * self.kept and self.spanned >= _IN_MOST_ROUNDS


def starving(
    records: Sequence[LaunchRecord], launches: Sequence[Observed], cells: Iterable[Cell]
) -> dict[str, InFlight]:
    """Return the cells whose percentiles leave out requests that waited longest, by id, from the blocks that count.

    Args:
        records: The group's launches.
        launches: The same, reduced.
        cells: Which are judged.
    """
    found = {cell.id: in_flight(rounds_that_count(records, launches, cell.id), cell) for cell in cells}
    return {cell: seen for cell, seen in found.items() if seen is not None and seen.some_starve}


def in_flight(rounds: Rounds, cell: Cell) -> InFlight | None:
    """Return what rounds say of the requests in flight; ``None`` for one at a time, for a command, and of few calls.

    All rounds together: the first and the last requests of a single one cross its window's ends. Records without the
    requests that were open at the end of a round say nothing: gaps between requests look like requests that wait.

    Args:
        rounds: Each with its launch.
        cell: Whose they are.
    """
    asked = cell.load.concurrency
    if asked < 2 or not rounds or (cell.program is not None and cell.program.kind == "command"):
        return None
    completed = sum(round_.completion_ns.size for _, round_ in rounds)
    if completed < _FEWEST_PER_STREAM * asked:
        return None
    ages_ns = np.concatenate([round_.completion_ns[-1] - round_.open_ns for _, round_ in rounds])
    if not ages_ns.size:
        return None
    window_ns = sum(float(round_.completion_ns[-1]) for _, round_ in rounds)
    return InFlight(
        asked=asked,
        kept=sum(_flight_ns(round_) for _, round_ in rounds) / window_ns,
        found=sum(float(round_.latency_ns.sum()) for _, round_ in rounds) / window_ns,
        open_share=ages_ns.size / (ages_ns.size + completed),
        spanned=sum(bool((round_.open_ns < 0).any()) for _, round_ in rounds) / len(rounds),
        oldest_ns=float(ages_ns.max()),
    )


def _flight_ns(round_: Round) -> float:
    """Return how long requests were in flight within the window, all together, in nanoseconds."""
    completed = round_.completion_ns - np.maximum(round_.issue_ns, 0)
    still_open = round_.completion_ns[-1] - np.maximum(round_.open_ns, 0)
    return float(completed.sum() + still_open.sum())
