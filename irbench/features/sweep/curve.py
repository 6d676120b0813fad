"""Curves over batch sizes: where more samples per inference gain nothing, and the largest batch that fits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from irbench.store.sweeps import BatchGain, CurveEnd, CurvePoint, StopReason

CURVE_END_TEXTS: Mapping[StopReason, str] = {
    "saturated": "ended at batch {batch}: doubling gained less than {stop_gain} in every row that ran",
    "memory": "ended at batch {batch}: {row} would need {needed_gb:.1f} GB at twice that, and {available_gb:.1f} GB are"
    " free",
    "failed": "ended at batch {batch}, which no row ran",
}


@dataclass(frozen=True)
class Knee:
    """Between which batches the one lies beyond which every doubling gains too little."""

    low: int
    high: int


def curve_end(
    curve: str, points: Sequence[CurvePoint], stop_gain: float, next_batch: int, available_bytes: int
) -> CurveEnd | None:
    """Return why a curve ends, or ``None`` where its next batch is to be measured.

    The last step ends it where it surely gained too little in every row. One of which that is not sure, on a busy
    machine for example, ends it only if the step before gained too little as well.
    """
    if not points:
        return None
    last = points[-1]
    names = [row.name for row in last.rows if row.counts]
    if not names:
        return CurveEnd(curve, last.batch, "failed")
    if _gains_little(points, stop_gain) and (
        _surely_gains_little(last, stop_gain) or _gains_little(points[:-1], stop_gain)
    ):
        return CurveEnd(curve, last.batch, "saturated")
    needed_bytes = {name: expected_bytes(points, name, next_batch) or 0 for name in names}
    largest = max(needed_bytes, key=needed_bytes.__getitem__)
    if needed_bytes[largest] > available_bytes:
        return CurveEnd(curve, last.batch, "memory", largest, needed_bytes[largest], available_bytes)
    return None


def gain(points: Sequence[CurvePoint], name: str) -> BatchGain | None:
    """Return what the last step added to the throughput of a row; ``None`` where it lacks one of the two."""
    row = points[-1].row(name) if points else None
    return None if row is None else row.gain


def knee(points: Sequence[CurvePoint], name: str, stop_gain: float) -> Knee | None:
    """Return between which batches the one of a row lies beyond which each doubling gains less than ``stop_gain``.

    It lies at or beyond every batch that surely gained as much, and at or before the first of those at the end that
    surely gained less.

    Returns:
        ``None`` where the last doubling did not surely gain less, so that there may be no knee.
    """
    gains = [(before.batch, point.batch, gain((point,), name)) for before, point in pairwise(points)]
    high = None
    for before, _, gained in reversed(gains):
        if gained is None or gained.high is None or gained.high >= stop_gain:
            break
        high = before
    if high is None:
        return None
    surely = (batch for _, batch, gained in gains if gained and gained.low is not None and gained.low >= stop_gain)
    return Knee(max(surely, default=points[0].batch), high)


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
    gains = [gain(points, row.name) for row in points[-1].rows if row.counts] if points else []
    return bool(gains) and all(gained is not None and gained.value < stop_gain for gained in gains)


def _surely_gains_little(point: CurvePoint, stop_gain: float) -> bool:
    gains = [row.gain for row in point.rows if row.counts]
    return all(gained is not None and gained.high is not None and gained.high < stop_gain for gained in gains)
