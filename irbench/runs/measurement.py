"""Run a measurement: one at a time on a machine, and stored however it ends."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeAlias

from irbench.api.progress import GuardedListener, Reporter, Say
from irbench.core.record import Failure
from irbench.core.result import RunDocument
from irbench.errors import IrbenchError
from irbench.measure.clock import Stopwatch
from irbench.measure.lock import MeasurementLock, measuring
from irbench.notices import Note
from irbench.options.run import RunOptions
from irbench.render.accuracy_texts import accuracy_line, limit_text
from irbench.requests.known_refusals import native_notes
from irbench.requests.resolve import require_models
from irbench.requests.run_requests import planned, refuse_contradictions, requested
from irbench.runner.accuracy_check import checked_group
from irbench.runner.launch_schedule import UNTIL_PRECISE, LaunchSchedule
from irbench.runner.plan import PlannedGroup
from irbench.runner.request import RunRequest
from irbench.runs import group_measurement as comparison
from irbench.runs.run_destination import Destination, RunDestination, describe_environment
from irbench.runs.run_modes import mode_asked_for
from irbench.runs.run_plan import expected_table_s, name_taken_text, outline, settings, too_many_threads
from irbench.runs.work import known_peaks, with_work
from irbench.spec import Accuracy, Cell, CorunPlan, SoakPlan
from irbench.spec.serving import ServingPlan
from irbench.store.folders import default_root, results_option, run_argument
from irbench.store.listing import runs_called
from irbench.store.runs import RunWriter
from irbench.system import host
from irbench.worker.requested_confinement import require_confinement
from irbench.worker.scratch import scratch_folder
from irbench.worker.watchdog import MARK

_MOST_CONDITIONS = 100
ModePlan: TypeAlias = SoakPlan | CorunPlan | ServingPlan
"""What is measured besides speeds, or in their place, that no option of a run asks for."""
RowFilter: TypeAlias = Callable[[RunRequest, tuple[PlannedGroup, ...]], tuple[PlannedGroup, ...]]
"""Returns the groups of a plan without the rows that are not wanted; raises where it is not what was meant."""


@dataclass(frozen=True)
class StoredRun:
    """A run's document, and the folder that holds it with its raw samples."""

    document: RunDocument
    folder: Path

    @property
    def is_interrupted(self) -> bool:
        """Whether an interrupt ended it."""
        return self.document.was_interrupted


def measure(
    options: RunOptions,
    reporter: Reporter,
    mode: ModePlan | None = None,
    keep: RowFilter | None = None,
    *,
    side_by_side: bool = False,
) -> StoredRun:
    """Measure what was asked for: plan it, then run the plan.

    A mode is of what no option of a run asks for: soaks, loads of requests, and rows beside neighbours; so is that
    models share tables whose outputs may differ.

    An interrupt ends the run; every finished launch is in the document, whose last group says so.
    """
    host.require_linux()
    refuse_within_a_worker()
    require_confinement()
    watch = Stopwatch()
    request = replace(_in_mode(checked_request(options, reporter.say), mode), side_by_side=side_by_side)
    # exports, optimising and probing disturb whoever measures, too
    with measuring(_what(options), insist=options.no_lock) as lock, scratch_folder() as folder:
        request, groups = plan_run(request, folder, reporter, keep)
        destination = RunDestination(options.results)
        return measure_planned(request, groups, folder, destination, lock, reporter, watch=watch)


def _in_mode(request: RunRequest, mode: ModePlan | None) -> RunRequest:
    if isinstance(mode, CorunPlan):  # all conditions share a session, so that a launch has room for them
        usual = request.timing
        timing = replace(
            usual,
            most_cells=_MOST_CONDITIONS,
            round_seconds=max(usual.round_seconds, mode.round_s),
            stream_round_seconds=max(usual.stream_round_seconds, mode.round_s),
        )
        return replace(request, corun=mode, timing=timing)
    return replace(request, serving=mode) if isinstance(mode, ServingPlan) else replace(request, soak=mode)


def plan_run(
    request: RunRequest, scratch: Path, reporter: Reporter, keep: RowFilter | None = None
) -> tuple[RunRequest, tuple[PlannedGroup, ...]]:
    """Return what is measured: the request with its models and each group's share of the budget, and the groups."""
    alone = request.measures_rows_alone
    request, groups = planned(request, scratch, reporter.say, reporter.status, tells_notes=alone)
    groups = groups if keep is None else keep(request, groups)
    groups = with_accuracy(request, groups, scratch, reporter.say)
    return request, groups if alone else with_work(groups, known_peaks())


def measure_planned(
    request: RunRequest,
    groups: Sequence[PlannedGroup],
    scratch: Path,
    destination: Destination,
    lock: MeasurementLock,
    reporter: Reporter,
    schedule: LaunchSchedule = UNTIL_PRECISE,
    watch: Stopwatch | None = None,
) -> StoredRun:
    """Run a plan; what the reporter's listener raises ends it as an interrupt does, and is raised again.

    ``watch`` counts since the command began, whose budget contains what it prepared.
    """
    prepared_s = 0.0 if watch is None else watch.elapsed_s
    if schedule.measures_all:
        reporter.say(outline(groups, request, prepared_s))
        _warn(groups, reporter.say)
    request = replace(request, notes=(*request.notes, *_native_notes(request, groups, reporter.say)))
    writer, so_far = destination.open(describe_environment(), request, groups)
    listener = GuardedListener(reporter.show)
    prepared_s = 0.0 if watch is None else watch.elapsed_s
    used_s = 0.0 if request.budget_s is None else prepared_s
    expected_s = [expected_table_s(group, request, groups, used_s) for group in groups]
    with _ending(writer):
        alone = mode_asked_for(request, follows_speeds=False)
        if alone is not None:
            document = alone(request.after(prepared_s), groups, scratch, writer, listener)
        else:
            document = comparison.run(
                request, groups, scratch, writer, listener, lock.others, so_far, schedule, prepared_s, expected_s
            )
    if listener.error is not None:
        listener.error.add_note(f"Finished launches are stored: irbench.load({str(writer.folder)!r})")
        raise listener.error
    return StoredRun(document, writer.folder)


def checked_request(options: RunOptions, say: Say) -> RunRequest:
    """Return what is asked for, once all that is known without exporting or reading a model is checked."""
    refuse_contradictions(options)
    request = requested(options)
    require_models(options.models, everything=options.all, imports=options.imports)
    root = options.results or default_root()
    taken = runs_called(root, options.name)
    if taken:
        say(name_taken_text(options.name, taken, results_option(root)))
    return request


def describe_plan(options: RunOptions, say: Say) -> str:
    """Return what would be measured, with which settings, how long it takes at least and where it would be stored.

    Models are exported and graphs optimised for that; nothing is measured.
    """
    host.require_linux()
    watch = Stopwatch()
    request = checked_request(options, say)
    with scratch_folder() as folder:
        request, groups = planned(request, folder, say)
    _warn(groups, say)
    place = f"would be stored in {options.results or default_root()}"
    return f"{outline(groups, request, watch.elapsed_s)}\n{settings(request, groups)}\n{place}"


def _native_notes(request: RunRequest, groups: Sequence[PlannedGroup], say: Say) -> tuple[Note, ...]:
    """Return the notes about default precisions; only those of the environment that irbench runs in are known."""
    if request.asked.environments:
        return ()
    return native_notes(tuple(dict.fromkeys(request.backends)), _measured_precisions(request, groups), say)


def _measured_precisions(request: RunRequest, groups: Sequence[PlannedGroup]) -> tuple[str, ...]:
    """Return what is pinned: the precisions asked for, otherwise fp32, and nothing if every graph runs as it is."""
    loads = [cell.load for group in groups for cell in group.group.cells]
    return request.precisions or (("fp32",) if any(load.precision == "fp32" for load in loads) else ())


def _warn(groups: Sequence[PlannedGroup], say: Say) -> None:
    for warning in too_many_threads(groups):
        say(f"warning: {warning}")


def refuse_within_a_worker() -> None:
    """Refuse a run that a process of another run begins: it imports a script whose function it measures."""
    if MARK in os.environ:
        raise IrbenchError(
            "A run was begun by a process that measures for another run, which imports the script of its function.",
            hint='Begin runs below: if __name__ == "__main__":',
        )


def _what(options: RunOptions) -> str:
    names = ", ".join(Path(model).name for model in options.models)
    return names or ("every exported model" if options.all else "the model exported last")


@contextmanager
def _ending(writer: RunWriter) -> Iterator[None]:
    """Let the run's folder go when it ends, and have an error that ends it say where the launches before it are.

    A run that was refused before anything was measured is not kept: continued, it would be refused again.
    """
    try:
        yield
    except IrbenchError as error:
        document = writer.document
        if not (document.launches or document.cold_starts or document.soaks):
            writer.discard()
            raise
        way = f"; irbench run --resume {run_argument(writer.folder)} continues it" if document.is_resumable else ""
        kept = f" What was measured before is kept in {writer.folder}{way}"
        raise IrbenchError(error.message, hint=f"{error.hint}{kept}", exit_code=error.exit_code) from error
    finally:
        writer.release()  # the traceback of an error would keep it, and the run could not be continued


def with_accuracy(
    request: RunRequest, groups: Sequence[PlannedGroup], scratch: Path, say: Say
) -> tuple[PlannedGroup, ...]:
    """Return the groups with the accuracy of each row, without launches for those that miss the limit."""
    limit = request.accuracy
    if limit is None:
        return tuple(groups)

    def hear(cell: Cell, outcome: Accuracy | Failure) -> None:
        say(accuracy_line(cell, outcome))

    deadline = request.timing.deadline_after(0.0)
    say(f"checking outputs: {limit_text(limit)}")
    return tuple(
        checked_group(group, limit, scratch / f"accuracy-{number}", deadline.seconds, hear)
        for number, group in enumerate(groups)
    )
