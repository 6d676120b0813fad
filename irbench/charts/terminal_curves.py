"""Curves as lines of text: throughput against each setting in which rows differ, with intervals."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.text import Text

from irbench.charts.records import SETTING_TITLES, SETTINGS, ChartRow, Record, loads, number_of
from irbench.core.quantities import significant
from irbench.core.row import Ends
from irbench.render.figure_texts import ends_text
from irbench.render.interval_plot import PlottedFigure, figures_plot
from irbench.render.views import paragraph

_WIDEST = 110


def curve_plots(rows: Sequence[ChartRow], rate: str, width: int, *, unicode: bool = True) -> Iterator[Text]:
    """Yield a plot for each setting that has several values: a line for each, below what else rows have in common.

    Args:
        rows: Of one model.
        rate: What throughput is called.
        width: Of the lines, in cells, at most; text that is no terminal's has no width of its own.
        unicode: Whether the terminal shows more than ASCII.
    """
    width = min(width, _WIDEST)
    for setting in SETTINGS:
        if not (records := loads(rows, setting)):
            continue
        yield Text()
        yield from paragraph(f"{rate} against {SETTING_TITLES[setting]}, with intervals over launches", width, "bold")
        records.sort(key=lambda record: (str(record["series"]), number_of(record["setting"])))
        figures = [_figure(record) for record in records]
        lines = figures_plot(figures, width, unicode=unicode)
        series = ""
        for record, line in zip(records, lines, strict=True):
            if record["series"] != series:
                series = str(record["series"])
                yield from paragraph(f" {series}", width, "dim")
            yield line


def _figure(record: Record) -> PlottedFigure:
    value, low, high = (number_of(record[name]) for name in ("value", "low", "high"))
    ends = None if low == high else Ends(low, high, is_range=not record["is_interval"])
    text = f"{significant(value)}{ends_text(ends, marks_ranges=True)}"
    return PlottedFigure(f"{record['setting']:>6}", value, ends, text)
