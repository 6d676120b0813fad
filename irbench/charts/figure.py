"""A chart with its words, and what all charts share: colours, axes of rows, and how marks say what they show."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import altair as alt

from irbench.charts.drawing import SEPARATOR
from irbench.charts.records import Record
from irbench.core.plain_text import plain
from irbench.core.row import Verdict

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
VERDICT_SHAPES: Mapping[Verdict, str] = {
    "faster": "triangle-right", "slower": "triangle-left", "same": "circle", "undecided": "diamond", "preview": "cross",
}  # fmt: skip
ROW_HEIGHT = 22
USUAL_HEIGHT = 280
_LONGEST_LABEL = 260
_FEWEST_TICKS = 4


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


def described(records: Sequence[Record], say: Callable[[Record], str]) -> list[Record]:
    """Return records with what their marks say: the key of their row, a separator, and words."""
    return [{**record, "text": f"{record['key']}{SEPARATOR}{say(record)}"} for record in records]


def data_of(records: Sequence[Record]) -> alt.InlineData:
    """Return records as data of a chart."""
    return alt.InlineData(values=list(records))


def log_axis(values: Iterable[float]) -> alt.Axis:
    """Return the axis of a logarithmic scale with ticks that all have a number: about five between these values.

    Vega leaves numbers of such ticks out, so that an axis of less than a decade may have few or none.
    """
    known = [value for value in values if value > 0]
    if not known:
        return alt.Axis()
    return alt.Axis(values=list(log_ticks(min(known), max(known))), format="~g")


def log_ticks(low: float, high: float) -> Iterator[float]:
    """Yield round numbers between two values, the coarsest of which there are at least four.

    They are powers of ten, 1, 2 and 5 times these, or multiples of a round step; the value alone where both are equal.
    """
    if low == high:
        yield low
        return
    decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    for mantissas in ((1,), (1, 2, 5)):
        ticks = [mantissa * 10.0**decade for decade in decades for mantissa in mantissas]
        inside = [tick for tick in ticks if low <= tick <= high]
        if len(inside) >= _FEWEST_TICKS:
            yield from inside
            return
    step = next(step for step in _steps(high - low) if (high - low) / step >= _FEWEST_TICKS)
    yield from (step * count for count in range(math.ceil(low / step), math.floor(high / step) + 1))


def _steps(span: float) -> Iterator[float]:
    """Yield round steps from the largest that fits into a span down."""
    decade = math.floor(math.log10(span))
    yield from (mantissa * 10.0**power for power in range(decade, decade - 3, -1) for mantissa in (5, 2, 1))


def row_axis(records: Sequence[Record], what: str = "rows", longest: int = _LONGEST_LABEL) -> alt.Y:
    """Return an axis with a line for each row: two of one name stay two, since keys tell them apart.

    Args:
        records: Of the rows, in their order.
        what: They are, in the plural.
        longest: Of their names, in pixels.
    """
    names = {str(row["key"]): str(row["row"]) for row in records}
    label = f"{lookup(names)}[datum.value]"
    return alt.Y(
        "key:N",
        title=None,
        sort=list(names),
        axis=alt.Axis(
            labelExpr=label,
            labelLimit=longest,
            ticks=False,
            domain=False,
            description=f"{what}: {', '.join(names.values())}",
        ),
    )


def row_colour(records: Sequence[Record]) -> alt.Color:
    """Return a colour for each row, with a legend that names them."""
    names = {str(row["key"]): str(row["row"]) for row in records}
    colours = [PALETTE[place % len(PALETTE)] for place in range(len(names))]
    return alt.Color(
        "key:N",
        title=None,
        scale=alt.Scale(domain=list(names), range=colours),
        legend=alt.Legend(labelExpr=f"{lookup(names)}[datum.value]", description="rows by colour"),
    )


def row_dash(records: Sequence[Record]) -> alt.StrokeDash:
    """Return dashes that tell rows apart whose colours come again."""
    keys = list(dict.fromkeys(str(row["key"]) for row in records))
    dashes = [[1, 0] if place < len(PALETTE) else [6, 3] for place in range(len(keys))]
    return alt.StrokeDash("key:N", scale=alt.Scale(domain=keys, range=dashes), legend=None)


def lookup(names: Mapping[str, str]) -> str:
    """Return an object of Vega's expressions: plain texts, since nobody finds those in an expression to make them so.

    JSON's texts are valid in it, and a ``<`` cannot end a script.
    """
    plain_names = {plain(key): plain(name) for key, name in names.items()}
    return json.dumps(plain_names).replace("<", "\\u003c")


def spoken(records: Sequence[Record]) -> str:
    """Return what the marks of records say, for those who do not see them."""
    return "; ".join(str(record["text"]).partition(SEPARATOR)[2] for record in records)


def names_of(records: Sequence[Any]) -> str:
    """Return what the rows of records are called, each once."""
    return ", ".join(dict.fromkeys(str(row["row"]) for row in records))
