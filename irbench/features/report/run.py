"""``irbench.report``: write a page with the tables and charts of runs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Unpack

from irbench.api.arguments import results_folder
from irbench.api.progress import ProgressOption, Say, reporting
from irbench.charts.drawing import require_drawing
from irbench.errors import IrbenchError
from irbench.features.report.contents import Contents, contents_of
from irbench.features.report.keywords import ReportKeywords
from irbench.features.report.options import REPORT, ReportOptions
from irbench.options.option import names_keywords
from irbench.options.values import ChartForm, RunName, run_name
from irbench.pages.html import html_of, require_templates
from irbench.pages.output import chart_files, write_chart_files
from irbench.pages.result import HasPage
from irbench.system.file_access import write_atomically
from irbench.system.file_states import exists

USUAL_OUTPUT = "report.html"
USUAL_FOLDER = "charts"


@names_keywords(REPORT)
def report(*runs: RunName | HasPage, progress: ProgressOption = "auto", **options: Unpack[ReportKeywords]) -> Path:
    """Write a page with the verdict, the tables and the charts of results: one file that opens in any browser, offline.

    With another ``format``, write each chart to a file of its own. With ``site``, write a folder of pages that compare
    machines and can be searched; what irbench wrote there before is replaced.

    Args:
        runs: Names, ids or folders of stored runs, names of sweeps, ids of profiles, names of models (their history),
            or what :func:`irbench.profile`, ``tune``, ``history`` and ``compare`` returned; the newest run that was
            measured where there are none. Of a site, stored runs; all of them where there are none.
        progress: As :func:`irbench.run` takes it.
        options: Where it is written.

    Returns:
        The page, the folder of charts, or the index of the site.

    Raises:
        IrbenchError: There is no such result, it is damaged, a library is not installed, or the output exists or cannot
            be written. The folder of a site holds something that irbench did not write; runs that are damaged are
            left out of it.
        TypeError: There is no such option.
    """
    with reporting(progress, REPORT) as reporter:
        reporter.say("writing the page")
        return write_report(
            [run if isinstance(run, HasPage) else run_name(run) for run in runs],
            REPORT.from_keywords(options),
            reporter.say,
        )


def write_report(runs: Sequence[str | HasPage], options: ReportOptions, say: Say) -> Path:
    """Write the page of runs, their charts or a site, and return the path; raises what :func:`report` does."""
    _require_compatible(options)
    output = _written_page(runs, options) if options.site is None else _written_site(runs, options.site, options, say)
    if options.open:
        import webbrowser

        webbrowser.open(output.absolute().as_uri())
    return output


def _require_compatible(options: ReportOptions) -> None:
    """Refuse what has no effect on a site, or on a page alone."""
    if options.site is None:
        if options.charts:
            raise IrbenchError("--charts has no effect without --site.", hint="Leave it out: a page has its charts.")
        return
    others = {"-o": options.output is not None, "--format": options.format != "html", "--force": options.force}
    for name, is_given in others.items():
        if is_given:
            raise IrbenchError(f"{name} has no effect with --site.", hint="Leave it out.")


def _written_site(runs: Sequence[str | HasPage], folder: Path, options: ReportOptions, say: Say) -> Path:
    from irbench.features.report.site_run import write_site

    names = [run for run in runs if isinstance(run, str)]
    if len(names) < len(runs):
        raise IrbenchError("A site is made of stored runs.", hint="Give their names, or a page for other results.")
    return write_site(folder, results_folder(options.results), names, say, charts=options.charts)


def _written_page(runs: Sequence[str | HasPage], options: ReportOptions) -> Path:
    usual = USUAL_OUTPUT if options.format == "html" else USUAL_FOLDER
    output = options.output or Path(usual)
    if not output.absolute().parent.is_dir():
        raise IrbenchError(f"{output.parent} is not a folder.", hint="Make it, or give another path with -o.")
    if exists(output) and not options.force:
        raise IrbenchError(f"{output} exists.", hint="Replace it with --force, or give another path with -o.")
    contents = contents_of(results_folder(options.results), runs or [None])
    try:
        if options.format == "html":
            write_atomically(output, _page(contents).encode())
        else:
            _write_charts(contents, output, options.format)
    except OSError as error:
        raise IrbenchError(
            f"{output} cannot be written: {error.strerror}.", hint="Give another path with -o."
        ) from error
    return output


def _page(contents: Contents) -> str:
    require_templates()
    from irbench.features.report.view import page_of_runs

    return html_of(page_of_runs(contents.runs, contents.results, contents.searches, contents.programs))


def _write_charts(contents: Contents, folder: Path, form: ChartForm) -> None:
    """Write a file for each chart, in a folder for each table or result where there are several."""
    require_drawing()
    from irbench.charts.plots import Plot
    from irbench.runs.results import Run

    runs = (Run(document, run) for document, run in contents.runs)
    tables = [(run, number) for run in runs for number in range(len(run.document.tables))]
    plots: dict[str, Iterable[Plot]] = {}
    plots |= {f"result-{place + 1}": map(Plot, result.figures()) for place, result in enumerate(contents.results)}
    plots |= {f"table-{place + 1}": run.plots(table=number) for place, (run, number) in enumerate(tables)}
    write_chart_files(chart_files(plots, form), folder)
