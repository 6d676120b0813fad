"""``irbench.tune_training``: search for the settings with which a model trains fastest, and confirm them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Unpack

from irbench.api.loaded_models import Model, model_name
from irbench.api.progress import ProgressOption, Reporter, reporting
from irbench.core import registry
from irbench.errors import ExitCode, IrbenchError
from irbench.features.train.loss_checks import LossChecks, Unchecked, computation_of
from irbench.features.train.options import TRAIN
from irbench.features.train.run import planned_training, training_request
from irbench.features.train.training_rows import GPU_THREAD_MODE, OBJECTIVES, combinations_of, training_of
from irbench.features.tune.confirmation_plan import confirmation_timing
from irbench.features.tune.decision import whole_minutes, with_one_budget
from irbench.features.tune.launch_costs import GUESSED, confirmation_s, launch_s
from irbench.features.tune.options import TuneOptions
from irbench.features.tune.report import Reservation, TunedSetting, Tuning, TuningReport, UncheckedLosses
from irbench.features.tune.run import MOST_CONFIRMED, MOST_VETTING, Tuner
from irbench.features.tune.search_progress import small_budget_text
from irbench.features.tune.search_schedule import SEARCH
from irbench.features.tune.search_space import SearchSpace
from irbench.features.tune.tuning_rows import TuningRows
from irbench.features.tune_training.keywords import TuneTrainingKeywords
from irbench.features.tune_training.options import TUNE_TRAINING, TuneTrainingOptions
from irbench.measure.clock import Stopwatch
from irbench.measure.lock import measuring
from irbench.options.option import command_words, names_keywords
from irbench.options.run import RunOptions
from irbench.runner.plan import PlannedGroup
from irbench.runner.request import RunRequest
from irbench.runs.results import Interrupted
from irbench.spec import Cell, Timing
from irbench.spi.training import TrainingBackend
from irbench.system import host
from irbench.worker.scratch import scratch_folder

_MOST_CHECKS = 2 * MOST_CONFIRMED
"""Checks of losses that a search leaves time for: of the best settings, and of fp32 with the batch of each."""
_NOT_ASKED_AGAIN = ("design", "launches", "xprof", "threads", "budget", "no_lock", "name", "note", "results")
"""Options of ``irbench train`` that a search does not have or does not pass on; threads are those of the row."""


@names_keywords(TUNE_TRAINING)
def tune_training(
    model: Model, *, progress: ProgressOption = "auto", **options: Unpack[TuneTrainingKeywords]
) -> Tuning:
    """Search for the settings with which a model trains fastest, and confirm them against the default.

    Args:
        model: A model of the zoo, a ``.keras`` file, or ``file.py:function`` that returns a Keras model.
        progress: As :func:`irbench.run` takes it.
        options: What is the best, what is searched, and what is the same for every row.

    Returns:
        What was found; ``setting`` is the recommended one.

    Raises:
        IrbenchError: The call is impossible and nothing was measured; or results cannot be stored.
        Interrupted: Ctrl-C; what was found by then is in its ``result``.
        TypeError: There is no such option.
    """
    own, shared = TUNE_TRAINING.read(options)
    with reporting(progress, TUNE_TRAINING) as reporter:
        tuning = tune_training_with(model_name(model), TuneTrainingOptions(**own), RunOptions(**shared), reporter)
    if tuning.exit_code == ExitCode.INTERRUPTED:
        raise Interrupted("the search is not complete", tuning)
    return tuning


def tune_training_with(
    model: str | Path, options: TuneTrainingOptions, shared: RunOptions, reporter: Reporter
) -> Tuning:
    """Search what the options ask for; an interrupt leaves the report incomplete."""
    options = worth_trying(options)
    asked, trained = training_request(model, options, shared)
    if len(combinations_of(options, asked.threads)) == 1:
        raise IrbenchError(
            "There is one setting only, so nothing can be searched.",
            hint=f"Give several values, `--xla off,on` for example, or measure it: irbench train {model}",
        )
    run = replace(shared, models=(str(model),))
    tuned = TuneOptions(str(model), run, OBJECTIVES[options.objective], budget=options.budget)
    with measuring(f"tune {Path(model).name}", insist=shared.no_lock) as lock, scratch_folder() as folder:
        request, planned = planned_training(asked, trained, options, reporter.say)
        # the first one starts TensorFlow, as those of the search do: it tells what these take
        checks = LossChecks(options, request.timing.deadline, reporter.say)
        rows = searched_rows(request, planned, checks)
        least_s = least_budget_s(rows, checks.start_s, checks.longest_s)
        if options.budget < least_s:
            reporter.say(small_budget_text(options.budget, least_s))

        def use_of(setting: TunedSetting) -> tuple[tuple[str, ...], str]:
            (cell,) = (cell for cell in rows.planned.group.cells if cell.id == setting.row)
            return command_of(cell, options, run), program_of(cell)

        unchecked: list[str] = []

        def vetted(rows: TuningRows, best: Sequence[str], left_s: float) -> TuningRows:
            planned = checked_in_turn(checks, rows.planned, best, left_s)
            if not unchecked:  # those after the best are only tried in place of them
                unchecked.extend(row for row in best if isinstance(planned.absent.get(row), Unchecked))
            return replace(rows, planned=planned)

        tuning = Tuner(tuned, rows, folder, lock, reporter, use_of, vetted).tuned()
        report = with_unchecked(tuning.report, unchecked, rows.vetting_s, checks.longest_s)
        return Tuning(report, tuning.search, tuning.confirmation)


def least_budget_s(rows: TuningRows, start_s: float, check_s: float) -> float:
    """Return how long it takes to launch settings once, to check the loss of one and to confirm it, in seconds.

    A lower bound for slow steps: a row is taken to start as quickly as a check came to its first step, whatever
    ``--check-steps`` then took, and to have short steps.

    Args:
        rows: Of the search.
        start_s: What a check took until its first step.
        check_s: What a whole check took.
    """
    row, timing = replace(GUESSED, start_s=start_s), confirmation_timing(rows.request.timing)
    launched = min(rows.probe.most_cells, len(rows.space.cells) + len(rows.defaults))
    search_s = launch_s([row] * launched, rows.probe, verifies=True)
    vetting_s = check_s if rows.vetting_s else 0.0
    return search_s + vetting_s + confirmation_s([row] * 2, timing, timing.min_launches)


def checked_in_turn(checks: LossChecks, planned: PlannedGroup, best: Sequence[str], left_s: float) -> PlannedGroup:
    """Return the table once the losses of the best are known, the best first, as far as ``left_s`` has time for."""
    watch = Stopwatch()
    for row in best:
        planned = checks.check(planned, (row,), left_s - watch.elapsed_s)
    return planned


def with_unchecked(report: TuningReport, unchecked: Sequence[str], vetting_s: float, check_s: float) -> TuningReport:
    """Return a report that says where no time was left for checks of losses: it confirms nothing then.

    Args:
        report: Of the search.
        unchecked: The ids of those of the best settings that were not checked.
        vetting_s: What their checks were expected to take, in seconds.
        check_s: What the longest check took.
    """
    if not unchecked:
        return report
    needed_s = whole_minutes(max(report.seconds + 2 * len(unchecked) * check_s, vetting_s / MOST_VETTING))
    budget_s, notes = with_one_budget(max(needed_s, report.deciding_budget_s or 0.0), report.notes)
    assert budget_s is not None
    is_open = bool(report.reservations) and report.deciding_budget_s is None  # for what no budget decides
    return replace(
        report,
        is_confirmed=False,
        reservations=(*report.reservations, *(Reservation("unchecked-loss", row) for row in unchecked)),
        deciding_budget_s=None if is_open else budget_s,
        notes=(*notes, UncheckedLosses(settings=len(unchecked), budget_s=budget_s)),
    )


def worth_trying(options: TuneTrainingOptions) -> TuneTrainingOptions:
    """Return the options without default values that change nothing, since a function makes the samples."""
    usual = TuneTrainingOptions()
    if ":" not in options.data or options.workers != usual.workers:
        return options
    return replace(options, workers=usual.workers[:1])


def searched_rows(request: RunRequest, planned: PlannedGroup, checks: LossChecks) -> TuningRows:
    """Return the rows of a search, once it is known that the default trains: the first row.

    The parts of a step are not timed, whose functions would take as long to compile as the step itself.

    Raises:
        IrbenchError: Its loss does not fall.
    """
    default, *others = planned.group.cells
    planned = checks.check(planned, (default.id,))
    failure = planned.absent.get(default.id)
    if failure is not None:
        raise IrbenchError(f"The default, {default.label}, does not train: {failure.message}.", hint=failure.hint or "")
    timing = replace(request.timing, beginnings=False)
    computations = {computation_of(cell) for cell in others} - {computation_of(default)}
    return TuningRows(
        request=replace(request, timing=timing, is_part_of="tune"),
        planned=planned,
        space=SearchSpace(tuple(others), host.allowance(request.asked.cpus).threads),
        defaults=(default,),
        hints=(),
        probe=_probe(timing),
        vetting_s=checks.longest_s * min(_MOST_CHECKS, len(computations)),
    )


def _probe(timing: Timing) -> Timing:
    """Return the protocol of the search, with rounds in which a pipeline has used up what it made while others ran."""
    return replace(
        SEARCH,
        min_calls=timing.min_calls,
        round_seconds=timing.round_seconds,
        settle=timing.settle,
        beginnings=timing.beginnings,
    )


def command_of(cell: Cell, options: TuneTrainingOptions, run: RunOptions) -> tuple[str, ...]:
    """Return the command line that measures the steps of a row."""
    mode = cell.load.options.get(GPU_THREAD_MODE)
    chosen = {
        **vars(run),
        **vars(options),
        "batch": (cell.load.batch,),
        "gpu_thread_mode": () if mode is None else (mode,),
        **{name: (value,) for name, value in vars(training_of(cell).settings).items()},
    }
    asked = {name: declared for name, declared in TRAIN.options.items() if name not in _NOT_ASKED_AGAIN}
    threads = str(cell.load.threads or "native")
    return ("irbench", "train", *run.models, *command_words(chosen, asked), "--threads", threads)


def program_of(cell: Cell) -> str:
    """Return Python that trains as a row does, without irbench."""
    backend = registry.backend(cell.backend)
    assert isinstance(backend, TrainingBackend)
    return backend.training_program(training_of(cell), cell.load)
