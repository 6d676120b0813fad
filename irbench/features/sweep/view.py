"""A sweep as it is shown: its tables and curves, and how far it is."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from rich.console import Console, ConsoleOptions, RenderResult
from rich.text import Text

from irbench.across_runs.texts import signed_percent, signed_percent_end
from irbench.charts.terminal_curves import curve_plots
from irbench.core.quantities import percent, plural, significant
from irbench.features.sweep.curve import CURVE_END_TEXTS, gain, knee
from irbench.features.sweep.report import STATUS_TEXTS, CurveOverview, SweepOverview, TableOverview, TableStatus
from irbench.features.sweep.swept_rows import rows_by_model
from irbench.render.columns.declaration import RowSource
from irbench.render.outcome_texts import best_text, outcomes_text
from irbench.render.table import ListingTable, Row, TableColumn, TextTable
from irbench.render.views import Block, Sentence
from irbench.render.wide_table import wide_table
from irbench.runs.run_view import ALL_ROWS
from irbench.store.sweeps import BatchGain, CurvePoint

_NONE = "-"


@dataclass(frozen=True)
class SweepView:
    """A sweep: a line for each table, all rows in one table, and a table for each curve.

    Attributes:
        sources: The rows of its tables.
        plot: Whether throughput is drawn against each setting in which rows differ.
    """

    overview: SweepOverview
    sources: Sequence[RowSource] = ()
    plot: bool = False

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Yield the lines; called by rich."""
        for block in self.blocks():
            if isinstance(block, TextTable):
                yield ListingTable(block)
            elif isinstance(block, Sentence):
                if block.role == "heading":
                    yield Text()
                yield Text(block.text, style="bold" if block.role in ("title", "heading") else "")
        for model, (table, rows) in rows_by_model(self.sources if self.plot else ()).items():
            title = f"{model}: {table.throughput_unit}"
            yield from curve_plots(rows, title, options.max_width, unicode=not options.ascii_only)

    def blocks(self) -> Iterator[Block]:
        """Yield the parts, whatever draws them."""
        yield Sentence(_counts(self.overview), "title")
        yield _tables(self.overview)
        if self.sources:
            yield Sentence(ALL_ROWS, "heading")
            yield wide_table(self.sources)
            yield from _not_measured(self.sources)
        for curve in self.overview.curves:
            yield Sentence(f"{curve.label or 'curve'}: throughput by batch size", "heading")
            yield _points(curve)
            yield from map(Sentence, _conclusions(curve))
        yield from (Sentence(best_text(best)) for best in self.overview.best)


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


def _not_measured(sources: Sequence[RowSource]) -> Iterator[Sentence]:
    missing = sum(source.row.state == "not-measured" for source in sources)
    if missing:
        remedy = "raise `budget` in the plan, and begin another sweep"
        yield Sentence(f"{missing} of {plural(len(sources), 'row')} not measured for lack of time: {remedy}", "warning")


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
    """Return a row for each batch and row of a curve, with what it gained over the batch before in its table."""
    columns = (
        TableColumn("batch"),
        TableColumn("row", words=True),
        TableColumn("FPS before", drops=1),
        TableColumn("FPS"),
        TableColumn("gain [95 %]"),
        TableColumn("GB"),
    )
    rows = [
        Row((str(point.batch), name, *_figures(point, name))) for point in curve.points for name in _names(curve.points)
    ]
    return TextTable(columns, tuple(rows))


def _figures(point: CurvePoint, name: str) -> tuple[str, str, str, str]:
    row = point.row(name)
    if row is None:
        return (_NONE, _NONE, _NONE, _NONE)
    memory = _NONE if row.peak_bytes is None else f"{row.peak_bytes / 1e9:.2f}"
    before = _NONE if row.gain is None else significant(row.gain.fps_before)
    return (before, significant(row.fps), _NONE if row.gain is None else _gain(row.gain), memory)


def _gain(gained: BatchGain) -> str:
    """Return ``+49.0 % [+41.2 %, +55.0 %]``, without brackets where there is no interval."""
    if gained.low is None or gained.high is None:
        return signed_percent(gained.value)
    return f"{signed_percent(gained.value)} [{signed_percent_end(gained.low)}, {signed_percent_end(gained.high)}]"


def _conclusions(curve: CurveOverview) -> Iterator[str]:
    if any(row.gain is not None for point in curve.points for row in point.rows):
        yield "gain: over the batch before, measured side by side in one table (FPS before), the median over launches"
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
    limit = "" if largest == curve.points[-1].batch else f"; {largest} is the largest batch that it ran"
    points = [point for point in curve.points if point.batch <= largest]
    found, last, least = knee(points, name, curve.stop_gain), gain(points, name), percent(curve.stop_gain, 0)
    if found is not None:
        where = f"at batch {found.low}" if found.low == found.high else f"between batch {found.low} and {found.high}"
        return f"{name}: knee {where}, beyond which doubling gains less than {least}{limit}"
    if len(points) == 1 or (last is not None and last.low is not None and last.low >= curve.stop_gain):
        return f"{name}: no knee up to batch {largest}{limit}"
    known = "the gain of the last doubling is unknown"
    if last is not None:
        known = f"the last doubling gained {_gain(last)}, which may be more or less than {least}"
    return f"{name}: knee unknown: {known}{limit}"


def _names(points: Sequence[CurvePoint]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(row.name for point in points for row in point.rows))
