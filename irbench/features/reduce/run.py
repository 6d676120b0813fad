"""``irbench.reduce``: the smallest part of a graph that still shows a difference between backends."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Unpack

from irbench.api.arguments import refuse_loaded_models
from irbench.api.display import Displayable
from irbench.api.progress import ProgressOption, Reporter, reporting
from irbench.core.plain_text import plain
from irbench.errors import ExitCode, IrbenchError
from irbench.features.reduce.answers import AnswerJudge
from irbench.features.reduce.bug_report import bug_report
from irbench.features.reduce.files import REPORT_FILE
from irbench.features.reduce.judge import Judge
from irbench.features.reduce.keywords import ReduceKeywords
from irbench.features.reduce.options import REDUCE, ReduceSettings
from irbench.features.reduce.reducer import Reducer
from irbench.features.reduce.report import ReductionReport
from irbench.features.reduce.request import (
    ReduceOptions,
    expected_backends,
    output_folder,
    reduce_options,
    refuse_ineffective,
    refuse_several_values,
)
from irbench.features.reduce.speed import SpeedJudge
from irbench.features.reduce.view import reduction_view
from irbench.measure.lock import measuring
from irbench.options.expectation import SlowerThan
from irbench.options.option import names_keywords
from irbench.options.run import RunOptions
from irbench.options.values import ReportForm
from irbench.render.json_text import json_text
from irbench.requests.resolve import require_models
from irbench.requests.run_requests import refuse_contradictions
from irbench.runner.signals import signals_deferred
from irbench.runs.measurement import refuse_within_a_worker
from irbench.runs.results import Interrupted
from irbench.runs.run_destination import describe_environment
from irbench.system import host
from irbench.worker.scratch import scratch_folder

if TYPE_CHECKING:
    from rich.console import RenderableType

    from irbench.render.text_document import Document


class Reduction(Displayable):
    """What a search for the smallest graph found.

    Attributes:
        report: All that is known of it.
    """

    def __init__(self, report: ReductionReport) -> None:
        self.report = report

    @property
    def folder(self) -> Path | None:
        """The folder of ``reduced.onnx``, its inputs and ``report.md``; ``None`` where nothing was written."""
        return None if self.report.folder is None else Path(self.report.folder)

    @property
    def exit_code(self) -> ExitCode:
        """What ``irbench reduce`` exits with."""
        codes = {
            "absent": ExitCode.DIFFERENT,
            "undecided": ExitCode.UNDECIDED,
            "unconfirmed": ExitCode.UNDECIDED,
            "interrupted": ExitCode.INTERRUPTED,
        }
        return codes.get(self.report.conclusion, ExitCode.OK)

    def to_text(self, form: ReportForm = "table") -> str:
        """Return the report as text; ``md`` is that of ``report.md``."""
        if form == "json":
            return json_text(self.report)
        return bug_report(self.report) if form == "md" else str(self)

    def __repr__(self) -> str:
        """Return what was reduced, and to how many nodes."""
        report = self.report
        found = report.conclusion if report.reduced is None else f"{len(report.reduced.nodes)} of {report.nodes} nodes"
        return plain(f"<Reduction of {report.model}: {found}>")

    def __rich__(self) -> RenderableType:
        """Return the report as ``irbench reduce`` prints it; called by rich."""
        return self._view()

    def _view(self) -> Document:
        return reduction_view(self.report)


@names_keywords(REDUCE)
def reduce(
    model: str | PathLike[str],
    *,
    progress: ProgressOption = "auto",
    **options: Unpack[ReduceKeywords],
) -> Reduction:
    """Find the smallest part of a model's graph that still shows a difference between backends, and write it.

    Args:
        model: Anything that :func:`irbench.run` takes.
        progress: As :func:`irbench.run` takes it.
        options: The difference, and those of a run that say what the inputs are and how the graph is measured.

    Returns:
        What was found; ``folder`` has the files.

    Raises:
        IrbenchError: The call is impossible, or the model cannot be run; nothing was searched.
        Interrupted: Ctrl-C; the smallest graph until then is written, and in its ``result``.
        TypeError: There is no such option.
    """
    refuse_loaded_models((model,))
    own, shared = REDUCE.read(options)
    asked = reduce_options(str(model), ReduceSettings(**own), RunOptions(**shared))
    with reporting(progress) as reporter:
        found = reduce_with(asked, reporter)
    if found.report.conclusion == "interrupted":
        raise Interrupted("the search is not complete", found)
    return found


def reduce_with(options: ReduceOptions, reporter: Reporter) -> Reduction:
    """Search what was asked for, and write it; an interrupt leaves the search incomplete.

    Raises:
        IrbenchError: The call is impossible, or the model cannot be run; nothing was searched.
    """
    host.require_linux()
    refuse_within_a_worker()
    refuse_several_values(options.run)
    refuse_ineffective(options)
    backends = expected_backends(options.expectation)
    note = f"reduce {Path(options.model).name}"
    run = replace(options.run, models=(options.model,), backends=tuple(map(str, backends)), note=note)
    refuse_contradictions(run)
    require_models(run.models, everything=False, imports=run.imports)
    options = replace(options, output=output_folder(options), run=run)
    with scratch_folder() as folder, _judge(options, reporter) as judge:
        report = Reducer(options, judge, folder, reporter.say).reduced()
        report = replace(report, environment=describe_environment(), command=run.command)
        with signals_deferred():
            _write_report(report)
    return Reduction(report)


@contextmanager
def _judge(options: ReduceOptions, reporter: Reporter) -> Iterator[Judge]:
    """Yield who looks at graphs; who times them holds the machine's lock meanwhile."""
    run, expected = options.run, options.expectation
    if not isinstance(expected, SlowerThan):
        yield AnswerJudge(expected, run, reporter.say)
        return
    with measuring(f"reduce {Path(options.model).name}", insist=run.no_lock) as lock:
        yield SpeedJudge(expected, run, options.min_share, lock, reporter, options.budget_s)


def _write_report(report: ReductionReport) -> None:
    """Write the report beside the graph.

    Raises:
        IrbenchError: The folder cannot be written.
    """
    if report.folder is None:
        return
    folder = Path(report.folder)
    try:
        (folder / REPORT_FILE).write_text(bug_report(report))
        (folder / "report.json").write_text(Reduction(report).to_text("json"))
    except OSError as error:
        raise IrbenchError(
            f"{folder} cannot be written: {error.strerror}.", hint="Name another folder with -o."
        ) from error
