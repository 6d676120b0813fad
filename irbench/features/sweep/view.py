"""A sweep as it is shown: its tables and curves, and how far it is."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from rich.console import Console, ConsoleOptions, RenderResult
from rich.text import Text

from irbench.across_runs.texts import digits_for_changes
from irbench.core.quantities import percent, plural, significant
from irbench.features.sweep.curve import CURVE_END_TEXTS, CurvePoint, gain, knee
from irbench.features.sweep.report import STATUS_TEXTS, CurveOverview, SweepOverview, TableOverview, TableStatus
from irbench.render.outcome_texts import best_text, outcomes_text
from irbench.render.table import ListingTable, Row, TableColumn, TextTable

_NONE = "-"


@dataclass(frozen=True)
class SweepView:
    """A sweep: a line for each table, and a table for each curve."""

    overview: SweepOverview

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Yield the lines; called by rich."""
        yield Text(_counts(self.overview), style="bold")
        yield ListingTable(_tables(self.overview))
        for curve in self.overview.curves:
            yield Text()
            yield Text(f"{curve.label or 'curve'}: throughput by batch size", style="bold")
            yield ListingTable(_points(curve))
            yield from map(Text, _conclusions(curve))
        for best in self.overview.best:
            yield Text(best_text(best))


def _counts(overview: SweepOverview) -> str:
    counts = {status: sum(table.status == status for table in overview.tables) for status in STATUS_TEXTS}
    said = [f"{counts['done']} of {plural(len(overview.tables), 'table')} measured"]
    words: Mapping[TableStatus, str] = {
        "failed": "not possible",
        "interrupted": "interrupted",
        "left-out": "left out",
        "waiting": "not begun",
    }
    said += [f"{counts[status]} {word}" for status, word in words.items() if counts[status]]
    return f"sweep {overview.name}: {', '.join(said)}"


def _tables(overview: SweepOverview) -> TextTable:
    columns = (
        TableColumn("table", words=True, drops=2),
        TableColumn("settings", words=True, folds=True),
        TableColumn("outcome", words=True, folds=True),
        TableColumn("run", words=True, drops=1),
    )
    rows = (Row((shown.table.id, shown.table.label, _outcome(shown), shown.run or _NONE)) for shown in overview.tables)
    return TextTable(columns, tuple(rows))


def _outcome(shown: TableOverview) -> str:
    if shown.status == "done" and shown.entry is not None:
        return outcomes_text(shown.entry)
    return STATUS_TEXTS[shown.status].format(message=shown.message.rstrip("."))


def _points(curve: CurveOverview) -> TextTable:
    """Return a row for each batch and row of a curve, with what the step from the batch before gained."""
    columns = (
        TableColumn("batch"),
        TableColumn("row", words=True),
        TableColumn("FPS"),
        TableColumn("gain"),
        TableColumn("GB"),
    )
    digits = {name: _digits(curve.points, name) for name in _names(curve.points)}
    rows = [
        Row((str(point.batch), name, *_figures(curve.points[: number + 1], name, digits[name])))
        for number, point in enumerate(curve.points)
        for name in _names(curve.points)
    ]
    return TextTable(columns, tuple(rows))


def _digits(points: Sequence[CurvePoint], name: str) -> int:
    """Return how many digits the FPS of a row take so that each gain follows from what is shown of them."""
    rows = [point.row(name) for point in points]
    fps = [None if row is None else row.fps for row in rows]
    steps = [(before, after) for before, after in pairwise(fps) if before and after]
    return digits_for_changes(steps, lambda before, after: percent(after / before - 1, 0))


def _figures(points: Sequence[CurvePoint], name: str, digits: int) -> tuple[str, str, str]:
    row, gained = points[-1].row(name), gain(points, name)
    if row is None or row.fps is None:
        return (_NONE, _NONE, _NONE)
    memory = _NONE if row.peak_bytes is None else f"{row.peak_bytes / 1e9:.2f}"
    return (significant(row.fps, digits=digits), _NONE if gained is None else percent(gained, 0), memory)


def _conclusions(curve: CurveOverview) -> Iterator[str]:
    yield from (_conclusion(curve, name) for name in _names(curve.points))
    end = curve.end
    if end is not None:
        facts = {"batch": end.batch, "row": end.row, "stop_gain": percent(curve.stop_gain, 0)}
        memory = {"needed_gb": (end.needed_bytes or 0) / 1e9, "available_gb": (end.available_bytes or 0) / 1e9}
        yield CURVE_END_TEXTS[end.reason].format(**facts, **memory)


def _conclusion(curve: CurveOverview, name: str) -> str:
    """Return where a row gains no more, and the largest batch that it ran where others ran a larger one."""
    largest = max((point.batch for point in curve.points if point.row(name)), default=None)
    if largest is None:
        return f"{name}: no batch has figures"
    size = knee(curve.points, name, curve.stop_gain)
    limit = "" if largest == curve.points[-1].batch else f"; {largest} is the largest batch that it ran"
    if size is None:
        return f"{name}: no knee up to batch {largest}{limit}"
    return f"{name}: knee at batch {size}, beyond which doubling gains less than {percent(curve.stop_gain, 0)}{limit}"


def _names(points: Sequence[CurvePoint]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(row.name for point in points for row in point.rows))
