"""How near irbench's numbers come to a known truth: pure functions from what its runs claim to figures and goals."""

from __future__ import annotations

import math
import statistics
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from benchmarks.claims import Claim, known
from irbench.core.result import GroupResult
from irbench.render.table import Row, TableColumn, TextTable

LARGEST_ERROR = 0.01
"""Of a throughput, and of a speedup between backends that do what a clock says."""

_HELD_SHARE = 17 / 20
_DISTINGUISHED_SHARE = 2 / 20


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
    keys = dict.fromkeys((claim.subject, claim.ratio) for claim in claims)
    return tuple(
        _figures([claim for claim in claims if (claim.subject, claim.ratio) == (subject, ratio)])
        for subject, ratio in keys
    )


def _figures(claims: Sequence[Claim]) -> RatioFigures:
    return RatioFigures(
        subject=claims[0].subject,
        ratio=claims[0].ratio,
        runs=len(claims),
        held=sum(claim.holds for claim in claims),
        median_error=statistics.median(claim.error for claim in claims),
        median_half_width=statistics.median(claim.half_width for claim in claims),
        verdicts=Counter(claim.verdict for claim in claims),
        launches=statistics.median(claim.launches for claim in claims),
        seconds=statistics.median(claim.seconds for claim in claims),
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
    rows = sorted(table.cells, key=lambda item: item.requested.streams)
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
    for figure in figures:
        of = f" of {figure.subject}" if figure.subject else ""
        wanted = max(1, math.floor(_HELD_SHARE * figure.runs))
        if figure.held < wanted:
            yield f"{figure.held} of {figure.runs} intervals{of} hold the ratio {figure.ratio:.2f}; {wanted} should."
        if largest_error is not None and figure.median_error > largest_error:
            error, limit = percent(figure.median_error), f"{largest_error * 100:g} %"
            yield f"The median error{of} at the ratio {figure.ratio:.2f} is {error}, above {limit}."
        distinguished = figure.verdicts.get("faster", 0) + figure.verdicts.get("slower", 0)
        allowed = math.ceil(_DISTINGUISHED_SHARE * figure.runs)
        if figure.ratio == 1 and distinguished > allowed:
            yield f"{distinguished} of {figure.runs} runs{of} tell equals apart; {allowed} may."


def missed_throughputs(figures: Sequence[ThroughputFigures]) -> Iterator[str]:
    """Yield a sentence for each throughput that is off by more than 1 %."""
    for figure in figures:
        for name, error in zip(("FPS", "sustained FPS"), figure.errors, strict=True):
            if abs(error) > LARGEST_ERROR:
                yield f"With {figure.load}, {name} are off by {error * 100:+.1f} %, by more than 1 %."


def ratio_table(figures: Sequence[RatioFigures]) -> TextTable:
    """Return a row for each ratio, and for each subject where they have names."""
    named = any(figure.subject for figure in figures)
    columns = (
        *([TableColumn("backend", words=True)] if named else []),
        *(
            TableColumn("true ratio"),
            TableColumn("intervals that hold it"),
            TableColumn("median error"),
            TableColumn("median half-width"),
        ),
        *(TableColumn("verdicts", words=True, folds=True), TableColumn("launches"), TableColumn("s per run")),
    )
    rows = (
        Row(
            (
                *([figure.subject] if named else []),
                *(f"{figure.ratio:.2f}", f"{figure.held} of {figure.runs}"),
                *(percent(figure.median_error), percent(figure.median_half_width)),
                ", ".join(f"{count} {verdict}" for verdict, count in sorted(figure.verdicts.items())),
                *(f"{figure.launches:g}", f"{figure.seconds:.0f}"),
            )
        )
        for figure in figures
    )
    return TextTable(columns, tuple(rows))


def throughput_table(figures: Sequence[ThroughputFigures]) -> TextTable:
    """Return a row for each load."""
    headings = ("true FPS", "FPS", "error", "sustained FPS", "error")
    rows = (
        Row(
            (
                *(figure.load, f"{figure.expected:.0f}"),
                *(f"{figure.fps:.0f}", f"{figure.errors[0] * 100:+.2f} %"),
                *(f"{figure.sustained_fps:.0f}", f"{figure.errors[1] * 100:+.2f} %"),
            )
        )
        for figure in figures
    )
    columns = (TableColumn("load", words=True), *(TableColumn(heading) for heading in headings))
    return TextTable(columns, tuple(rows))


def percent(fraction: float) -> str:
    """Return a fraction in percent, to two decimals."""
    return f"{fraction * 100:.2f} %"
