"""The chart of a comparison: the time of each row on the newer side over that on the older one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from irbench.across_runs.side_comparison import ComparedRow, RunComparison
from irbench.charts.figure import Figure
from irbench.charts.records import Record
from irbench.charts.specs import RatioWords, ratio_figure


def figures_of_comparison(comparison: RunComparison, rows: Sequence[ComparedRow]) -> Iterator[Figure]:
    """Yield the chart of the rows as they were measured last, where some have a ratio."""
    if records := time_ratios(rows):
        words = RatioWords(
            "changes",
            f"Time of {comparison.new.name} over {comparison.base.name}",
            "Right of the dashed line is slower than before.",
        )
        yield ratio_figure(records, words)


def time_ratios(rows: Sequence[ComparedRow]) -> list[Record]:
    """Return how many times as long each row takes on the newer side, with its interval or range."""
    return [
        {
            "key": f"row{place}",
            "row": row.name,
            "value": 1 + shift.value,
            "low": 1 + shift.low,
            "high": 1 + shift.high,
            "is_interval": shift.confidence is not None,
            "verdict": row.verdict,
        }
        for place, row in enumerate(rows)
        if (shift := row.time.relative) is not None
    ]
