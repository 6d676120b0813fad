"""``irbench.tune``: search for the best setting of a model, and confirm it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TypeAlias, Unpack

from irbench.api.loaded_models import Model, model_name
from irbench.api.progress import ProgressOption, Reporter, reporting
from irbench.core.address import BackendAddress
from irbench.core.result import SEARCH_RUN
from irbench.errors import ExitCode, IrbenchError
from irbench.features.serve.options import SERVE
from irbench.features.tune.decision import (
    Confirmed,
    Finalists,
    figures_of,
    front_of,
    search_notes,
    whole_search_s,
    with_one_budget,
)
from irbench.features.tune.flip_map import FlipMapMeans, with_flips
from irbench.features.tune.keywords import TuneKeywords
from irbench.features.tune.least_budget import least_budget_s, warn_of_small_budget
from irbench.features.tune.options import TUNE, TuneOptions
from irbench.features.tune.report import OtherBatch, TunedSetting, Tuning, TuningNote, TuningReport
from irbench.features.tune.search_progress import searched_text, searching_text
from irbench.features.tune.search_schedule import SearchSchedule, with_requested
from irbench.features.tune.service_level import (
    confirmation_plan,
    confirmed_by_rates,
    held_rates,
    refuse_contradictions_of_search,
)
from irbench.features.tune.tuning_rows import TuningRows, excluded, random_inputs, tuning_rows, within_accuracy
from irbench.measure.clock import Stopwatch
from irbench.measure.lock import MeasurementLock, measuring
from irbench.optimizer import UNOPTIMIZED, variant
from irbench.options.option import command_words, names_keywords
from irbench.options.run import RUN, RunOptions
from irbench.render.columns.serving import level_text
from irbench.requests.resolve import require_models
from irbench.requests.run_requests import requested, require_batch_to_wait_for
from irbench.runner.launch_schedule import UNTIL_PRECISE, LaunchSchedule
from irbench.runner.plan import PlannedGroup, with_rows
from irbench.runner.request import RunRequest
from irbench.runs.measurement import StoredRun, measure_planned, refuse_within_a_worker
from irbench.runs.results import Interrupted, Run
from irbench.runs.run_destination import RunDestination
from irbench.runs.stored_rows import program_of_cell
from irbench.spec.serving import ServingPlan
from irbench.stats.run_modes.training import is_training
from irbench.system import host
from irbench.worker.scratch import scratch_folder

MOST_CONFIRMED = 3
"""How many settings of a search are confirmed, where there is time for them."""
MOST_VETTING = 0.4
"""Of the budget, what is kept for finding out whether the best may be used."""
UseOf: TypeAlias = Callable[[TunedSetting], tuple[tuple[str, ...], str]]
"""Returns the words of a command line that measures a setting again, and Python that uses it."""
Vetting: TypeAlias = Callable[[TuningRows, Sequence[str], float], TuningRows]
"""Returns the rows of a search once it is known which of the best may not be used, which are absent then; it is given
how many seconds that may take."""


@names_keywords(TUNE)
def tune(
    model: Model,
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
    own, shared = TUNE.read(options)
    with reporting(progress, TUNE) as reporter:
        tuning = tune_with(TuneOptions(model_name(model), RunOptions(**shared), **own), reporter)
    if tuning.exit_code == ExitCode.INTERRUPTED:
        raise Interrupted("the search is not complete", tuning)
    return tuning


def tune_with(options: TuneOptions, reporter: Reporter) -> Tuning:
    """Search what the options ask for; an interrupt leaves the report incomplete."""
    watch = Stopwatch()
    host.require_linux()
    refuse_within_a_worker()
    run = replace(options.run, models=(options.model,))
    refuse_contradictions_of_search(options)
    warn_of_small_budget(options, reporter.say)
    requested(run)
    require_models(run.models, everything=False, imports=run.imports)
    with measuring(f"tune {Path(options.model).name}", insist=run.no_lock) as lock, scratch_folder() as folder:
        rows = tuning_rows(options, folder, reporter.say)
        if options.batch_wait:
            require_batch_to_wait_for(cell.load.batch for cell in rows.space.cells)
        rows = within_accuracy(rows, folder, reporter.say)
        options = replace(options, run=run)
        if watch.elapsed_s + least_budget_s(options) > options.budget >= least_budget_s(options):
            warn_of_small_budget(options, reporter.say, watch.elapsed_s)
        return Tuner(options, rows, folder, lock, reporter, partial(use_of, rows, options), watch=watch).tuned()


class Tuner:
    """Searches rows, confirms the best of them, and reports what was found.

    Args:
        options: What is the best, and in which time.
        rows: What is searched, and what it is compared with.
        scratch: A folder that is gone afterwards.
        lock: That of the machine.
        reporter: Receives the progress.
        use_of: How a setting is used.
        vetted: What is found out of the best before they are confirmed; nothing where all rows may be used.
        watch: Counts since the command began: its budget contains what it prepared.
    """

    def __init__(
        self,
        options: TuneOptions,
        rows: TuningRows,
        scratch: Path,
        lock: MeasurementLock,
        reporter: Reporter,
        use_of: UseOf,
        vetted: Vetting = lambda rows, _best, _left_s: rows,
        watch: Stopwatch | None = None,
    ) -> None:
        self._options = options
        self._rows = rows
        self._use_of = use_of
        self._vetted = vetted
        self._scratch = scratch
        self._lock = lock
        self._reporter = reporter
        self._watch = Stopwatch() if watch is None else watch
        self._cells = {cell.id: cell for cell in rows.planned.group.cells}
        self._defaults = [cell.id for cell in rows.defaults]
        self._plan = confirmation_plan(options, rows)

    def tuned(self) -> Tuning:
        """Search, confirm, and return what was found."""
        schedule = self._schedule()
        search = self._search(schedule)
        try:
            finalists = None if search.is_interrupted else self._finalists(schedule)
        except KeyboardInterrupt:
            finalists = None
        if finalists is None:
            return self._tuning(replace(self._report(search), conclusion="interrupted"), search)
        before_s = self._watch.elapsed_s
        left_s = self._options.budget - before_s
        chosen = [cell.id for cell in finalists.planned.measured if cell.id not in finalists.references]
        confirmation = self._confirm(finalists, search, self._plan.serving(chosen, schedule.taken, left_s))
        report = replace(
            self._report(search, confirmation),
            confirmation_run=confirmation.document.run_id,
            figures={row: own for table in confirmation.document.groups for row, own in figures_of(table).items()},
            held={row: own for served in confirmation.document.serving for row, own in held_rates(served).items()},
        )
        if confirmation.is_interrupted:
            return self._tuning(replace(report, conclusion="interrupted"), search, confirmation)
        table = search.document.groups[0]
        whole_s = whole_search_s(report.measured, report.settings, table.stopped_by, table.seconds)
        before_s += whole_s - table.seconds
        served = confirmation.document.serving
        confirmed = confirmed_by_rates(finalists, served[0], before_s) if served else None
        report = self._concluded(report, confirmed or Confirmed.of(finalists, confirmation, before_s))
        return self._tuning(self._with_flips(report, confirmation), search, confirmation)

    def _schedule(self) -> SearchSchedule:
        rows, options = self._rows, self._options
        left_s = max(0.0, self._left_s)
        seconds = left_s - min(rows.vetting_s, MOST_VETTING * left_s)
        return SearchSchedule(rows.space, self._plan, seconds, options.run.seed, self._defaults)

    def _search(self, schedule: SearchSchedule) -> StoredRun:
        rows, options = self._rows, self._options
        kept = with_rows(rows.planned, {*rows.space.ids, *self._defaults})
        request = replace(
            rows.request.asking(name=f"{options.run.name} search".strip() if options.run.name else ""),
            timing=with_requested(rows.probe, rows.request.timing),
            budget_s=options.budget,
            is_part_of=SEARCH_RUN,
        )
        batches = tuple(dict.fromkeys(rows.space.batches))
        settings = len(rows.space.cells)
        limit_ms = options.goal.max_latency_ms
        feeding = kept.group.main.feeding
        samples = (feeding.rows or feeding.count) if feeding.samples else 0
        prepared_s = self._watch.elapsed_s
        self._reporter.say(
            searching_text(settings, batches, self._searched_for, limit_ms, options.budget, samples, prepared_s)
        )
        kept = replace(kept, group=replace(kept.group, baseline=self._defaults[0]))
        return self._measured(request, kept, schedule, watch=self._watch)

    @property
    def _searched_for(self) -> str:
        options = self._options
        if options.slo is not None:
            return f"the highest rate of requests with {level_text(options.slo)}"
        is_generation = options.run.generate is not None
        return searched_text(options.compared_by, is_generation=is_generation, is_training=self._is_training)

    @property
    def _is_training(self) -> bool:
        return is_training(self._rows.defaults[0])

    def _finalists(self, schedule: SearchSchedule) -> Finalists:
        """Return the table of the best that may be used, with those that turned out not to be."""
        asked: dict[str, None] = {}
        while True:
            best = schedule.affordable(MOST_CONFIRMED, self._left_s)
            asked |= dict.fromkeys(best)
            self._rows = self._vetted(self._rows, best, self._plan.spare_s(best, schedule.taken, self._left_s))
            absent = self._rows.planned.absent
            if not absent.keys() & set(best):
                best = schedule.affordable(len(best), self._left_s)
                return Finalists.of(self._rows, best, [row for row in asked if row in absent])
            schedule.exclude(absent)

    @property
    def _left_s(self) -> float:
        return self._options.budget - self._watch.elapsed_s

    def _confirm(self, finalists: Finalists, search: StoredRun, serving: ServingPlan | None) -> StoredRun:
        chosen = self._rows.request.asking(
            rows=tuple(cell.id for cell in finalists.planned.group.cells),
            baseline=None,
            note=self._options.run.note or f"confirms the search of {search.document.run_id}",
        )
        request = replace(
            chosen,
            timing=self._plan.timing_of(len(finalists.planned.measured)),
            budget_s=self._options.budget,
            serving=serving,
            search_run=search.document.run_id,
        )
        return self._measured(request, finalists.planned, watch=self._watch)

    def _with_flips(self, report: TuningReport, confirmation: StoredRun) -> TuningReport:
        if not self._options.flip_map:
            return report
        means = FlipMapMeans(self._scratch, partial(self._measured, quietly=True), self._reporter.say)
        return with_flips(report, confirmation.document.groups[0], self._options, self._rows, means)

    def _concluded(self, report: TuningReport, confirmed: Confirmed) -> TuningReport:
        decision, settings = confirmed.decision, confirmed.settings
        setting = None if decision.row is None else settings[decision.row]
        notes = (*confirmed.notes, *self._batch_notes(setting), *report.notes)
        deciding_s, notes = with_one_budget(confirmed.deciding_budget_s, notes)
        command, code = ((), "") if setting is None else self._use_of(setting)
        return replace(
            report,
            conclusion=decision.conclusion,
            setting=setting,
            is_confirmed=decision.is_confirmed,
            reservations=decision.reservations,
            deciding_budget_s=deciding_s,
            leader=None if decision.leader is None else settings[decision.leader],
            leader_kind=confirmed.leader_kind,
            preferred_by=decision.preferred_by,
            alternatives=confirmed.alternatives,
            command=command,
            code=code,
            notes=notes,
        )

    def _batch_notes(self, setting: TunedSetting | None) -> tuple[TuningNote, ...]:
        default = self._rows.defaults[0].load.batch
        if setting is None or not self._is_training or setting.batch == default:
            return ()
        return (OtherBatch(batch=setting.batch, default=default),)

    def _report(self, search: StoredRun, confirmation: StoredRun | None = None) -> TuningReport:
        options, space = self._options, self._rows.space
        measured = [stored for stored in (search, confirmation) if stored is not None]
        tables = [(table, stored is not search) for stored in measured for table in stored.document.groups]
        table = tables[0][0]
        launched = {row.id for row in table.cells if row.state not in ("not-measured", "interrupted")}
        tried = len(launched & set(space.ids))
        rest_s = self._watch.elapsed_s - table.seconds
        return TuningReport(
            model=options.model,
            objective=options.compared_by,
            max_latency_ms=_milliseconds(options.max_latency),
            conclusion="nothing",
            front=() if self._is_training else front_of(self._cells, tables, self._rows.request.timing.within),
            settings=len(space.cells),
            measured=tried,
            seconds=self._watch.elapsed_s,
            search_run=search.document.run_id,
            results=None if options.run.results is None else str(options.run.results),
            accuracy_limit=self._rows.request.accuracy,
            excluded=excluded(self._rows),
            random_inputs=random_inputs(self._rows.planned),
            new_tokens=options.run.generate,
            is_training=self._is_training,
            level=options.slo,
            notes=search_notes(tried, len(space.cells), table.stopped_by, table.seconds, rest_s),
        )

    def _tuning(self, report: TuningReport, search: StoredRun, confirmation: StoredRun | None = None) -> Tuning:
        confirmed = None if confirmation is None else Run(confirmation.document, confirmation.folder)
        return Tuning(replace(report, seconds=self._watch.elapsed_s), Run(search.document, search.folder), confirmed)

    def _measured(
        self,
        request: RunRequest,
        planned: PlannedGroup,
        schedule: LaunchSchedule = UNTIL_PRECISE,
        *,
        quietly: bool = False,
        watch: Stopwatch | None = None,
    ) -> StoredRun:
        destination = RunDestination(self._options.run.results)
        request = request.with_budget_for(1, 1)
        reporter = replace(self._reporter, say=lambda _line: None) if quietly else self._reporter
        return measure_planned(request, (planned,), self._scratch, destination, self._lock, reporter, schedule, watch)


def _milliseconds(seconds: float | None) -> float | None:
    return None if seconds is None else 1e3 * seconds


def use_of(rows: TuningRows, options: TuneOptions, setting: TunedSetting) -> tuple[tuple[str, ...], str]:
    """Return how a setting of a search is used: see :data:`UseOf`."""
    group = rows.planned.group
    (cell,) = (cell for cell in group.cells if cell.id == setting.row)
    workload = group.workload_of(cell)
    try:
        code = program_of_cell(cell, workload, f"Run {workload.bundle.name} as {setting.label}, without irbench.")
    except IrbenchError:  # its backend does not tell how
        code = ""
    return command_of(setting, options), code


_ASKED_AGAIN = (
    "backends", "batch", "threads", "streams", "instances", "precision", "optimize", "set", "shape", "data", "value",
    "imports", "generate", "prompt", "min_accuracy", "classes", "metric", "cpus", "io", "warmup", "seed",
)  # fmt: skip
"""Options of ``irbench run`` that a setting is measured again with."""


def command_of(setting: TunedSetting, options: TuneOptions) -> tuple[str, ...]:
    """Return the command line that measures a setting; empty where its samples are in memory."""
    run = options.run
    if run.data is not None and not run.inputs.source:
        return ()
    converted = setting.optimize != UNOPTIMIZED and variant(setting.optimize).conversion is not None
    asked = replace(
        run,
        backends=(setting.backend,),
        batch=(setting.batch,),
        threads=(setting.threads or "native",),
        streams=(setting.streams,),
        instances=(setting.instances,),
        precision=(setting.precision,) if setting.precision_required and not converted else None,
        optimize=(setting.optimize,),
        set={BackendAddress.parse(setting.backend).name: setting.options} if setting.options else {},
    )
    declared = {name: RUN.options[name] for name in _ASKED_AGAIN if options.slo is None or name in SERVE.options}
    words = command_words(vars(asked), declared)
    if options.slo is None:
        return ("irbench", "run", *run.models, *words)
    level = {"slo": options.slo, "batch_wait": options.batch_wait if setting.batch > 1 else None}
    limits = command_words(level, {name: SERVE.options[name] for name in level})
    return ("irbench", "serve", *run.models, *words, *limits)
