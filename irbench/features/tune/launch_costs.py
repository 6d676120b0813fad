"""What launches of a search and of its confirmation take, as far as launches so far have shown it."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from irbench.core.address import is_gpu
from irbench.core.record import CellLaunch, LaunchRecord, ns_per_completion
from irbench.spec import Cell, Timing
from irbench.stats.launch_planning import (
    GUESSED_START_S,
    calls_per_sample,
    fewest_blocks,
    fewest_warm_up_calls,
    mean_round_s,
    samples_per_round,
)

_LONG_WARM_UP_S = 0.5
_SIDE_BY_SIDE = 0.7
"""What rows that were launched before take to start side by side, as a share of one after the other."""
_GUESSED_COMPLETION_S = 0.01
_STORING_S = 0.5
"""What storing a launch and its table takes, or a little more."""


@dataclass(frozen=True)
class RowCost:
    """What a row takes: from process start to first output, and per completed call, in wall time.

    Attributes:
        on_gpu: Whether it settles as rows on GPUs do.
    """

    start_s: float
    completion_s: float
    in_flight: int = 1
    on_gpu: bool = False


def launch_s(rows: Sequence[RowCost], timing: Timing, *, verifies: bool) -> float:
    """Return how long a launch of rows takes with its fewest blocks and samples, in seconds.

    The first launch of rows ``verifies`` them: it starts them one after the other, and calls each once more.
    """
    few = {str(place): row for place, row in enumerate(rows)}
    samples = samples_per_round(
        {name: 1e9 * row.completion_s for name, row in few.items()},
        {name: row.in_flight for name, row in few.items()},
        timing.on_gpu() if any(row.on_gpu for row in rows) else timing,
    )
    blocks = fewest_blocks(timing) + timing.burn_in_blocks
    rounds_s = sum(_round_s(row, samples[name], timing) for name, row in few.items())
    starts_s = sum(row.start_s for row in rows) * (1 if verifies else _SIDE_BY_SIDE)
    answers_s = sum(row.in_flight * row.completion_s for row in rows) if verifies else 0.0
    return _STORING_S + starts_s + answers_s + sum(_warm_up_s(row, timing) for row in rows) + blocks * rounds_s


def _round_s(row: RowCost, samples: int, timing: Timing) -> float:
    calls = samples * (calls_per_sample(1e9 * row.completion_s) if row.in_flight == 1 else 1)
    own = timing.on_gpu() if row.on_gpu else timing
    return mean_round_s(calls * row.completion_s, row.completion_s, own)


def _warm_up_s(row: RowCost, timing: Timing) -> float:
    """Return the time of a warm-up; where calls are long, each that is in flight is made once."""
    fewest_s = fewest_warm_up_calls(timing, row.in_flight) * row.completion_s
    if fewest_s >= _LONG_WARM_UP_S:
        fewest_s = row.in_flight * row.completion_s
    return max(timing.warm_up, timing.warm_up_calls * row.completion_s, fewest_s)


def confirmation_s(rows: Sequence[RowCost], timing: Timing, launches: int) -> float:
    """Return how long launches of rows take in a run of their own, with the fewest blocks and samples."""
    timing = replace(timing, min_calls=1, calls_per_stream=1)
    return launch_s(rows, timing, verifies=True) + (launches - 1) * launch_s(rows, timing, verifies=False)


GUESSED = RowCost(GUESSED_START_S, _GUESSED_COMPLETION_S)
"""What a row takes before anything was launched."""


class LaunchCosts:
    """What rows take, as far as launches have shown it; others are taken to be like those of the same backend."""

    def __init__(self, cells: Mapping[str, Cell], records: Sequence[LaunchRecord]) -> None:
        self._cells = cells
        known = [own for record in records for own in record.cells if own.cell in cells and own.rounds]
        self._known = {own.cell: _cost_of(own, cells[own.cell]) for own in known}

    def of(self, cells: Sequence[str]) -> list[RowCost]:
        """Return what rows take, by their ids."""
        return [self._known[cell] if cell in self._known else self._guess(self._cells[cell]) for cell in cells]

    def _guess(self, cell: Cell) -> RowCost:
        """Return the usual start of its backend, and calls that take as long per sample as its usual ones."""
        alike = [own for own in self._known if self._cells[own].address == cell.address] or list(self._known)
        if not alike:
            return replace(GUESSED, in_flight=cell.load.concurrency, on_gpu=is_gpu(cell.device))
        per_sample_s = statistics.median(self._known[own].completion_s / self._cells[own].load.batch for own in alike)
        start_s = statistics.median(self._known[own].start_s for own in alike)
        return RowCost(start_s, cell.load.batch * per_sample_s, cell.load.concurrency, is_gpu(cell.device))


def _cost_of(own: CellLaunch, cell: Cell) -> RowCost:
    completion_s = ns_per_completion(own.rounds[-1].completion_ns) / own.calls_per_sample / 1e9
    return RowCost(own.phases_ns.get("ready", 0) / 1e9, completion_s, cell.load.concurrency, is_gpu(cell.device))
