"""Results written to files: a page, or a file for each chart. Everything is drawn before the first file is written."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from irbench.charts.drawing import can_draw, require_drawing
from irbench.errors import IrbenchError
from irbench.options.values import ChartForm, PageForm
from irbench.pages.result import PageResult
from irbench.system.file_access import write_atomically
from irbench.system.file_states import exists

if TYPE_CHECKING:
    from irbench.charts.plots import Plot


def require_page_form(form: PageForm, output: Path | None) -> None:
    """Refuse what could not be written later, before anything is measured.

    Raises:
        IrbenchError: A library is not installed, there is no output for charts, or it exists.
    """
    from irbench.pages.html import require_templates

    if form == "html":
        require_templates()
        return
    require_drawing()
    if output is None:
        raise IrbenchError(
            f"--format {form} writes a file for each chart.",
            hint="Name a folder for them with -o, for example: -o charts",
        )
    if exists(output):
        raise IrbenchError(f"{output} exists.", hint="Give another folder with -o.")


def page_text(result: PageResult) -> str:
    """Return a page of a result as HTML."""
    from irbench.pages.html import entry_of, html_of, page_of

    return html_of(page_of([entry_of(result, "result0")], lacks_charts=not can_draw()))


def chart_files(plots: Mapping[str, Iterable[Plot]], form: ChartForm) -> dict[str, bytes]:
    """Return charts as files, by their names: in a folder for each group where there are several."""
    ending = "json" if form == "vega" else form
    return {
        f"{group}/{plot.name}.{ending}" if len(plots) > 1 else f"{plot.name}.{ending}": plot.to_bytes(form)
        for group, drawn in plots.items()
        for plot in drawn
    }


def write_chart_files(files: Mapping[str, bytes], folder: Path) -> None:
    """Write files into a folder, which is made.

    Raises:
        IrbenchError: There are no files, or one cannot be written.
    """
    if not files:
        raise IrbenchError("There is no chart to write.", hint="Nothing was measured that a chart shows.")
    try:
        for name, content in files.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            write_atomically(path, content)
    except OSError as error:
        raise IrbenchError(
            f"{folder} cannot be written: {error.strerror}.", hint="Give another path with -o."
        ) from error


def write_charts(result: PageResult, form: ChartForm, folder: Path) -> None:
    """Write a file for each chart of a result.

    Raises:
        IrbenchError: A library is not installed, or what :func:`write_chart_files` raises.
    """
    require_drawing()
    from irbench.charts.plots import Plot

    write_chart_files(chart_files({"": map(Plot, result.figures())}, form), folder)
