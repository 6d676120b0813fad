"""``irbench.report``: write a page with the tables and charts of runs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Unpack

from irbench.api.arguments import results_folder
from irbench.api.progress import ProgressOption, reporting
from irbench.charts.drawing import ChartFormat, require_drawing
from irbench.core.result import RunDocument
from irbench.errors import IrbenchError
from irbench.features.report.keywords import ReportKeywords
from irbench.features.report.options import REPORT, ReportOptions
from irbench.options.option import names_keywords
from irbench.options.values import RunName, run_name
from irbench.pages.html import html_of, require_templates
from irbench.store.listing import find_run
from irbench.store.runs import load_document
from irbench.system.file_access import write_atomically
from irbench.system.file_states import exists

USUAL_OUTPUT = "report.html"
USUAL_FOLDER = "charts"


@names_keywords(REPORT)
def report(*runs: RunName, progress: ProgressOption = "auto", **options: Unpack[ReportKeywords]) -> Path:
    """Write a page with the verdict, the tables and the charts of runs: one file that opens in any browser, offline.

    With another ``format``, write each chart to a file of its own.

    Args:
        runs: Names, ids or folders of stored runs; the newest that was measured where there are none.
        progress: As :func:`irbench.run` takes it.
        options: Where it is written.

    Returns:
        The page, or the folder of charts.

    Raises:
        IrbenchError: There is no such run, it is damaged, a library is not installed, or the output exists or cannot
            be written.
        TypeError: There is no such option.
    """
    with reporting(progress) as reporter:
        reporter.say("writing the page")
        return write_report([run_name(run) for run in runs], REPORT.from_keywords(options))


def write_report(runs: Sequence[str | None], options: ReportOptions) -> Path:
    """Write the page of runs, or their charts, and return the path; raises what :func:`report` does."""
    usual = USUAL_OUTPUT if options.format == "html" else USUAL_FOLDER
    output = options.output or Path(usual)
    if not output.absolute().parent.is_dir():
        raise IrbenchError(f"{output.parent} is not a folder.", hint="Make it, or give another path with -o.")
    if exists(output) and not options.force:
        raise IrbenchError(f"{output} exists.", hint="Replace it with --force, or give another path with -o.")
    root = results_folder(options.results)
    folders = [find_run(root, run) for run in runs or [None]]
    documents = [(load_document(folder), folder) for folder in folders]
    try:
        if options.format == "html":
            write_atomically(output, _page(documents).encode())
        else:
            _write_charts(documents, output, options.format)
    except OSError as error:
        raise IrbenchError(
            f"{output} cannot be written: {error.strerror}.", hint="Give another path with -o."
        ) from error
    if options.open:
        import webbrowser

        webbrowser.open(output.absolute().as_uri())
    return output


def _page(runs: Sequence[tuple[RunDocument, Path]]) -> str:
    require_templates()
    from irbench.features.report.view import page_of

    return html_of(page_of(runs))


def _write_charts(runs: Sequence[tuple[RunDocument, Path]], folder: Path, form: ChartFormat) -> None:
    """Write a file for each chart of each table, in a folder for each table where there are several."""
    require_drawing()
    from irbench.charts.plots import plots_of_table

    tables = [(document, number, run) for document, run in runs for number in range(len(document.groups))]
    for place, (document, number, run) in enumerate(tables):
        own = folder / f"table-{place + 1}" if len(tables) > 1 else folder
        own.mkdir(parents=True, exist_ok=True)
        for plot in plots_of_table(document, number, run):
            plot.save(own / f"{plot.name}.{'json' if form == 'vega' else form}")
