"""How near irbench's numbers come to a known truth: pure functions from what its runs claim to figures and goals."""

from __future__ import annotations

import math
import statistics
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from benchmarks.claims import Claim, known
from irbench.render import Column, Row, TextTable
from irbench.result import GroupResult

__all__ = [
    "LARGEST_ERROR",
    "RatioFigures",
    "ThroughputFigures",
    "missed_ratios",
    "missed_throughputs",
    "percent",
    "ratio_figures",
    "ratio_table",
    "throughput_figures",
    "throughput_table",
]

LARGEST_ERROR = 0.01
"""Of a throughput, and of a speedup between backends that do what a clock says."""

_HELD_SHARE = 17 / 20
_TOLD_APART_SHARE = 2 / 20


@dataclass(frozen=True)
class RatioFigures:
    """What many runs said of one known ratio.

    Attributes:
        subject: See :class:`Claim`.
        ratio: The true speedup.
        runs: How many there were.
        held: Intervals that hold the truth.
        median_error: Of the speedups, as fractions of the truth, without their signs.
        median_half_width: Of the intervals of the logarithm of the speedup.
        verdicts: How often each was given.
        launches: Median.
        seconds: Median wall time of a run.
    """

    subject: str
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


def ratio_figures(claims: Sequence[Claim]) -> tuple[RatioFigures, ...]:
    """Return what runs said of each subject and ratio, in the order in which they first come."""
    keys = dict.fromkeys((one.subject, one.ratio) for one in claims)
    return tuple(
        _figures([one for one in claims if (one.subject, one.ratio) == (subject, ratio)]) for subject, ratio in keys
    )


def _figures(claims: Sequence[Claim]) -> RatioFigures:
    return RatioFigures(
        subject=claims[0].subject,
        ratio=claims[0].ratio,
        runs=len(claims),
        held=sum(one.holds for one in claims),
        median_error=statistics.median(one.error for one in claims),
        median_half_width=statistics.median(one.half_width for one in claims),
        verdicts=Counter(one.verdict for one in claims),
        launches=statistics.median(one.launches for one in claims),
        seconds=statistics.median(one.seconds for one in claims),
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
            fps=known(row.fps, row.label),
            sustained_fps=known(row.sustained_fps, row.label),
        )
        for row in rows
    )


def missed_ratios(figures: Sequence[RatioFigures], largest_error: float | None = None) -> Iterator[str]:
    """Yield a sentence for each goal that was missed.

    They are: 17 of 20 intervals hold the truth, and of 20 equals at most 2 are told apart.

    Args:
        figures: Of each ratio.
        largest_error: What the median error should not exceed either, as a fraction; ``None`` where the machine
            decides it.
    """
    for one in figures:
        of = f" of {one.subject}" if one.subject else ""
        wanted = max(1, math.floor(_HELD_SHARE * one.runs))
        if one.held < wanted:
            yield f"{one.held} of {one.runs} intervals{of} hold the ratio {one.ratio:.2f}; {wanted} should."
        if largest_error is not None and one.median_error > largest_error:
            error, limit = percent(one.median_error), f"{largest_error * 100:g} %"
            yield f"The median error{of} at the ratio {one.ratio:.2f} is {error}, above {limit}."
        told_apart = one.verdicts.get("faster", 0) + one.verdicts.get("slower", 0)
        allowed = math.ceil(_TOLD_APART_SHARE * one.runs)
        if one.ratio == 1 and told_apart > allowed:
            yield f"{told_apart} of {one.runs} runs{of} tell equals apart; {allowed} may."


def missed_throughputs(figures: Sequence[ThroughputFigures]) -> Iterator[str]:
    """Yield a sentence for each throughput that is off by more than 1 %."""
    for one in figures:
        for name, error in zip(("FPS", "sustained FPS"), one.errors, strict=True):
            if abs(error) > LARGEST_ERROR:
                yield f"With {one.load}, {name} are off by {error * 100:+.1f} %, by more than 1 %."


def ratio_table(figures: Sequence[RatioFigures]) -> TextTable:
    """Return a row for each ratio, and for each subject where they have names."""
    named = any(one.subject for one in figures)
    columns = (
        *([Column("backend", words=True)] if named else []),
        *(Column("true ratio"), Column("intervals that hold it"), Column("median error"), Column("median half-width")),
        *(Column("verdicts", words=True, folds=True), Column("launches"), Column("s per run")),
    )
    rows = (
        Row(
            (
                *([one.subject] if named else []),
                *(f"{one.ratio:.2f}", f"{one.held} of {one.runs}"),
                *(percent(one.median_error), percent(one.median_half_width)),
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


def percent(fraction: float) -> str:
    """Return a fraction in percent, to two decimals."""
    return f"{fraction * 100:.2f} %"
