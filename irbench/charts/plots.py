"""A chart as Python has it: shown in notebooks, saved to files, changed with Altair."""

from __future__ import annotations

import html
from collections.abc import Iterable
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, cast, get_args

from irbench.charts.drawing import can_draw, drawn, page_svg, require_drawing
from irbench.core.plain_text import plain
from irbench.core.suggestions import did_you_mean
from irbench.errors import IrbenchError
from irbench.options.values import ChartForm
from irbench.system.file_access import write_atomically

if TYPE_CHECKING:
    from irbench.charts.figure import Chart, Figure

_WIDTH = 480


class Plot:
    """A chart of a run.

    Attributes:
        name: What :meth:`irbench.Run.plot` calls it.
        title: What it shows.
        caption: How it is read.
        summary: What it says, in words.
        chart: The chart of Altair, which may be changed.
    """

    def __init__(self, figure: Figure) -> None:
        self.name = figure.name
        self.title = plain(figure.title)
        self.caption = plain(figure.caption)
        self.summary = plain(figure.summary)
        self.chart: Chart = figure.chart

    def save(self, output: str | PathLike[str], *, width: int = _WIDTH) -> None:
        """Write the chart to a file: ``.svg``, ``.png``, ``.pdf``, or its Vega-Lite specification as ``.json``.

        Args:
            output: The file; what is there is replaced.
            width: Of the drawing area in pixels; labels come beside it.

        Raises:
            IrbenchError: The extension is unknown, a library is not installed, or the file cannot be written.
        """
        path = Path(output)
        form = {"json": "vega"}.get(path.suffix[1:], path.suffix[1:])
        if form not in get_args(ChartForm):
            raise IrbenchError(f"Unknown file format: {path}.", hint="Names end with .svg, .png, .pdf or .json.")
        try:
            write_atomically(path, self.to_bytes(cast("ChartForm", form), width=width))
        except OSError as error:
            raise IrbenchError(f"{path} cannot be written: {error.strerror}.", hint="Give another path.") from error

    def to_bytes(self, form: ChartForm, *, width: int = _WIDTH) -> bytes:
        """Return the content of a file with the chart.

        Raises:
            IrbenchError: A library is not installed.
        """
        return drawn(self._specification(width), form)

    def _specification(self, width: int) -> dict[str, object]:
        from irbench.charts.figure import configured

        return configured(self.chart, width)

    def _repr_html_(self) -> str:
        """Return the chart as SVG; called by Jupyter."""
        require_drawing()
        svg = page_svg(self._specification(_WIDTH), self.name)
        return f"<figure><figcaption>{html.escape(f'{self.title}. {self.caption}')}</figcaption>{svg}</figure>"

    def __repr__(self) -> str:
        """Return what the chart says, in words."""
        return f"<Plot {self.name}: {self.summary}>"


class _HasFigures(Protocol):
    def _figures(self) -> Iterable[Figure]: ...


class Plottable:
    """A result with charts, which ``_figures`` makes."""

    def plots(self: _HasFigures) -> tuple[Plot, ...]:
        """Return all charts that have something to show.

        Raises:
            IrbenchError: the extra ``report`` is not installed, or raw samples are damaged.
        """
        require_drawing()
        return tuple(map(Plot, self._figures()))

    def plot(self: _HasFigures, name: str | None = None) -> Plot:
        """Return a chart: shown in notebooks, saved by its ``save``; its ``chart`` is Altair's.

        Args:
            name: Of the chart; the first by default.

        Raises:
            IrbenchError: There is none of that name, the extra ``report`` is not installed, or raw samples are damaged.
        """
        require_drawing()
        return plot_called(name, self._figures())

    def _chart_html(self: _HasFigures) -> str:
        """Return the first chart; none where there is none, or nothing that draws it."""
        try:
            figure = next(iter(self._figures()), None) if can_draw() else None
        except IrbenchError:
            return ""
        return "" if figure is None else Plot(figure)._repr_html_()


def plot_called(name: str | None, figures: Iterable[Figure]) -> Plot:
    """Return the chart of a name; the first without one.

    Raises:
        IrbenchError: There is none of that name.
    """
    by_name = {figure.name: figure for figure in figures}
    chosen = next(iter(by_name.values()), None) if name is None else by_name.get(name)
    if chosen is not None:
        return Plot(chosen)
    known = ", ".join(by_name) or "none, since nothing was measured that one shows"
    near = "" if name is None else did_you_mean(name, by_name)
    called = "" if name is None else f" {name!r}"
    raise IrbenchError(f"There is no chart{called}.", hint=f"{near}Charts: {known}.")
