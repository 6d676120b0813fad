"""How near irbench's numbers come to a known truth: pure functions from the tables of its runs to figures and goals."""

from __future__ import annotations

import math
import statistics
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from irbench.errors import IrbenchError
from irbench.render import Column, Row, TextTable
from irbench.result import CellResult, GroupResult

__all__ = [
    "RatioFigures",
    "ThroughputFigures",
    "missed_goals",
    "ratio_figures",
    "ratio_table",
    "throughput_figures",
    "throughput_table",
]

T = TypeVar("T")

_HELD_SHARE = 17 / 20
_LARGEST_ERROR = 0.01
_TOLD_APART_SHARE = 2 / 20


@dataclass(frozen=True)
class RatioFigures:
    """What many runs said of one known ratio.

    Attributes:
        ratio: The true speedup.
        runs: How many there were.
        held: Intervals that hold the truth; a preview has no interval.
        median_error: Of the speedups, as fractions of the truth, without their signs.
        median_half_width: Of the intervals of the logarithm of the speedup.
        verdicts: How often each was given.
        launches: Median.
        seconds: Median wall time of a run.
    """

    ratio: float
    runs: int
    held: int
    median_error: float
    median_half_width: float
    verdicts: Mapping[str, int]
    launches: float
    seconds: float


@dataclass(frozen=True)
class ThroughputFigures:
    """What one run said of a known throughput.

    Attributes:
        load: What was measured, in words.
        expected: True throughput, in samples per second.
        fps: Of the interleaved rounds, in samples per second.
        sustained_fps: Of the uninterrupted run.
    """

    load: str
    expected: float
    fps: float
    sustained_fps: float

    @property
    def errors(self) -> tuple[float, float]:
        """Relative errors of the two, with their signs."""
        return self.fps / self.expected - 1, self.sustained_fps / self.expected - 1


def ratio_figures(ratio: float, backend: str, tables: Sequence[GroupResult]) -> RatioFigures:
    """Return what runs said of ``backend``, which truly is ``ratio`` times as fast as the baseline.

    Args:
        ratio: The truth.
        backend: Whose row has the speedup.
        tables: One for each run, at least one.

    Raises:
        IrbenchError: A run gave no speedup.
    """
    speedups = [_known(_row(table, backend).speedup, backend) for table in tables]
    return RatioFigures(
        ratio=ratio,
        runs=len(tables),
        held=sum(one.verdict != "preview" and one.low <= ratio <= one.high for one in speedups),
        median_error=statistics.median(abs(one.value / ratio - 1) for one in speedups),
        median_half_width=statistics.median(math.log(one.high / one.low) / 2 for one in speedups),
        verdicts=Counter(one.verdict for one in speedups),
        launches=statistics.median(table.launches for table in tables),
        seconds=statistics.median(table.seconds for table in tables),
    )


def throughput_figures(call_s: float, table: GroupResult, words: str = "") -> tuple[ThroughputFigures, ...]:
    """Return what a run said of each of its rows, one for each number of streams, fewest first.

    Args:
        call_s: How long one call of one stream truly lasts, in seconds, stalls included.
        table: The run's.
        words: What else there is to say of its calls.

    Raises:
        IrbenchError: A row has no throughput.
    """
    rows = sorted(table.cells, key=lambda one: one.requested.streams)
    return tuple(
        ThroughputFigures(
            load=", ".join(filter(None, (f"{row.requested.streams} in flight", words))),
            expected=row.batch * row.requested.streams / call_s,
            fps=_known(row.fps, row.label),
            sustained_fps=_known(row.sustained_fps, row.label),
        )
        for row in rows
    )


def missed_goals(ratios: Sequence[RatioFigures], throughputs: Sequence[ThroughputFigures]) -> tuple[str, ...]:
    """Return a sentence for each goal that was missed.

    They are: 17 of 20 intervals hold the truth, errors are at most 1 %, and of 20 equals at most 2 are told apart.
    """
    return (*_missed_ratios(ratios), *_missed_throughputs(throughputs))


def ratio_table(figures: Sequence[RatioFigures]) -> TextTable:
    """Return a row for each ratio."""
    columns = (
        *(Column("true ratio"), Column("intervals that hold it"), Column("median error"), Column("median half-width")),
        *(Column("verdicts", words=True, folds=True), Column("launches"), Column("s per run")),
    )
    rows = (
        Row(
            (
                *(f"{one.ratio:.2f}", f"{one.held} of {one.runs}"),
                *(_percent(one.median_error), _percent(one.median_half_width)),
                ", ".join(f"{count} {verdict}" for verdict, count in sorted(one.verdicts.items())),
                *(f"{one.launches:g}", f"{one.seconds:.0f}"),
            )
        )
        for one in figures
    )
    return TextTable(columns, tuple(rows))


def throughput_table(figures: Sequence[ThroughputFigures]) -> TextTable:
    """Return a row for each load."""
    headings = ("true FPS", "FPS", "error", "sustained FPS", "error")
    rows = (
        Row(
            (
                *(one.load, f"{one.expected:.0f}"),
                *(f"{one.fps:.0f}", f"{one.errors[0] * 100:+.2f} %"),
                *(f"{one.sustained_fps:.0f}", f"{one.errors[1] * 100:+.2f} %"),
            )
        )
        for one in figures
    )
    columns = (Column("load", words=True), *(Column(heading) for heading in headings))
    return TextTable(columns, tuple(rows))


def _missed_ratios(figures: Sequence[RatioFigures]) -> Iterator[str]:
    for one in figures:
        wanted = max(1, math.floor(_HELD_SHARE * one.runs))
        if one.held < wanted:
            yield f"{one.held} of {one.runs} intervals hold the ratio {one.ratio:.2f}; {wanted} should."
        if one.median_error > _LARGEST_ERROR:
            yield f"The median error at the ratio {one.ratio:.2f} is {_percent(one.median_error)}, above 1 %."
        told_apart = one.verdicts.get("faster", 0) + one.verdicts.get("slower", 0)
        if one.ratio == 1 and told_apart > math.ceil(_TOLD_APART_SHARE * one.runs):
            yield f"{told_apart} of {one.runs} runs tell equals apart; {math.ceil(_TOLD_APART_SHARE * one.runs)} may."


def _missed_throughputs(figures: Sequence[ThroughputFigures]) -> Iterator[str]:
    for one in figures:
        for name, error in zip(("FPS", "sustained FPS"), one.errors, strict=True):
            if abs(error) > _LARGEST_ERROR:
                yield f"With {one.load}, {name} are off by {error * 100:+.1f} %, by more than 1 %."


def _row(table: GroupResult, backend: str) -> CellResult:
    return next(one for one in table.cells if one.backend == backend)


def _known(value: T | None, row: str) -> T:
    if value is None:
        raise IrbenchError(f"A run gave no figure for {row}.", hint="Look at its table: irbench show")
    return value


def _percent(fraction: float) -> str:
    return f"{fraction * 100:.2f} %"
