"""The history of a model: a line for each figure of each row, with a sparkline and what changed."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rich.console import Console, ConsoleOptions, RenderResult
from rich.measure import Measurement

from irbench.across_runs.texts import (
    CONDITION_TEXTS,
    amount,
    change_and_figures,
    checked_text,
    difference_text,
    signed_percent,
    unjudged_text,
)
from irbench.core.quantities import listing, plural
from irbench.features.history.report import FigureHistory, LevelChange, ModelHistory, RowHistory
from irbench.options.conditions import Unit
from irbench.render.table import Row, TableColumn, TextTable
from irbench.render.views import Block, PlainView

_TREND = "trend"
_BARS = "▁▂▃▄▅▆▇█"
_MOST_BARS = 40
_LEAST_RANGE = 0.1
"""A range of less than this share of the median is drawn as if it were that large: noise must not look like change."""
_COLUMNS = (
    TableColumn("row", words=True, folds=True),
    TableColumn("prec", words=True, drops=4),
    TableColumn("figure", words=True),
    TableColumn("runs", drops=3),
    TableColumn("first", drops=2),
    TableColumn("last"),
    TableColumn(_TREND, words=True, drops=1),
    TableColumn("last change", words=True, folds=True),
)


@dataclass(frozen=True)
class HistoryView:
    """A history as a person reads it; without trends where a terminal shows nothing but ASCII."""

    history: ModelHistory

    def __rich_measure__(self, console: Console, options: ConsoleOptions) -> Measurement:
        """Return the width that shows every column; called by rich."""
        return history_view(self.history).__rich_measure__(console, options)

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Yield the lines; called by rich."""
        yield from history_view(self.history, has_trends=not options.ascii_only).as_lines(options.max_width)

    def blocks(self) -> Iterator[Block]:
        """Yield the parts, whatever draws them."""
        return history_view(self.history).blocks()

    def as_markdown(self) -> str:
        """Return it with trends, as Markdown."""
        return history_view(self.history).as_markdown()


def history_view(history: ModelHistory, *, has_trends: bool = True) -> PlainView:
    """Return a history as a person reads it, with or without bars of its figures."""
    trends = ("Trends are drawn from the smallest to the largest value of each figure, and over 10 % of it at least.",)
    table = TextTable(_COLUMNS, tuple(row for cell in history.rows for row in _rows(cell)))
    return PlainView(
        title=f"{history.model} · machine {history.machine} · {plural(len(history.runs), 'run')}",
        headline=_headline(history),
        table=table if has_trends else table.without(_TREND),
        notes=(*_notes(history), *(trends if has_trends else ())),
        warnings=tuple(_warnings(history)),
    )


def sparkline(values: Sequence[float]) -> str:
    """Return a bar for each of the newest values, from the smallest to the largest."""
    shown = values[-_MOST_BARS:]
    middle = statistics.median(shown)
    low, high = min(shown), max(shown)
    missing = max(0.0, _LEAST_RANGE * abs(middle) - (high - low)) / 2
    low, high = low - missing, high + missing
    steps = len(_BARS) - 1
    return "".join(_BARS[round(steps * (value - low) / (high - low)) if high > low else steps // 2] for value in shown)


def _headline(history: ModelHistory) -> str:
    losses = [
        f"{row.name} {figure.figure} {_relative(change)}"
        for row in history.rows
        for figure in row.figures
        if (change := _current(figure)) is not None and change.is_loss
    ]
    step = f"Worse since the last confirmed change: {listing(losses)}" if losses else "No regression was confirmed"
    creeping = [
        f"{row.name} {figure.figure}"
        for row in history.rows
        for figure in row.figures
        if any(checked.outcome == "met" for checked in figure.totals)
    ]
    total = f"; in total since {history.since_run} beyond the limit: {listing(creeping)}" if creeping else ""
    return f"{step}{total}."


def _current(figure: FigureHistory) -> LevelChange | None:
    return next((change for change in reversed(figure.changes) if change.confirmed), None)


def _rows(cell: RowHistory) -> Iterator[Row]:
    for number, figure in enumerate(cell.figures):
        values = [point.value for point in figure.points]
        last = figure.changes[-1] if figure.changes else None
        cells = (
            "" if number else cell.name,
            "" if number else cell.key.precision,
            figure.figure,
            str(len(values)),
            amount(values[0], figure.unit),
            amount(values[-1], figure.unit),
            sparkline(values),
            "-" if last is None else _change(last, figure.unit),
        )
        yield Row(cells, style="red" if last is not None and last.is_loss and last.confirmed else "")


def _change(change: LevelChange, unit: Unit) -> str:
    """Return ``37.05 → 44.55: +20.2 % since 01KAJ3WQ, confirmed``: from level to level, not from first to last."""
    state = "confirmed" if change.confirmed else "to be confirmed"
    before, after, by = _figures(change, unit)
    return f"{before.partition(' ')[0]} → {after.partition(' ')[0]}: {by} since {change.run}, {state}"


def _figures(change: LevelChange, unit: Unit) -> tuple[str, str, str]:
    return change_and_figures(change.before, change.after, unit, relative=change.relative is not None)


def _levels(change: LevelChange, unit: Unit) -> str:
    before, after, by = _figures(change, unit)
    return f"{before} → {after}, {by}"


def _relative(change: LevelChange) -> str:
    return "changed" if change.relative is None else signed_percent(change.relative.value)


def _notes(history: ModelHistory) -> Iterator[str]:
    for row in history.rows:
        for figure in row.figures:
            yield from (_explained(row, figure, change) for change in figure.changes)
            yield from (
                f"{text} on {row.name}, last confirmed change: {CONDITION_TEXTS[outcome]}"
                for text, outcome in figure.conditions.items()
            )
            yield from (
                checked_text(f"{row.name} in total since {history.since_run}", checked) for checked in figure.totals
            )
    if any(not change.confirmed for row in history.rows for figure in row.figures for change in figure.changes):
        yield "To be confirmed: fewer than 3 runs lie on the new level. Measure again before you act on it."
    if history.other_machines:
        machines = listing(f"machine:{name} ({plural(runs, 'run')})" for name, runs in history.other_machines.items())
        yield f"Measured elsewhere too: {machines}. Choose one with --machine."
    yield from _window(history)


def _window(history: ModelHistory) -> Iterator[str]:
    """Yield that changes were looked for among the newest runs only, where there are more."""
    figures = [figure for row in history.rows for figure in row.figures if figure.searched < len(figure.points)]
    if figures:
        longest = max(figures, key=lambda figure: len(figure.points))
        yield (
            f"Changes of level are looked for in the newest {longest.searched:,} of {len(longest.points):,} runs of a"
            " row; totals are of all."
        )


def _explained(row: RowHistory, figure: FigureHistory, change: LevelChange) -> str:
    besides = "; ".join(map(difference_text, change.differences))
    since = f"with {change.run} ({change.created[:10]})"
    return f"{row.name} {figure.figure} {_levels(change, figure.unit)} {since}{f': {besides}' if besides else ''}"


def _warnings(history: ModelHistory) -> Iterator[str]:
    if line := unjudged_text(history.unjudged, regressed=history.regressed):
        yield line
    yield from dict.fromkeys(f"warning: {problem.text()}" for problem in history.problems)
