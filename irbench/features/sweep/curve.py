"""Curves over batch sizes: where more samples per inference gain nothing, and the largest batch that fits."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal, TypeAlias

from irbench.core.row import State

StopReason: TypeAlias = Literal["saturated", "memory", "failed"]
"""The last step gained too little in every row; a row would not fit into memory at the next one; no row has figures."""
CURVE_END_TEXTS: Mapping[StopReason, str] = {
    "saturated": "ended at batch {batch}: doubling gained less than {stop_gain} in every row that ran",
    "memory": "ended at batch {batch}: {row} would need {needed_gb:.1f} GB at twice that, and {available_gb:.1f} GB are"
    " free",
    "failed": "ended at batch {batch}, which no row ran",
}


@dataclass(frozen=True)
class RowFacts:
    """What is kept of a row of a finished table.

    Attributes:
        fps: Samples per second; ``None`` without figures.
        peak_bytes: The most memory that its process had; ``None`` where that is unknown.
        reason: Why it failed; empty where it did not.
    """

    name: str
    state: State
    fps: float | None = None
    peak_bytes: int | None = None
    reason: str = ""

    @property
    def counts(self) -> bool:
        """Whether it has a throughput that is one of right answers."""
        return self.state == "ok" and self.fps is not None


@dataclass(frozen=True)
class CurvePoint:
    """One batch size of a curve."""

    batch: int
    rows: tuple[RowFacts, ...]
    busy: bool = False

    def row(self, name: str) -> RowFacts | None:
        """Return the row of this name, if it has figures."""
        return next((row for row in self.rows if row.name == name and row.counts), None)


@dataclass(frozen=True)
class CurveEnd:
    """Why a curve has no further point.

    Attributes:
        row: The row that would not fit into memory at the next batch; empty for another reason.
    """

    curve: str
    batch: int
    reason: StopReason
    row: str = ""
    needed_bytes: int | None = None
    available_bytes: int | None = None


def curve_end(
    curve: str, points: Sequence[CurvePoint], stop_gain: float, next_batch: int, available_bytes: int
) -> CurveEnd | None:
    """Return why a curve ends, or ``None`` where its next batch is to be measured.

    A step to or from a batch at which the machine was busy ends it only if the step before gained too little as well.
    """
    if not points:
        return None
    last = points[-1]
    names = [row.name for row in last.rows if row.counts]
    if not names:
        return CurveEnd(curve, last.batch, "failed")
    doubtful = any(point.busy for point in points[-2:])
    if _gains_little(points, stop_gain) and (not doubtful or _gains_little(points[:-1], stop_gain)):
        return CurveEnd(curve, last.batch, "saturated")
    needed_bytes = {name: expected_bytes(points, name, next_batch) or 0 for name in names}
    largest = max(needed_bytes, key=needed_bytes.__getitem__)
    if needed_bytes[largest] > available_bytes:
        return CurveEnd(curve, last.batch, "memory", largest, needed_bytes[largest], available_bytes)
    return None


def gain(points: Sequence[CurvePoint], name: str) -> float | None:
    """Return the share of throughput that the last step added to a row; ``None`` where it lacks one of the two."""
    return next((gained for _, gained in _gains(points[-2:], name)), None)


def knee(points: Sequence[CurvePoint], name: str, stop_gain: float) -> int | None:
    """Return the batch of a row beyond which each one gains less than ``stop_gain``; ``None`` without one."""
    size: int | None = None
    for batch, gained in _gains(points, name):
        if gained is not None:
            size = None if gained >= stop_gain else batch if size is None else size
    return size


def expected_bytes(points: Sequence[CurvePoint], name: str, batch: int) -> int | None:
    """Return the peak memory of a row at a larger batch, on the line through its last two points.

    Returns:
        Bytes; ``None`` where fewer than two points are known.
    """
    known = [(point.batch, row.peak_bytes) for point in points if (row := point.row(name)) and row.peak_bytes]
    if len(known) < 2:
        return None
    (before, less), (last, more) = known[-2:]
    return round(more + (more - less) / (last - before) * (batch - last))


def _gains_little(points: Sequence[CurvePoint], stop_gain: float) -> bool:
    gains = [gain(points, row.name) for row in points[-1].rows if row.counts]
    return len(points) > 1 and all(gained is not None and gained < stop_gain for gained in gains)


def _gains(points: Sequence[CurvePoint], name: str) -> Iterator[tuple[int, float | None]]:
    """Yield each batch but the last, with what the next one adds to a row; ``None`` where either has no figures."""
    for smaller, larger in pairwise(points):
        before, after = smaller.row(name), larger.row(name)
        yield smaller.batch, _fps(after) / _fps(before) - 1 if before and after else None


def _fps(row: RowFacts) -> float:
    assert row.fps is not None
    return row.fps
