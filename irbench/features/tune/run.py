"""``irbench.tune``: search for the best setting of a model, and confirm it."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Unpack

from irbench.api.arguments import refuse_loaded_models
from irbench.api.display import Displayable
from irbench.api.progress import ProgressOption, Reporter, reporting
from irbench.core.plain_text import plain
from irbench.core.result import SEARCH_RUN
from irbench.errors import ExitCode
from irbench.features.tune.accuracy import excluded, random_inputs, within_accuracy
from irbench.features.tune.confirmation import Confirmed, Finalists, figures_of, front_of
from irbench.features.tune.costs import ConfirmationPlan
from irbench.features.tune.evidence import search_notes, whole_search_s, with_one_budget
from irbench.features.tune.flips import FlipMapMeans, with_flips
from irbench.features.tune.keywords import TuneKeywords
from irbench.features.tune.options import TUNE, TuneOptions
from irbench.features.tune.report import TunedSetting, TuningReport
from irbench.features.tune.rows import TuningRows, tuning_rows
from irbench.features.tune.schedule import SEARCH, SearchSchedule, confirmation_timing, with_asked
from irbench.features.tune.settings import code_of, command_of
from irbench.features.tune.view import searching_text, tuning_view
from irbench.measure.clock import Stopwatch
from irbench.measure.lock import MeasurementLock, measuring
from irbench.options.option import names_keywords
from irbench.options.run import RunOptions
from irbench.options.values import ReportForm
from irbench.render.json_text import json_text
from irbench.requests.resolve import require_models
from irbench.requests.run_requests import refuse_contradictions, requested
from irbench.runner.plan import PlannedGroup, with_rows
from irbench.runner.request import RunRequest
from irbench.runner.schedule import UNTIL_PRECISE, Schedule
from irbench.runs.measurement import StoredRun, measure_planned, refuse_within_a_worker
from irbench.runs.results import Interrupted, Run
from irbench.runs.run_destination import RunDestination
from irbench.system import host
from irbench.worker.scratch import scratch_folder

if TYPE_CHECKING:
    from rich.console import RenderableType

    from irbench.render.text_document import Document

_CONFIRMED = 3
"""How many settings of a search are confirmed, where there is time for them."""


class Tuning(Displayable):
    """What a search found.

    Attributes:
        report: All that is known of it.
        search: The run that holds the launches of the search; ``None`` where it did not begin.
        confirmation: The run that holds the confirmation; ``None`` where there was none.
    """

    def __init__(self, report: TuningReport, search: Run | None = None, confirmation: Run | None = None) -> None:
        self.report = report
        self.search = search
        self.confirmation = confirmation

    @property
    def setting(self) -> TunedSetting | None:
        """The recommended setting; ``None`` where nothing could be measured."""
        return self.report.setting

    @property
    def exit_code(self) -> ExitCode:
        """What ``irbench tune`` exits with."""
        if self.report.is_flip_map_interrupted:
            return ExitCode.INTERRUPTED
        codes = {"nothing": ExitCode.FAILED_CELL, "interrupted": ExitCode.INTERRUPTED}
        return codes.get(self.report.conclusion, ExitCode.OK)

    def to_text(self, form: ReportForm = "table") -> str:
        """Return the report as text."""
        if form == "json":
            return json_text(self.report)
        return self._view().as_markdown() if form == "md" else str(self)

    def __repr__(self) -> str:
        """Return what was tuned and what is recommended."""
        setting = self.report.setting
        return plain(f"<Tuning of {self.report.model}: {setting.label if setting else self.report.conclusion}>")

    def __rich__(self) -> RenderableType:
        """Return the report as ``irbench tune`` prints it; called by rich."""
        return self._view()

    def _view(self) -> Document:
        return tuning_view(self.report)


@names_keywords(TUNE)
def tune(
    model: str | PathLike[str],
    *,
    progress: ProgressOption = "auto",
    **options: Unpack[TuneKeywords],
) -> Tuning:
    """Search for the best setting of a model, and confirm it against what runs without tuning.

    Args:
        model: Anything that :func:`irbench.run` takes.
        progress: As :func:`irbench.run` takes it.
        options: What is the best, what is searched, and what is the same for every row.

    Returns:
        What was found; ``setting`` is the recommended one.

    Raises:
        IrbenchError: The call is impossible and nothing was measured; or results cannot be stored.
        Interrupted: Ctrl-C; what was found by then is in its ``result``.
        TypeError: There is no such option.
    """
    refuse_loaded_models((model,))
    own, shared = TUNE.read(options)
    with reporting(progress) as reporter:
        found = tune_with(TuneOptions(str(model), RunOptions(**shared), **own), reporter)
    if found.exit_code == ExitCode.INTERRUPTED:
        raise Interrupted("the search is not complete", found)
    return found


def tune_with(options: TuneOptions, reporter: Reporter) -> Tuning:
    """Search what was asked for; an interrupt leaves the report incomplete.

    Raises:
        IrbenchError: The call is impossible and nothing was measured; or results cannot be stored.
    """
    host.require_linux()
    refuse_within_a_worker()
    run = replace(options.run, models=(options.model,))
    refuse_contradictions(run)
    requested(run)
    require_models(run.models, everything=False, imports=run.imports)
    with measuring(f"tune {Path(options.model).name}", insist=run.no_lock) as lock, scratch_folder() as folder:
        rows = tuning_rows(options, folder, reporter.say)
        rows = within_accuracy(rows, folder, reporter.say)
        return _Tuner(replace(options, run=run), rows, folder, lock, reporter).tuned()


class _Tuner:
    """A search while it runs."""

    def __init__(
        self, options: TuneOptions, rows: TuningRows, scratch: Path, lock: MeasurementLock, reporter: Reporter
    ) -> None:
        self._options = options
        self._rows = rows
        self._scratch = scratch
        self._lock = lock
        self._reporter = reporter
        self._watch = Stopwatch()
        self._cells = {cell.id: cell for cell in rows.planned.group.cells}
        self._defaults = [cell.id for cell in rows.defaults]

    def tuned(self) -> Tuning:
        """Search, confirm, and return what was found."""
        schedule = self._schedule()
        search = self._search(schedule)
        if search.is_interrupted:
            return self._tuning(replace(self._report(search), conclusion="interrupted"), search)
        before_s = self._watch.elapsed_s
        best = schedule.affordable(_CONFIRMED, self._options.budget - before_s)
        finalists = Finalists.of(self._rows, best)
        confirmation = self._confirm(finalists, search)
        report = replace(
            self._report(search, confirmation),
            confirmation_run=confirmation.document.run_id,
            figures=figures_of(confirmation.document.groups[0]),
        )
        if confirmation.is_interrupted:
            return self._tuning(replace(report, conclusion="interrupted"), search, confirmation)
        table = search.document.groups[0]
        whole_s = whole_search_s(report.measured, report.settings, table.stopped_by, table.seconds)
        report = self._concluded(report, Confirmed.of(finalists, confirmation, before_s - table.seconds + whole_s))
        return self._tuning(self._with_flips(report, confirmation), search, confirmation)

    def _schedule(self) -> SearchSchedule:
        rows, options = self._rows, self._options
        plan = ConfirmationPlan(self._cells, rows.references, confirmation_timing(rows.request.timing))
        return SearchSchedule(rows.space, plan, options.budget, options.run.seed, self._defaults)

    def _search(self, schedule: SearchSchedule) -> StoredRun:
        rows, options = self._rows, self._options
        kept = with_rows(rows.planned, {*rows.space.ids, *self._defaults})
        request = replace(
            rows.request,
            timing=with_asked(SEARCH, rows.request.timing),
            budget_s=options.budget,
            is_part_of=SEARCH_RUN,
            name=f"{options.run.name} search".strip() if options.run.name else "",
        )
        batches = tuple(dict.fromkeys(rows.space.batches))
        limit_ms = _milliseconds(options.max_latency)
        self._reporter.say(searching_text(len(rows.space.cells), batches, options.objective, limit_ms, options.budget))
        return self._measured(request, replace(kept, group=replace(kept.group, baseline=self._defaults[0])), schedule)

    def _confirm(self, finalists: Finalists, search: StoredRun) -> StoredRun:
        left_s = max(1.0, self._options.budget - self._watch.elapsed_s)
        request = replace(
            self._rows.request,
            timing=confirmation_timing(self._rows.request.timing),
            rows=tuple(cell.id for cell in finalists.planned.group.cells),
            budget_s=left_s,
            baseline=None,
            note=self._options.run.note or f"confirms the search of {search.document.run_id}",
        )
        return self._measured(request, finalists.planned)

    def _with_flips(self, report: TuningReport, confirmation: StoredRun) -> TuningReport:
        """Return the report with the flip map, where it was asked for."""
        if not self._options.flip_map:
            return report
        means = FlipMapMeans(self._scratch, partial(self._measured, quietly=True), self._reporter.say)
        return with_flips(report, confirmation.document.groups[0], self._options, self._rows, means)

    def _concluded(self, report: TuningReport, confirmed: Confirmed) -> TuningReport:
        decision, settings = confirmed.decision, confirmed.settings
        setting = None if decision.row is None else settings[decision.row]
        deciding_s, notes = with_one_budget(confirmed.deciding_budget_s, (*confirmed.notes, *report.notes))
        return replace(
            report,
            conclusion=decision.conclusion,
            setting=setting,
            is_confirmed=decision.is_confirmed,
            reservations=decision.reservations,
            deciding_budget_s=deciding_s,
            leader=None if decision.leader is None else settings[decision.leader],
            alternatives=confirmed.alternatives,
            command=() if setting is None else command_of(setting, self._options.run),
            code="" if setting is None else self._code(setting),
            notes=notes,
        )

    def _report(self, search: StoredRun, confirmation: StoredRun | None = None) -> TuningReport:
        """Return what is known whatever comes out."""
        options, space = self._options, self._rows.space
        tables = [(stored.document.groups[0], stored is not search) for stored in (search, confirmation) if stored]
        found = tables[0][0]
        launched = {row.id for row in found.cells if row.state not in ("not-measured", "interrupted")}
        tried = len(launched & set(space.ids))
        rest_s = self._watch.elapsed_s - found.seconds
        return TuningReport(
            model=options.model,
            objective=options.objective,
            max_latency_ms=_milliseconds(options.max_latency),
            conclusion="nothing",
            front=front_of(self._cells, tables, self._rows.request.timing.within),
            settings=len(space.cells),
            measured=tried,
            seconds=self._watch.elapsed_s,
            search_run=search.document.run_id,
            results=None if options.run.results is None else str(options.run.results),
            accuracy_limit=self._rows.request.accuracy,
            excluded=excluded(self._rows),
            random_inputs=random_inputs(self._rows.planned),
            notes=search_notes(tried, len(space.cells), found.stopped_by, found.seconds, rest_s),
        )

    def _tuning(self, report: TuningReport, search: StoredRun, confirmation: StoredRun | None = None) -> Tuning:
        found = None if confirmation is None else Run(confirmation.document, confirmation.folder)
        return Tuning(replace(report, seconds=self._watch.elapsed_s), Run(search.document, search.folder), found)

    def _code(self, setting: TunedSetting) -> str:
        group = self._rows.planned.group
        return code_of(setting, group.workload_of(self._cells[setting.row]), self._options.run.cpus)

    def _measured(
        self, request: RunRequest, planned: PlannedGroup, schedule: Schedule = UNTIL_PRECISE, *, quietly: bool = False
    ) -> StoredRun:
        place = RunDestination(self._options.run.results)
        request = request.with_budget_for(1, 1)
        reporter = replace(self._reporter, say=lambda _line: None) if quietly else self._reporter
        return measure_planned(request, (planned,), self._scratch, place, self._lock, reporter, schedule)


def _milliseconds(seconds: float | None) -> float | None:
    return None if seconds is None else 1e3 * seconds
