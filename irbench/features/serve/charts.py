"""The chart of a table of loads: latency against the rate of requests, and between which rates the level is lost."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import altair as alt

from irbench.charts.figure import (
    INK,
    USUAL_HEIGHT,
    Figure,
    data_of,
    described,
    log_axis,
    row_colour,
    spoken,
)
from irbench.charts.records import MOST_LINES, Record, ends_of, number_of
from irbench.core.quantities import significant
from irbench.core.serving_row import LoadFigures, OverLaunches, ServingTable, serving_names
from irbench.features.serve.view import limit_text
from irbench.render.columns.serving import level_text, rate_text
from irbench.spec.serving import ServiceLevel

_DASHES = {"p99": [1, 0], "p90": [6, 3], "p50": [2, 2]}
_VERDICT_SHAPES = {"pass": "circle", "fail": "cross", "undecided": "diamond", "none asked for": "circle"}


def figures_of_loads(table: ServingTable, number: int) -> Iterator[Figure]:
    """Yield the chart of a table whose rows were given requests at two rates or more.

    Args:
        table: Of loads.
        number: Unique in the page, for the keys of rows.
    """
    curves = latencies_by_rate(table, number)
    if len({record["rate"] for record in curves}) > 1:
        yield _figure(curves, knees(table, number), table.level)


def latencies_by_rate(table: ServingTable, number: int) -> list[Record]:
    """Return each known percentile of each row at each rate, with its interval or range."""
    keys, names = _keys(table, number), serving_names(table)
    return [
        {
            "key": keys[row.id],
            "row": names[row.id],
            "rate": row.load.rate_per_s,
            "percentile": percentile,
            "value": value,
            "verdict": "none asked for" if row.load.level is None else row.load.level.verdict,
            **ends_of(over_launches, value),
        }
        for row in table.rows
        if row.id in keys and row.load is not None and row.load.rate_per_s is not None
        for percentile, value, over_launches in _percentiles(row.load)
    ]


def knees(table: ServingTable, number: int) -> list[Record]:
    """Return the highest rate of each row that passes, and the lowest that fails, as far as they are known."""
    keys, names = _keys(table, number), serving_names(table)
    return [
        {
            "key": keys[limit.cell],
            "row": names[limit.cell],
            "passes": limit.passes_per_s,
            "fails": limit.fails_per_s,
            "says": limit_text(limit, names[limit.cell]),
        }
        for limit in table.limits
        if limit.cell in keys
    ]


def _keys(table: ServingTable, number: int) -> dict[str, str]:
    """Return the keys of the rows that the chart has room for, by their cells."""
    cells = list(dict.fromkeys(row.id for row in table.rows))[:MOST_LINES]
    return {cell: f"t{number}r{place}" for place, cell in enumerate(cells)}


def _percentiles(load: LoadFigures) -> Iterator[tuple[str, float, OverLaunches | None]]:
    if load.p50_ms is not None:
        yield "p50", load.p50_ms.value, load.p50_ms
    for name, value_ms in (("p90", load.p90_ms), ("p99", load.p99_ms)):
        if value_ms is not None:
            yield name, value_ms, None


def _figure(curves: Sequence[Record], limits: Sequence[Record], level: ServiceLevel | None) -> Figure:
    shown = described(
        curves,
        lambda record: (
            f"{record['row']} at {rate_text(number_of(record['rate']))}/s: {record['percentile']}"
            f" {significant(number_of(record['value']))} ms"
        ),
    )
    marks = [*_curves(shown, level), *(() if level is None else _limits(limits, level))]
    return Figure(
        "load-curve",
        "Latency against load",
        "A line is a percentile of a row's latency, counted from when requests were due; it ends where that lies among"
        " requests without an answer." + (_KNEES.format(level_text(level)) if level is not None else ""),
        alt.layer(*marks).properties(height=USUAL_HEIGHT),
        "; ".join(filter(None, (*(str(record["says"]) for record in limits), spoken(shown)))),
    )


_KNEES = (
    " Of each row the solid vertical line is the highest rate at which {0} passes, and the dashed one the lowest at"
    " which it fails; between them it is not known."
)


def _curves(shown: Sequence[Record], level: ServiceLevel | None) -> Iterator[alt.Chart]:
    latencies_ms = [number_of(record["value"]) for record in shown]
    base = alt.Chart(data_of(shown)).encode(
        x=alt.X(
            "rate:Q",
            title="requests per second",
            scale=alt.Scale(type="log", nice=False, padding=8),
            axis=log_axis(number_of(record["rate"]) for record in shown),
        ),
        color=row_colour(shown),
        detail="percentile:N",
    )
    latency = alt.Y(
        "value:Q",
        title="latency in ms",
        scale=alt.Scale(type="log", nice=False, padding=8),
        axis=log_axis([*latencies_ms, *([] if level is None else [level.limit_ms])]),
    )
    verdicts = [verdict for verdict in _VERDICT_SHAPES if any(record["verdict"] == verdict for record in shown)]
    shape = alt.Shape(
        "verdict:N",
        title="service level",
        scale=alt.Scale(domain=verdicts, range=[_VERDICT_SHAPES[verdict] for verdict in verdicts]),
        legend=None if level is None else alt.Legend(),
    )
    dash = alt.StrokeDash(
        "percentile:N", title="latency", scale=alt.Scale(domain=list(_DASHES), range=list(_DASHES.values()))
    )
    yield base.mark_line(strokeWidth=1.5, aria=False).encode(y=latency, strokeDash=dash)
    yield base.mark_rule(strokeWidth=2, aria=False).encode(y="low:Q", y2="high:Q")
    yield base.mark_point(filled=True, size=50).encode(y=latency, shape=shape, description="text:N")


def _limits(limits: Sequence[Record], level: ServiceLevel) -> Iterator[alt.Chart]:
    """Yield the level, and between which rates rows cease to keep it."""
    kept = [record for record in limits if record["passes"] is not None]
    lost = [record for record in limits if record["fails"] is not None]
    colour = alt.Color("key:N")
    line = alt.Chart(data_of([{"limit": level.limit_ms}])).mark_rule(color=INK, strokeDash=[4, 4], aria=False)
    yield line.encode(y="limit:Q")
    yield alt.Chart(data_of(kept)).mark_rule(aria=False, opacity=0.7).encode(x="passes:Q", color=colour)
    dashed = alt.Chart(data_of(lost)).mark_rule(aria=False, opacity=0.7, strokeDash=[6, 3])
    yield dashed.encode(x="fails:Q", color=colour)
