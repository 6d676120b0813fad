"""The charts of a search: every setting that was tried, in the order of the trials, and the best ones confirmed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import altair as alt

from irbench.charts import records, specs
from irbench.charts.figure import INK, PALETTE, USUAL_HEIGHT, Figure, data_of, described, spoken
from irbench.charts.records import ChartRow, Record, chart_rows, ends_of, number_of
from irbench.charts.tables import words_of
from irbench.core.quantities import significant
from irbench.core.record import LaunchRecord
from irbench.core.result import RunDocument
from irbench.core.row import CellResult, WithEnds
from irbench.runs.run_modes import mode_figures
from irbench.spec import Objective
from irbench.store.runs import read_launches

_COST = "times as little processor time as the first"
_MOST_TRIED = 300


def figures_of_search(document: RunDocument, folder: Path) -> Iterator[Figure]:
    """Yield the charts of the run that holds a search.

    Raises:
        IrbenchError: Its raw samples are damaged.
    """
    for number, table in enumerate(document.groups):
        rows = chart_rows(table, number)
        tried = trials(rows, list(read_launches(folder, document)), number, table.objective)
        if tried:
            yield search_figure(tried, table.objective, words_of(table))
        if len(points := records.tradeoffs(rows)) > 1:
            yield specs.tradeoff_figure(points, words_of(table))


def figures_of_confirmation(document: RunDocument) -> Iterator[Figure]:
    """Yield what the settings that were confirmed gain over the first default, or which loads of requests they hold."""
    for place in range(len(document.tables)):
        yield from mode_figures(document, place, place)
    for number, table in enumerate(document.groups):
        rows = chart_rows(table, number)
        baseline = next((row.label for row in rows if row.result.id == table.baseline), "the baseline")
        if speedups := records.speedups(rows):
            words = specs.RatioWords(
                "confirmation", f"Confirmed: speedup over {baseline}", "Right of the dashed line is faster than it."
            )
            yield specs.ratio_figure(speedups, words)


def trials(
    rows: Sequence[ChartRow], launches: Sequence[LaunchRecord], number: int, objective: Objective
) -> list[Record]:
    """Return each setting that was tried, by the order of its first launch, with its figure and interval or range.

    Args:
        rows: Of the table.
        launches: Of the run; those of other tables are left out.
        number: Of the table in its run.
        objective: What is searched for.
    """
    mine = (record for record in launches if record.group == number)
    first = dict.fromkeys(launch.cell for record in mine for launch in record.cells)
    by_cell = {row.result.id: row for row in rows}
    tried = [by_cell[cell] for cell in first if cell in by_cell and _figure(by_cell[cell].result, objective)]
    sign = -1 if objective == "latency" else 1
    trial_records: list[Record] = []
    best: float | None = None
    for place, row in enumerate(tried[:_MOST_TRIED]):
        figure = _figure(row.result, objective)
        assert figure is not None
        value, spans = figure
        best = value if best is None or sign * value > sign * best else best
        trial_records.append(
            {"key": row.key, "row": row.label, "series": row.result.backend, "place": place + 1, "value": value,
             "best": best, **ends_of(spans, value)}
        )  # fmt: skip
    return trial_records


def _figure(row: CellResult, objective: Objective) -> tuple[float, WithEnds | None] | None:
    """Return a row's figure of the objective with its ends over launches; ``None`` without one."""
    if objective == "fps":
        rate = records.throughput_of(row)
        return None if rate is None else (rate.value, rate.spans)
    if objective == "latency":
        return None if row.latency_ms is None else (row.latency_ms.p50, row.p50_over_launches)
    return None if row.speedup is None else (row.speedup.value, row.speedup)


def search_figure(tried: Sequence[Record], objective: Objective, words: specs.CallWords) -> Figure:
    """Return the settings that were tried, by the order of their first launches, and the best until each."""
    axes: dict[Objective, str] = {"fps": words.rate, "latency": f"median {words.time} in ms", "cost": _COST}
    title = axes[objective]
    shown = described(
        tried, lambda row: f"{row['place']}. {row['row']}: {significant(number_of(row['value']))} {title}"
    )
    values = [number_of(row["value"]) for row in tried]
    span = alt.Scale(type="log", domain=[min(values) / 2, max(values) * 2], nice=False, clamp=True)
    order = alt.X(
        "place:Q",
        title="settings in the order of their first launch",
        axis=alt.Axis(format="d", tickMinStep=1),
        scale=alt.Scale(zero=False, nice=False, padding=8),
    )
    base = alt.Chart(data_of(shown)).encode(x=order)
    best = base.mark_line(interpolate="step-after", strokeDash=[4, 4], color=INK, aria=False).encode(y="best:Q")
    ends = base.mark_rule(strokeWidth=1.5, opacity=0.6, color=INK, aria=False).encode(y="low:Q", y2="high:Q")
    points = base.mark_point(filled=True, size=45).encode(
        y=alt.Y("value:Q", title=title, scale=span),
        color=alt.Color("series:N", title=None, scale=alt.Scale(range=list(PALETTE))),
        shape=alt.Shape("series:N", title=None),
        description="text:N",
    )
    return Figure(
        "search",
        "The search",
        "A point is a setting that was tried; a bar its interval over launches, or the range of too few for one, cut"
        " where it leaves the chart. The dashed line is the best until then.",
        (best + ends + points).properties(height=USUAL_HEIGHT),
        spoken(shown),
    )
