"""The charts of a run as Vega-Lite specifications, made by Altair."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import altair as alt

from irbench.charts.drawing import SEPARATOR
from irbench.charts.records import Record, Setting
from irbench.core.quantities import significant
from irbench.core.row import Ends, Verdict
from irbench.render.interval_plot import BEYOND, speedup_figures, speedup_span

Chart: TypeAlias = alt.Chart | alt.LayerChart | alt.FacetChart

INK = "currentColor"
FONT = "Liberation Sans, Arial, Helvetica, sans-serif"
"""Those that share the widths with which labels are measured."""
PALETTE = ("#3b7dd8", "#d9580d", "#178f6b", "#b0519e", "#8f7512", "#6b7280", "#c23b50", "#2a93a8")
"""Colours that differ for the colour-blind, and stand out from light and dark pages alike."""
VERDICT_COLOURS: Mapping[Verdict, str] = {
    "faster": "#178f6b",
    "slower": "#c23b50",
    "same": "#6b7280",
    "undecided": "#8f7512",
    "preview": "#6b7280",
}
_VERDICT_SHAPES = {
    "faster": "triangle-right", "slower": "triangle-left", "same": "circle", "undecided": "diamond", "preview": "cross",
}  # fmt: skip
_STATE_COLOURS = {
    "undisturbed": "#3b7dd8",
    "disturbed": "#d9580d",
    "undisturbed, excluded": "#6b7280",
    "disturbed, excluded": "#8f7512",
}
_LONGEST_LABEL = 260
_ROW_HEIGHT = 22
_USUAL_HEIGHT = 280
_SETTING_TITLES: Mapping[Setting, str] = {
    "batch": "batch size",
    "threads": "threads of each process",
    "streams": "concurrent inferences",
    "instances": "processes",
}


@dataclass(frozen=True)
class Figure:
    """A chart with its words.

    Attributes:
        name: Of the figure, in file names and addresses.
        title: What it shows.
        caption: How it is read.
        chart: Its specification, of any width.
        summary: What it says, in words, for those who do not see it.
    """

    name: str
    title: str
    caption: str
    chart: Chart
    summary: str


def speedup_figure(records: Sequence[Record], baseline: str) -> Figure:
    """Return speedups over the baseline with their intervals, by row."""
    said = [f"{row['row']}: {_ratio(row)}, {row['verdict']}" for row in records]
    shown = _described(records, lambda row: f"{row['row']}: {_ratio(row)} ({row['verdict']})")
    verdicts: list[Verdict] = [
        verdict for verdict in VERDICT_COLOURS if any(row["verdict"] == verdict for row in records)
    ]
    colour = alt.Color(
        "verdict:N", title="verdict", scale=alt.Scale(domain=verdicts, range=[VERDICT_COLOURS[one] for one in verdicts])
    )
    shape = alt.Shape(
        "verdict:N", title="verdict", scale=alt.Scale(domain=verdicts, range=[_VERDICT_SHAPES[one] for one in verdicts])
    )
    base = alt.Chart(_data(shown)).encode(y=_row_axis(shown))
    values, lows, highs = ([_number(row[name]) for row in records] for name in ("value", "low", "high"))
    span = speedup_span(values, [*lows, *highs])
    position = alt.X(
        "value:Q",
        title=f"speedup over {baseline}",
        scale=alt.Scale(type="log", domain=list(span), nice=False, clamp=True),
    )
    chart = (
        alt.Chart(_data([{"one": 1}])).mark_rule(strokeDash=[4, 4], color=INK, aria=False).encode(x="one:Q")
        + base.mark_rule(strokeWidth=2, aria=False).encode(x="low:Q", x2="high:Q", color=colour)
        + base.mark_point(filled=True, size=70).encode(x=position, color=colour, shape=shape, description="text:N")
    )
    return Figure(
        "speedups",
        f"Speedup over {baseline}",
        "Right of the dashed line is faster than the baseline. A bar is the confidence interval over launches, or the"
        " range of too few launches for one (preview), cut where it leaves the chart.",
        chart.properties(height=alt.Step(_ROW_HEIGHT)),
        "; ".join(said),
    )


def distribution_figure(records: Sequence[Record]) -> Figure:
    """Return the cumulative share of calls by latency, a line for each row."""
    shown = _described(records, lambda row: str(row["row"]))
    chart = (
        alt.Chart(_data(shown))
        .mark_line(interpolate="step-after", strokeWidth=2)
        .encode(
            x=alt.X("latency_ms:Q", title="latency in ms", scale=alt.Scale(type="log", nice=False)),
            y=alt.Y("share:Q", title="share of calls", axis=alt.Axis(format="%")),
            color=_row_colour(shown),
            strokeDash=_row_dash(shown),
            detail="key:N",
            description="text:N",
        )
        .properties(height=_USUAL_HEIGHT)
    )
    return Figure(
        "latencies",
        "Latency of calls",
        "A line is the share of calls that took at most so long: further left is faster, steeper is steadier.",
        chart,
        f"Lines of {_names(records)}.",
    )


def load_figure(records: Sequence[Record], setting: Setting) -> Figure:
    """Return FPS against a setting, a line for what else rows have in common."""
    shown = _described(records, lambda row: f"{row['row']}: {significant(_number(row['value']))} FPS")
    where = alt.X(
        "setting:O", title=_SETTING_TITLES[setting], sort=_settings(records), axis=alt.Axis(labelAngle=0, format="d")
    )
    colour = alt.Color("series:N", title=None, scale=alt.Scale(range=list(PALETTE)))
    base = alt.Chart(_data(shown)).encode(x=where, xOffset=alt.XOffset("series:N"), color=colour)
    chart = (
        base.mark_line(strokeWidth=1.5, aria=False).encode(y="value:Q")
        + base.mark_rule(strokeWidth=2, aria=False).encode(y="low:Q", y2="high:Q")
        + base.mark_point(filled=True, size=60).encode(
            y=alt.Y("value:Q", title="FPS", scale=alt.Scale(domain=[0, _top(records)], clamp=True)),
            description="text:N",
        )
    )
    return Figure(
        f"fps-{setting}",
        f"FPS against {_SETTING_TITLES[setting]}",
        "Rows on one line differ in nothing else. A bar is the interval over launches, cut where it leaves the chart.",
        chart.properties(height=_USUAL_HEIGHT),
        "; ".join(str(row["text"]).partition(SEPARATOR)[2] for row in shown),
    )


def tradeoff_figure(records: Sequence[Record]) -> Figure:
    """Return FPS against latency, the size of a point its memory, with those that no other row beats in both."""
    shown = _described(
        records,
        lambda row: (
            f"{row['row']}: {significant(_number(row['p50_ms']))} ms, {significant(_number(row['fps']))} FPS,"
            f" {significant(_number(row['memory_mb']))} MB"
        ),
    )
    base = alt.Chart(_data(shown))
    best = sorted((row for row in shown if row["is_best"]), key=lambda row: _number(row["p50_ms"]))
    x = alt.X("p50_ms:Q", title="median latency in ms", scale=alt.Scale(type="log", nice=False, padding=8))
    y = alt.Y("fps:Q", title="FPS", scale=alt.Scale(type="log", nice=False, padding=8))
    chart = alt.Chart(_data(best)).mark_line(strokeDash=[4, 4], color=INK, aria=False).encode(
        x="p50_ms:Q", y="fps:Q"
    ) + base.mark_point(filled=True, opacity=0.8).encode(
        x=x,
        y=y,
        color=alt.Color("series:N", title=None, scale=alt.Scale(range=list(PALETTE))),
        size=alt.Size("memory_mb:Q", title="peak memory in MB", scale=alt.Scale(range=[40, 400])),
        description="text:N",
    )
    return Figure(
        "tradeoff",
        "Latency, throughput and memory",
        "Up and left is better. No row is better in both than those on the dashed line.",
        chart.properties(height=_USUAL_HEIGHT),
        f"No row has both a lower latency and more FPS than {_names(best)}.",
    )


def accuracy_figure(records: Sequence[Record]) -> Figure:
    """Return accuracy against FPS, by precision."""
    shown = _described(records, lambda row: f"{row['row']}: accuracy {row['accuracy']:.4g}, {row['fps']:.4g} FPS")
    chart = (
        alt.Chart(_data(shown))
        .mark_point(filled=True, size=80)
        .encode(
            x=alt.X("fps:Q", title="FPS", scale=alt.Scale(zero=False)),
            y=alt.Y("accuracy:Q", title="accuracy", scale=alt.Scale(zero=False)),
            color=alt.Color("series:N", title="precision", scale=alt.Scale(range=list(PALETTE))),
            shape=alt.Shape("series:N", title="precision"),
            description="text:N",
        )
        .properties(height=_USUAL_HEIGHT)
    )
    return Figure(
        "accuracy",
        "Accuracy and speed",
        "Up is more accurate, right is faster.",
        chart,
        "; ".join(str(row["text"]).partition(SEPARATOR)[2] for row in shown),
    )


def launches_figure(records: Sequence[Record]) -> Figure:
    """Return the median latency of each launch, by row."""
    shown = _described(
        records, lambda row: f"{row['row']}, launch {row['launch']}: {significant(_number(row['value']))} ms"
    )
    chart = (
        alt.Chart(_data(shown))
        .mark_tick(thickness=2, size=14, color=PALETTE[0])
        .encode(
            x=alt.X("value:Q", title="median latency of a launch in ms", scale=alt.Scale(zero=False)),
            y=_row_axis(shown),
            description="text:N",
        )
        .properties(height=alt.Step(_ROW_HEIGHT))
    )
    return Figure(
        "launches",
        "From launch to launch",
        "A tick is the median of a launch, each a new process. Ticks apart from each other are why intervals are wide.",
        chart,
        f"Launches of {_names(records)}.",
    )


def timeline_figure(records: Sequence[Record]) -> Figure:
    """Return each row in each block, in the order of measurement, coloured by what disturbed the block."""
    numbered = [{**row, "place": place} for place, row in enumerate(records)]
    shown = _described(
        numbered,
        lambda row: (
            f"{row['row']}, launch {row['launch']}, block {row['block']}: {row['relative']:.2f}x, {row['state']}"
        ),
    )
    states = [state for state in _STATE_COLOURS if any(row["state"] == state for row in records)]
    chart = (
        alt.Chart(_data(shown))
        .mark_point(filled=True, size=30)
        .encode(
            x=alt.X("place:Q", title="in the order of measurement", axis=alt.Axis(labels=False, ticks=False)),
            y=alt.Y(
                "relative:Q",
                title="latency relative to the row's median",
                scale=alt.Scale(type="log", nice=False, padding=8),
            ),
            color=alt.Color(
                "state:N", title=None, scale=alt.Scale(domain=states, range=[_STATE_COLOURS[one] for one in states])
            ),
            shape=alt.Shape("state:N", title=None, scale=alt.Scale(domain=states)),
            description="text:N",
        )
        .properties(height=_USUAL_HEIGHT)
    )
    disturbed = sum(
        "disturbed" in str(row["state"]).split()[0] and "un" not in str(row["state"])[:2] for row in records
    )
    return Figure(
        "timeline",
        "In the order of measurement",
        "A point is a row in a block. Points far from 1 show noise; disturbed blocks are those in which other programs"
        " or the kernel took the processor.",
        chart,
        f"{disturbed} of {len(records)} measurements were disturbed.",
    )


def configured(chart: Chart, width: int) -> dict[str, Any]:
    """Return the specification of a chart as it is drawn: its width in pixels, and colours that follow the page's."""
    drawn = (
        chart.properties(width=width, padding={"left": 4, "right": 12, "top": 6, "bottom": 4})
        .configure(background="transparent", font=FONT)
        .configure_axis(
            gridColor=INK, gridOpacity=0.15, domainColor=INK, tickColor=INK, labelFontSize=12, titleFontSize=12,
            titleFontWeight="normal", labelLimit=_LONGEST_LABEL, labelColor=INK, titleColor=INK,
        )
        .configure_legend(
            orient="bottom", columns=2, labelFontSize=12, titleFontSize=12, symbolLimit=0,
            labelLimit=_LONGEST_LABEL, labelColor=INK, titleColor=INK,
        )
        .configure_view(stroke=None)
    )  # fmt: skip
    specification: dict[str, Any] = drawn.to_dict()
    return specification


def _described(records: Sequence[Record], say: Callable[[Record], str]) -> list[Record]:
    return [{**record, "text": f"{record['key']}{SEPARATOR}{say(record)}"} for record in records]


def _data(records: Sequence[Record]) -> alt.InlineData:
    return alt.InlineData(values=list(records))


def _row_axis(records: Sequence[Record]) -> alt.Y:
    """Return an axis with a line for each row: two of one name stay two, since keys tell them apart."""
    names = {str(row["key"]): str(row["row"]) for row in records}
    label = f"{_lookup(names)}[datum.value]"
    return alt.Y(
        "key:N",
        title=None,
        sort=list(names),
        axis=alt.Axis(labelExpr=label, ticks=False, domain=False, description=f"rows: {', '.join(names.values())}"),
    )


def _row_colour(records: Sequence[Record]) -> alt.Color:
    names = {str(row["key"]): str(row["row"]) for row in records}
    colours = [PALETTE[place % len(PALETTE)] for place in range(len(names))]
    return alt.Color(
        "key:N",
        title=None,
        scale=alt.Scale(domain=list(names), range=colours),
        legend=alt.Legend(labelExpr=f"{_lookup(names)}[datum.value]", description="rows by colour"),
    )


def _row_dash(records: Sequence[Record]) -> alt.StrokeDash:
    """Return dashes that tell rows apart whose colours come again."""
    keys = list(dict.fromkeys(str(row["key"]) for row in records))
    dashes = [[1, 0] if place < len(PALETTE) else [6, 3] for place in range(len(keys))]
    return alt.StrokeDash("key:N", scale=alt.Scale(domain=keys, range=dashes), legend=None)


def _lookup(names: Mapping[str, str]) -> str:
    """Return an object of Vega's expressions; JSON's texts are valid in it, and a ``<`` cannot end a script."""
    return json.dumps(names).replace("<", "\\u003c")


def _settings(records: Sequence[Record]) -> list[int]:
    return sorted({int(_number(record["setting"])) for record in records})


def _top(records: Sequence[Record]) -> float:
    """Return where a chart ends that begins at 0: above all values, and of wide intervals a part."""
    highest = max(_number(row["value"]) for row in records)
    return min(highest * BEYOND, max(highest * 1.05, *(_number(row["high"]) for row in records)))


def _ratio(row: Record) -> str:
    value, low, high = (_number(row[name]) for name in ("value", "low", "high"))
    return speedup_figures(value, None if low == high else Ends(low, high, is_range=not row["is_interval"]))


def _names(records: Sequence[Any]) -> str:
    return ", ".join(dict.fromkeys(str(row["row"]) for row in records))


def _number(value: object) -> float:
    assert isinstance(value, int | float)
    return float(value)
