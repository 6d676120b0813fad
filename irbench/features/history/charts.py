"""The charts of a history: each figure over the runs, its levels, and where they changed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import altair as alt

from irbench.across_runs.texts import SCALES, UNIT_NAMES, amount, signed_percent
from irbench.charts.figure import (
    USUAL_HEIGHT,
    VERDICT_COLOURS,
    Chart,
    Figure,
    data_of,
    described,
    names_of,
    row_colour,
    row_dash,
    spoken,
)
from irbench.charts.records import MOST_LINES, Record
from irbench.core.row import Verdict
from irbench.features.history.report import FigureHistory, LevelChange, ModelHistory, RowHistory
from irbench.options.conditions import Unit

_MOST_RUNS = 250
_CHANGE_LABELS: Mapping[Verdict, str] = {
    "slower": "worse, confirmed", "faster": "better, confirmed", "undecided": "to be confirmed",
}  # fmt: skip
_TITLES: Mapping[str, str] = {
    "p50": "Median latency",
    "fps": "Throughput",
    "size": "Size of the model's files",
    "compile": "Compile time",
    "peak_memory": "Peak memory",
}


def figures_of_history(history: ModelHistory) -> Iterator[Figure]:
    """Yield a chart for each figure that differs between runs of a row."""
    names = dict.fromkeys(figure.figure for row in history.rows for figure in row.figures)
    places = {run: place + 1 for place, run in enumerate(history.runs)}
    for name in names:
        rows = [(row, own) for row in history.rows for own in row.figures if own.figure == name and len(own.points) > 1]
        rows = sorted(rows, key=lambda entry: -len(entry[1].points))[:MOST_LINES]
        numbered = [(f"row{history.rows.index(row)}", row, own) for row, own in rows]
        points = [point for entry in numbered for point in _points(*entry, places)]
        if any(len({point.value for point in own.points}) > 1 for _, own in rows):
            changes = [change for entry in numbered for change in _changes(*entry, places)]
            yield history_figure(name, UNIT_NAMES[rows[0][1].unit], points, changes)


def _points(key: str, row: RowHistory, figure: FigureHistory, places: Mapping[str, int]) -> Iterator[Record]:
    for point in figure.points[-_MOST_RUNS:]:
        yield {
            "key": key, "row": row.name, "place": places[point.run], "run": point.run, "day": point.created[:10],
            "value": point.value / SCALES[figure.unit], "said": amount(point.value, figure.unit),
        }  # fmt: skip


def _changes(key: str, row: RowHistory, figure: FigureHistory, places: Mapping[str, int]) -> Iterator[Record]:
    """Yield the levels that changes lead to, each up to the next change, with the interval of the change."""
    last = max(places.values())
    ends = [places[change.run] for change in figure.changes[1:]] + [last + 1]
    for change, end in zip(figure.changes, ends, strict=False):
        level, low, high = (end / SCALES[figure.unit] for end in (change.after, *_level_ends(change)))
        verdict = _verdict(change)
        yield {
            "key": key, "row": row.name, "place": places[change.run] - 0.5, "end": end - 0.5,
            "value": level, "low": low, "high": high, "verdict": verdict, "change": _CHANGE_LABELS[verdict],
            "said": _said(change, figure.unit),
        }  # fmt: skip


def _level_ends(change: LevelChange) -> tuple[float, float]:
    """Return the new level's ends: those of the change's interval, from the level before; itself without one."""
    if change.relative is None or change.relative.confidence is None:
        return change.after, change.after
    return change.before * (1 + change.relative.low), change.before * (1 + change.relative.high)


def _verdict(change: LevelChange) -> Verdict:
    if not change.confirmed:
        return "undecided"
    return "slower" if change.is_loss else "faster"


def _said(change: LevelChange, unit: Unit) -> str:
    by = "" if change.relative is None else f", {signed_percent(change.relative.value)}"
    state = "confirmed" if change.confirmed else "to be confirmed"
    return f"{amount(change.before, unit)} to {amount(change.after, unit)}{by} with {change.run}, {state}"


def history_figure(name: str, unit: str, points: Sequence[Record], changes: Sequence[Record]) -> Figure:
    """Return a figure over the runs, a line for each row, with the levels that changes lead to."""
    shown = described(points, lambda row: f"{row['row']}, run {row['run']} of {row['day']}: {row['said']}")
    moved = described(changes, lambda row: f"{row['row']}: {row['said']}")
    what = _TITLES.get(name, name)
    where = alt.Axis(format="d", tickMinStep=1)
    scale = alt.Scale(zero=False, nice=False, padding=8)
    base = alt.Chart(data_of(shown)).encode(
        x=alt.X("place:Q", title="runs, oldest first", axis=where, scale=scale),
        y=alt.Y("value:Q", title=unit or name, scale=scale),
        color=row_colour(shown),
        detail="key:N",
    )
    lines = base.mark_line(strokeWidth=1.5, aria=False).encode(strokeDash=row_dash(shown))
    marks = base.mark_point(filled=True, size=40).encode(description="text:N")
    chart = lines + marks
    if moved:
        chart = alt.layer(_levels(moved), chart).resolve_scale(color="independent")
    said = f"{spoken(moved) or 'No change of level.'} Runs of {names_of(points)}: {spoken(shown)}"
    return Figure(
        name.replace("_", "-"),
        f"{what} over the runs",
        "A point is a run. A level that begins with a change is a thick line, its band the interval of the change: red"
        " and green are confirmed by three runs, the others are to be measured again.",
        chart.properties(height=USUAL_HEIGHT),
        said,
    )


def _levels(changes: Sequence[Record]) -> Chart:
    labels = {change["change"] for change in changes}
    colours = {text: VERDICT_COLOURS[verdict] for verdict, text in _CHANGE_LABELS.items() if text in labels}
    colour = alt.Color(
        "change:N", title="change of level", scale=alt.Scale(domain=list(colours), range=list(colours.values()))
    )
    base = alt.Chart(data_of(changes)).encode(x="place:Q", x2="end:Q", color=colour)
    bands = base.mark_rect(opacity=0.2, aria=False).encode(y="low:Q", y2="high:Q")
    levels = base.mark_rule(strokeWidth=4, opacity=0.8).encode(y="value:Q", description="text:N")
    return alt.layer(bands, levels)
