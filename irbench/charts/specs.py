"""The charts of a run as Vega-Lite specifications, made by Altair."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import altair as alt

from irbench.charts.figure import (
    INK,
    PALETTE,
    ROW_HEIGHT,
    USUAL_HEIGHT,
    VERDICT_COLOURS,
    VERDICT_SHAPES,
    Figure,
    data_of,
    described,
    log_axis,
    names_of,
    row_axis,
    row_colour,
    row_dash,
    spoken,
)
from irbench.charts.records import BASELINE, SETTING_TITLES, Record, Setting, number_of
from irbench.core.quantities import significant
from irbench.core.row import Ends
from irbench.render.interval_plot import BEYOND, speedup_figures, speedup_span

_STATE_COLOURS = {
    "undisturbed": "#3b7dd8",
    "disturbed": "#d9580d",
    "burn-in, excluded": "#6b7280",
    "disturbed, excluded": "#8f7512",
}

_HEAT = ("#dbe9fb", "#1d4f91")
"""Of a heat map: the colours of 0 and of the largest value; figures in it are readable on both."""

_INTERVALS = (
    "A line is the confidence interval over launches, or the range of too few launches for one (preview), cut where it"
    " leaves the chart."
)


@dataclass(frozen=True)
class CallWords:
    """What the figures of rows are called.

    Attributes:
        time: How long a call takes.
        rate: How many samples pass in a second.
    """

    time: str
    rate: str


INFERENCES = CallWords("latency", "FPS")
STEPS = CallWords("step time", "samples/s")
"""Calls that are training steps."""
GENERATIONS = CallWords("time per generation", "tokens/s")
"""Calls that generate tokens."""


@dataclass(frozen=True)
class RatioWords:
    """What a chart of ratios is called.

    Attributes:
        name: Of the figure.
        title: What the ratio is, also beside its axis.
        direction: Which side of the dashed line is which.
    """

    name: str
    title: str
    direction: str


def speedup_figure(records: Sequence[Record], baseline: str) -> Figure:
    """Return a bar for each row, from 0 to how many times as fast as the baseline it is, with its interval."""
    shown = described(records, _said_of_ratio)
    colour, shape = _by_verdict(records)
    base = alt.Chart(data_of(shown)).encode(y=row_axis(shown))
    position = alt.X(
        "value:Q", title=f"times as fast as {baseline}", scale=alt.Scale(domain=[0, _top(records)], clamp=True)
    )
    chart = (
        base.mark_bar(opacity=0.35, height=ROW_HEIGHT * 0.6, aria=False).encode(
            x=alt.X("value:Q", stack=None), x2=alt.datum(0), color=colour
        )
        + alt.Chart(data_of([{"one": 1}])).mark_rule(strokeDash=[4, 4], color=INK, aria=False).encode(x="one:Q")
        + base.mark_rule(strokeWidth=2, aria=False).encode(x="low:Q", x2="high:Q", color=colour)
        + base.mark_point(filled=True, size=70).encode(x=position, color=colour, shape=shape, description="text:N")
    )
    return Figure(
        "speedups",
        f"Speed relative to {baseline}",
        f"Longer is faster; the dashed line is the speed of {baseline}. {_INTERVALS}",
        chart.properties(height=alt.Step(ROW_HEIGHT)),
        spoken(shown),
    )


def _by_verdict(records: Sequence[Record]) -> tuple[alt.Color, alt.Shape]:
    """Return the colour and the shape of marks, with a legend of the verdicts that there are, and of the baseline."""
    colours: dict[str, str] = {**{str(verdict): colour for verdict, colour in VERDICT_COLOURS.items()}, BASELINE: INK}
    shapes: dict[str, str] = {**{str(verdict): shape for verdict, shape in VERDICT_SHAPES.items()}, BASELINE: "circle"}
    verdicts = [verdict for verdict in colours if any(row["verdict"] == verdict for row in records)]
    colouring = alt.Color(
        "verdict:N",
        title="verdict",
        legend=alt.Legend(symbolOpacity=1),
        scale=alt.Scale(domain=verdicts, range=[colours[one] for one in verdicts]),
    )
    shaping = alt.Shape(
        "verdict:N", title="verdict", scale=alt.Scale(domain=verdicts, range=[shapes[one] for one in verdicts])
    )
    return colouring, shaping


def _said_of_ratio(row: Record) -> str:
    return f"{row['row']}: {_ratio(row)} ({row['verdict']})"


def ratio_figure(records: Sequence[Record], words: RatioWords) -> Figure:
    """Return ratios with their intervals and verdicts, by row."""
    shown = described(records, _said_of_ratio)
    colour, shape = _by_verdict(records)
    base = alt.Chart(data_of(shown)).encode(y=row_axis(shown))
    values, lows, highs = ([number_of(row[name]) for row in records] for name in ("value", "low", "high"))
    span = speedup_span(values, [*lows, *highs])
    position = alt.X(
        "value:Q",
        title=f"{words.title[0].lower()}{words.title[1:]}",
        scale=alt.Scale(type="log", domain=list(span), nice=False, clamp=True),
    )
    chart = (
        alt.Chart(data_of([{"one": 1}])).mark_rule(strokeDash=[4, 4], color=INK, aria=False).encode(x="one:Q")
        + base.mark_bar(opacity=0.35, height=ROW_HEIGHT * 0.6, aria=False).encode(
            x=alt.X("value:Q", stack=None), x2=alt.datum(1), color=colour
        )
        + base.mark_rule(strokeWidth=2, aria=False).encode(x="low:Q", x2="high:Q", color=colour)
        + base.mark_point(filled=True, size=70).encode(x=position, color=colour, shape=shape, description="text:N")
    )
    return Figure(
        words.name,
        words.title,
        f"{words.direction} {_INTERVALS}",
        chart.properties(height=alt.Step(ROW_HEIGHT)),
        spoken(shown),
    )


def distribution_figure(records: Sequence[Record], words: CallWords) -> Figure:
    """Return the cumulative share of calls by latency, a line for each row."""
    latency = alt.X(
        "latency_ms:Q",
        title=f"{words.time} in ms",
        scale=alt.Scale(type="log", nice=False),
        axis=log_axis(number_of(row["latency_ms"]) for row in records),
    )
    share = alt.Y("share:Q", title="share of calls", axis=alt.Axis(format="%"))
    return Figure(
        "latencies",
        f"{words.time.capitalize()} of calls",
        "A line is the share of calls that took at most so long: further left is faster, steeper is steadier.",
        _row_lines(records, latency, share, interpolate="step-after"),
        f"Lines of {names_of(records)}.",
    )


def _row_lines(records: Sequence[Record], x: alt.X, y: alt.Y, **line: Any) -> alt.Chart:
    """Return a line for each row."""
    shown = described(records, lambda row: str(row["row"]))
    lines = alt.Chart(data_of(shown), height=USUAL_HEIGHT).mark_line(strokeWidth=2, **line)
    chart: alt.Chart = lines.encode(
        x=x, y=y, color=row_colour(shown), strokeDash=row_dash(shown), detail="key:N", description="text:N"
    )
    return chart


def load_figure(records: Sequence[Record], setting: Setting, words: CallWords = INFERENCES) -> Figure:
    """Return FPS against a setting, a line for what else rows have in common."""
    shown = described(records, lambda row: f"{row['row']}: {significant(number_of(row['value']))} {words.rate}")
    where = alt.X(
        "setting:O", title=SETTING_TITLES[setting], sort=_settings(records), axis=alt.Axis(labelAngle=0, format="d")
    )
    colour = alt.Color("series:N", title=None, scale=alt.Scale(range=list(PALETTE)))
    base = alt.Chart(data_of(shown)).encode(x=where, xOffset=alt.XOffset("series:N"), color=colour)
    chart = (
        base.mark_line(strokeWidth=1.5, aria=False).encode(y="value:Q")
        + base.mark_rule(strokeWidth=2, aria=False).encode(y="low:Q", y2="high:Q")
        + base.mark_point(filled=True, size=60).encode(
            y=alt.Y("value:Q", title=words.rate, scale=alt.Scale(domain=[0, _top(records)], clamp=True)),
            description="text:N",
        )
    )
    return Figure(
        f"fps-{setting}",
        f"{words.rate} against {SETTING_TITLES[setting]}",
        "Rows on one line differ in nothing else. A bar is the interval over launches, cut where it leaves the chart.",
        chart.properties(height=USUAL_HEIGHT),
        spoken(shown),
    )


def heat_figure(records: Sequence[Record], words: CallWords = INFERENCES) -> Figure:
    """Return FPS at each batch and shape: a line of fields for each series and shape, a column for each batch."""
    shown = described(records, lambda row: f"{row['series']}, {row['shape']}: {significant(number_of(row['value']))}")
    fields: list[Record] = [
        {**row, "field": f"{row['series']} · {row['shape']}", "said": significant(number_of(row["value"]))}
        for row in shown
    ]
    lines = list(dict.fromkeys(str(row["field"]) for row in fields))
    highest = max(number_of(row["value"]) for row in fields)
    base = alt.Chart(data_of(fields)).encode(
        x=alt.X("setting:O", title=SETTING_TITLES["batch"], sort=_settings(records), axis=alt.Axis(labelAngle=0)),
        y=alt.Y("field:N", title=None, sort=lines, scale=alt.Scale(paddingInner=0.04)),
    )
    colour = alt.Color("value:Q", title=words.rate, scale=alt.Scale(domain=[0, highest], range=list(_HEAT)))
    figures = alt.when(alt.datum.value > highest / 2).then(alt.value("white")).otherwise(alt.value("black"))
    chart = base.mark_rect(aria=False).encode(color=colour) + base.mark_text(fontSize=12).encode(
        text="said:N", color=figures, description="text:N"
    )
    return Figure(
        "fps-batch-shape",
        f"{words.rate} against batch size and shape",
        "Darker is faster. Fields of different shapes were measured in tables of their own.",
        chart.properties(height=len(lines) * ROW_HEIGHT),
        spoken(shown),
    )


def sensitivity_figure(records: Sequence[Record]) -> Figure:
    """Return the time beside neighbours relative to that alone, against their intensity, a line for each."""
    shown = described(records, lambda row: f"beside {row['series']} {row['intensity']}%: {_ratio(row)}")
    values, lows, highs = ([number_of(row[name]) for row in records] for name in ("value", "low", "high"))
    span = speedup_span(values, [*lows, *highs])
    base = alt.Chart(data_of(shown)).encode(
        x=alt.X(
            "intensity:O",
            title="intensity of the neighbour in %",
            axis=alt.Axis(labelAngle=0),
            scale=alt.Scale(paddingInner=0.5, paddingOuter=0.2),
        ),
        xOffset=alt.XOffset("series:N"),
        color=alt.Color("series:N", title="beside", scale=alt.Scale(range=list(PALETTE))),
    )
    alone = alt.Chart(data_of([{"one": 1}])).mark_rule(strokeDash=[4, 4], color=INK, aria=False).encode(y="one:Q")
    chart = (
        alone
        + base.mark_line(strokeWidth=1.5, aria=False).encode(y="value:Q")
        + base.mark_rule(strokeWidth=2, aria=False).encode(y="low:Q", y2="high:Q")
        + base.mark_point(filled=True, size=60).encode(
            y=alt.Y(
                "value:Q",
                title="time relative to the row alone",
                scale=alt.Scale(type="log", domain=list(span), nice=False, clamp=True),
                axis=log_axis(span),
            ),
            description="text:N",
        )
    )
    return Figure(
        "slowdowns",
        "Slowdown against intensity",
        "Above the dashed line is slower than alone. A bar is the confidence interval over launches, or the range of"
        " too few launches for one (preview), cut where it leaves the chart.",
        chart.properties(height=USUAL_HEIGHT),
        spoken(shown),
    )


def tradeoff_figure(records: Sequence[Record], words: CallWords = INFERENCES) -> Figure:
    """Return FPS against latency, the size of a point its memory, with those that no other row beats in both."""
    shown = described(
        records,
        lambda row: (
            f"{row['row']}: {significant(number_of(row['p50_ms']))} ms,"
            f" {significant(number_of(row['rate']))} {words.rate},"
            f" {significant(number_of(row['memory_mb']))} MB"
        ),
    )
    base = alt.Chart(data_of(shown))
    best = sorted((row for row in shown if row["is_best"]), key=lambda row: number_of(row["p50_ms"]))
    scale = alt.Scale(type="log", nice=False, padding=16)
    latencies, rates = ([number_of(row[name]) for row in records] for name in ("p50_ms", "rate"))
    x = alt.X("p50_ms:Q", title=f"median {words.time} in ms", scale=scale, axis=log_axis(latencies))
    y = alt.Y("rate:Q", title=words.rate, scale=scale, axis=log_axis(rates))
    chart = alt.Chart(data_of(best)).mark_line(strokeDash=[4, 4], color=INK, aria=False).encode(
        x="p50_ms:Q", y="rate:Q"
    ) + base.mark_point(filled=True, opacity=0.8).encode(
        x=x,
        y=y,
        color=_series_colour(shown),
        size=alt.Size("memory_mb:Q", title="peak memory in MB", scale=alt.Scale(range=[40, 400])),
        description="text:N",
    )
    return Figure(
        "tradeoff",
        f"{words.time.capitalize()}, throughput and memory",
        "Up and left is better. No row is better in both than those on the dashed line.",
        chart.properties(height=USUAL_HEIGHT),
        f"No row has both a lower {words.time} and more {words.rate} than {names_of(best)}.",
    )


def accuracy_figure(records: Sequence[Record], words: CallWords) -> Figure:
    """Return accuracy against throughput, by precision."""
    shown = described(
        records, lambda row: f"{row['row']}: accuracy {row['accuracy']:.4g}, {row['rate']:.4g} {words.rate}"
    )
    chart = (
        alt.Chart(data_of(shown))
        .mark_point(filled=True, size=80)
        .encode(
            x=alt.X("rate:Q", title=words.rate, scale=alt.Scale(zero=False)),
            y=alt.Y("accuracy:Q", title="accuracy", scale=alt.Scale(zero=False)),
            color=alt.Color("series:N", title="precision", scale=alt.Scale(range=list(PALETTE))),
            shape=alt.Shape("series:N", title="precision"),
            description="text:N",
        )
        .properties(height=USUAL_HEIGHT)
    )
    return Figure(
        "accuracy",
        "Accuracy and speed",
        "Up is more accurate, right is faster.",
        chart,
        spoken(shown),
    )


def launches_figure(records: Sequence[Record], words: CallWords) -> Figure:
    """Return the median latency of each launch, by row."""
    shown = described(
        records, lambda row: f"{row['row']}, launch {row['launch']}: {significant(number_of(row['value']))} ms"
    )
    chart = (
        alt.Chart(data_of(shown))
        .mark_tick(thickness=2, size=14, color=PALETTE[0])
        .encode(
            x=alt.X("value:Q", title=f"median {words.time} of a launch in ms", scale=alt.Scale(zero=False)),
            y=row_axis(shown),
            description="text:N",
        )
        .properties(height=alt.Step(ROW_HEIGHT))
    )
    return Figure(
        "launches",
        "From launch to launch",
        "A tick is the median of a launch, each a new process. Ticks apart from each other are why intervals are wide.",
        chart,
        f"Launches of {names_of(records)}.",
    )


def timeline_figure(records: Sequence[Record], words: CallWords) -> Figure:
    """Return each row in each block, in the order of measurement, coloured by what disturbed the block."""
    numbered = [{**row, "place": place} for place, row in enumerate(records)]
    shown = described(
        numbered,
        lambda row: (
            f"{row['row']}, launch {row['launch']}, block {row['block']}: {row['relative']:.2f}x, {row['state']}"
        ),
    )
    states = [state for state in _STATE_COLOURS if any(row["state"] == state for row in records)]
    chart = (
        alt.Chart(data_of(shown))
        .mark_point(filled=True, size=30)
        .encode(
            x=alt.X("place:Q", title="in the order of measurement", axis=alt.Axis(labels=False, ticks=False)),
            y=alt.Y(
                "relative:Q",
                title=f"{words.time} relative to the row's median",
                scale=alt.Scale(type="log", nice=False, padding=8),
                axis=log_axis(number_of(row["relative"]) for row in records),
            ),
            color=alt.Color(
                "state:N", title=None, scale=alt.Scale(domain=states, range=[_STATE_COLOURS[one] for one in states])
            ),
            shape=alt.Shape("state:N", title=None, scale=alt.Scale(domain=states)),
            description="text:N",
        )
        .properties(height=USUAL_HEIGHT)
    )
    disturbed = sum(bool(row["is_disturbed"]) for row in records)
    return Figure(
        "timeline",
        "In the order of measurement",
        "A point is a row in a block. Points far from 1 show noise; disturbed blocks are those in which other programs"
        " or the kernel took the processor.",
        chart,
        f"{disturbed} of {len(records)} measurements were disturbed.",
    )


def token_figure(records: Sequence[Record]) -> Figure:
    """Return the time of a token against how many positions the cache holds, a line for each row."""
    length = alt.X("length:Q", title="positions in the cache", scale=alt.Scale(zero=False, nice=False))
    time = alt.Y("value:Q", title="time of a token in ms", scale=alt.Scale(zero=True))
    return Figure(
        "tokens",
        "Time of a token against length",
        "Lower is faster. A line that rises is a cost of each position in the cache.",
        _row_lines(records, length, time),
        f"Lines of {names_of(records)}.",
    )


def _series_colour(records: Sequence[Record]) -> alt.Color:
    """Return a colour for each series; that of its row in other charts where no series has two."""
    if len({record["series"] for record in records}) == len(records):
        return row_colour(records)
    return alt.Color("series:N", title=None, scale=alt.Scale(range=list(PALETTE)))


def _settings(records: Sequence[Record]) -> list[int]:
    return sorted({int(number_of(record["setting"])) for record in records})


def _top(records: Sequence[Record]) -> float:
    """Return where a chart ends that begins at 0: above all values, and of wide intervals a part."""
    highest = max(number_of(row["value"]) for row in records)
    return min(highest * BEYOND, max(highest * 1.05, *(number_of(row["high"]) for row in records)))


def _ratio(row: Record) -> str:
    value, low, high = (number_of(row[name]) for name in ("value", "low", "high"))
    return speedup_figures(value, None if low == high else Ends(low, high, is_range=not row["is_interval"]))
