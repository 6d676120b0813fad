"""The shipped decisions, run on launches whose log ratios are given.

Intervals, rows, the headline, the race and the stopping rule are those of :mod:`irbench.stats`, called as a run calls
them. Only the reduction of a launch's blocks to one ratio is looked up, because it was done for all runs at once; a
test holds the two equal.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from unittest.mock import patch

import numpy as np

from irbench.spec import Timing
from irbench.stats import speedups as compare
from irbench.stats import stopping_rule, winner
from irbench.stats.eligibility import Eligibility
from irbench.stats.intervals import Interval
from irbench.stats.observed import Observed
from irbench.stats.speedups import holm_intervals, launch_ratios
from irbench.stats.stopping_rule import contenders
from simulation.regimes import Array

CELL, BASELINE = "cell", "baseline"
_NO_BLOCKS = frozenset[int]()


@dataclass(frozen=True)
class Reduced(Observed):
    """A launch whose log ratios are known.

    Attributes:
        ratios: ln(cell / other) by the two cells.
    """

    ratios: Mapping[tuple[str, str], float]


def hodges_lehmann(values: Array) -> Array:
    """Return the estimate over the last axis for all others at once."""
    first, second = np.triu_indices(values.shape[-1])
    return np.median((values[..., first] + values[..., second]) / 2, axis=-1)


def reduced(ratios: Mapping[tuple[str, str], float]) -> Reduced:
    """Return a launch with these log ratios, each known in both directions."""
    both = dict(ratios) | {(other, cell): -value for (cell, other), value in ratios.items()}
    measured: dict[str, Mapping[int, float]] = {cell: {} for pair in ratios for cell in pair}
    return Reduced(_NO_BLOCKS, _NO_BLOCKS, _NO_BLOCKS, measured, both)


def standing_of(cells: Sequence[str], baseline: str, *, in_parts: bool = False) -> Eligibility:
    """Return the eligibility of cells that are all well and comparable."""
    return Eligibility(dict.fromkeys(cells, "ok"), {}, {}, baseline, tuple(cells), in_parts=in_parts)


@contextmanager
def decided_by(interval: Any = None) -> Iterator[None]:
    """Let the shipped code look log ratios up, and form intervals by this function where one is given."""
    with patch.object(compare, "log_ratio_of_launch", _looked_up):
        if interval is None:
            yield
            return
        with (
            patch.object(compare, "interval_at", interval),
            patch.object(winner, "interval_at", interval),
            patch.object(stopping_rule, "interval_at", interval),
        ):
            yield


def run_until_stopped(ratios: Sequence[float], timing: Timing) -> Interval:
    """Return the row's interval at which a run of two cells ends, given the log ratio of each launch it may have."""
    eligibility = standing_of((BASELINE, CELL), BASELINE)
    launches = [reduced({(CELL, BASELINE): ratio}) for ratio in ratios]
    count = timing.min_launches
    while count < timing.max_launches and contenders(launches[:count], eligibility, timing):
        count += 1
    return holm_intervals({CELL: launch_ratios(launches[:count], CELL, BASELINE)}, timing)[CELL]


def _looked_up(reduced_: Reduced, cell: str, other: str, *, all_blocks: bool = False) -> float | None:
    return reduced_.ratios.get((cell, other))
