"""A chart as Python has it: shown in notebooks, saved to files, changed with Altair."""

from __future__ import annotations

from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, cast, get_args

from irbench.charts.drawing import ChartFormat, drawn, page_svg, require_drawing
from irbench.errors import IrbenchError
from irbench.system.files import write_atomically

if TYPE_CHECKING:
    from irbench.charts.specs import Chart, Figure

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
        self.title = figure.title
        self.caption = figure.caption
        self.summary = figure.summary
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
        if form not in get_args(ChartFormat):
            raise IrbenchError(f"Unknown file format: {path}.", hint="Names end with .svg, .png, .pdf or .json.")
        try:
            write_atomically(path, drawn(self._specification(width), cast("ChartFormat", form)))
        except OSError as error:
            raise IrbenchError(f"{path} cannot be written: {error.strerror}.", hint="Give another path.") from error

    def _specification(self, width: int) -> dict[str, object]:
        from irbench.charts.specs import configured

        return configured(self.chart, width)

    def _repr_html_(self) -> str:
        """Return the chart as SVG; called by Jupyter."""
        require_drawing()
        return f"<figure><figcaption>{self.caption}</figcaption>{page_svg(self._specification(_WIDTH), self.name)}</figure>"

    def __repr__(self) -> str:
        """Return what the chart says, in words."""
        return f"<Plot {self.name}: {self.summary}>"
