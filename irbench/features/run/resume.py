"""``irbench.resume``: continue a run that ended early, after its last stored launch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Unpack

from irbench.api.progress import ProgressOption, Reporter, Say, reporting
from irbench.core.quantities import plural
from irbench.core.result import RunDocument
from irbench.core.run_kinds import command_of_part, run_kind
from irbench.environments.runtime_sources import INSTALLED
from irbench.errors import IrbenchError
from irbench.features.train.begun_run import BegunRun, begun_run
from irbench.features.train.run import measure_training
from irbench.measure.clock import Stopwatch
from irbench.measure.lock import measuring
from irbench.options.keywords import ResumeKeywords
from irbench.options.option import names_keywords
from irbench.options.run import RESUME, ResumeOptions, RunOptions
from irbench.options.values import RunName, run_name
from irbench.render.line_wrapping import shorten
from irbench.requests.resolve import Environments
from irbench.requests.run_requests import refuse_contradictions, requested
from irbench.runner.continuation import (
    ConfinementChange,
    GroupSoFar,
    RunChange,
    as_begun,
    changed_environment,
    changes_since,
    confinement_remedy,
    group_so_far,
)
from irbench.runner.plan import PlannedGroup
from irbench.runner.request import RunRequest
from irbench.runs.measurement import StoredRun, measure_planned, plan_run, refuse_within_a_worker
from irbench.runs.repetition import (
    environments_obstacle,
    measuring_command,
    own_code_obstacle,
    refuse_stored_folders,
    repetition_refusal,
    stored_options,
)
from irbench.runs.results import Run, finished_run
from irbench.runs.run_destination import describe_environment, planned_run
from irbench.store.folders import default_root, results_option
from irbench.store.listing import find_run, list_runs, resumable_runs
from irbench.store.runs import RunWriter, Store
from irbench.store.sweeps import sweep_of_run
from irbench.system import host
from irbench.worker.requested_confinement import require_confinement
from irbench.worker.scratch import scratch_folder

_LONGEST_VALUE = 40
_MOST_CHANGES = 5


@names_keywords(RESUME)
def resume(run: RunName | None = None, *, progress: ProgressOption = "auto", **options: Unpack[ResumeKeywords]) -> Run:
    """Continue a run that ended early, after its last stored launch, with the settings that it was begun with.

    A run whose plan names own code is not continued without ``allow_own_code``.

    Args:
        run: As :func:`irbench.load` takes it; by default the newest that ended early.
        progress: As :func:`irbench.run` takes it.
        options: What is allowed.

    Returns:
        The run: the same one, with the launches that it had.

    Raises:
        IrbenchError: There is no such run, it cannot be continued, or something that it measures has changed: the
            machine, a package, irbench, or a file. Nothing was measured.
        Interrupted: Ctrl-C; what was measured is stored, and in its ``result``.
    """
    resume_options = RESUME.from_keywords(options, run=None if run is None else run_name(run))
    with reporting(progress, RESUME) as reporter:
        return finished_run(resume_with(resume_options, reporter))


def resume_with(options: ResumeOptions, reporter: Reporter) -> StoredRun:
    """Continue a run; raises what :func:`resume` does, but an interrupted run is returned."""
    host.require_linux()
    refuse_within_a_worker()
    require_confinement()
    watch, store = Stopwatch(), Store(options.results or default_root())
    folder = _folder(store.root, options.run)
    document = store.load(folder)
    _require_resumable(document, store.root)
    continued = _ContinuedRun(store, folder, reporter.say)
    training = begun_run(document, continued)
    run_options = _asked_before(document, options, training, reporter.say)
    refuse_contradictions(run_options)
    if training is not None:
        return measure_training(run_options.models[0], training.options, run_options, reporter, training)
    with measuring(f"the rest of run {document.run_id}", insist=options.no_lock) as lock, scratch_folder() as scratch:
        request, groups = plan_run(requested(run_options), scratch, reporter, continued.as_begun)
        return measure_planned(request, groups, scratch, continued, lock, reporter, watch=watch)


@dataclass(frozen=True)
class _ContinuedRun:
    store: Store
    folder: Path
    say: Say

    def open(
        self, environment: Mapping[str, Any], request: RunRequest, groups: Sequence[PlannedGroup]
    ) -> tuple[RunWriter, GroupSoFar | None]:
        """Return the run, and what is known of its unfinished table; see ``irbench.runs.run_destination``."""
        document = self.store.load(self.folder)
        _require_unchanged(
            document, changes_since(document, planned_run(environment, request, groups)), self.store.root
        )
        so_far = group_so_far(document, self.store.launches(self.folder))
        self.say(f"continuing {document.run_id} after {plural(len(document.launches), 'launch')}")
        return self.store.reopen(self.folder, document), so_far

    def as_begun(self, _request: RunRequest, groups: tuple[PlannedGroup, ...]) -> tuple[PlannedGroup, ...]:
        """Return the groups as they were when the run was begun."""
        return as_begun(groups, self.store.load(self.folder).groups)


def _folder(root: Path, run: str | None) -> Path:
    if run is not None:
        return find_run(root, run)
    unfinished = resumable_runs(list_runs(root).entries)
    newest = next((entry for entry in unfinished if sweep_of_run(root, entry.run_id) is None), None)
    if newest is None:
        raise IrbenchError(
            f"No unfinished run is stored in {root}.",
            hint=f"List the stored runs: irbench results{results_option(root)}",
        )
    return Path(newest.folder)


def _require_resumable(document: RunDocument, root: Path) -> None:
    """Refuse a run that has nothing left to measure, or whose launches are not continued."""
    run, plan = document.run_id, document.plan
    if document.complete:
        raise IrbenchError(f"{run} is complete.", hint=_again(document, root))
    sweep = sweep_of_run(root, run)
    if sweep is not None:
        raise IrbenchError(
            f"{run} is a table of the sweep {sweep}.",
            hint="Continue the sweep with its plan: irbench sweep PLAN --resume",
        )
    begin_again = f"Begin it again: {measuring_command(plan)}"
    if plan.is_part_of:
        raise IrbenchError(f"{run} was measured by {command_of_part(plan)}, which is not continued.", hint=begin_again)
    kind = run_kind(plan)
    if kind is not None and not kind.is_continued:
        raise IrbenchError(
            f"{run} measures {kind.measures}, and only launches of speeds can be continued.", hint=begin_again
        )


def _again(document: RunDocument, root: Path) -> str:
    """Return how to measure again what is complete."""
    results = results_option(root)
    refusal = repetition_refusal(document.plan, results)
    if refusal is not None and refusal.hint:
        return refusal.hint
    run = f"{document.run_id}{results}"
    return f"Measure it again: irbench plan from {run} -o again.toml, then irbench sweep again.toml"


def _asked_before(document: RunDocument, options: ResumeOptions, training: BegunRun | None, say: Say) -> RunOptions:
    """Return the options that ask for the whole of a run again; with those of its own for one of training steps."""
    _require_unchanged(
        document, changed_environment(document, describe_environment()), options.results or default_root()
    )
    environments = document.plan.environments
    plan = document.plan if training is None else training.plan
    stored = stored_options(replace(plan, environments=()), results_option(options.results))
    refuse_stored_folders(stored)
    own_code = own_code_obstacle(stored, () if training is None else training.own_code)
    obstacle = None if options.allow_own_code else own_code or environments_obstacle(environments)
    if obstacle is not None:
        raise IrbenchError(
            f"{document.run_id} is not continued: {obstacle.text()}.",
            hint="Read it, then allow it with --allow-own-code.",
        )
    run_options = replace(stored, results=options.results, no_lock=options.no_lock)
    if not environments:
        return run_options
    versions = [environment["requirement"] or environment["python"] or INSTALLED for environment in environments]
    backend = (run_options.backends or (None,))[0]
    return replace(run_options, environments=Environments(backend, say, insist=options.no_lock).of(versions)[1])


def _require_unchanged(document: RunDocument, changes: Sequence[RunChange], root: Path) -> None:
    if changes:
        raise IrbenchError(
            changed_message(document.run_id, changes),
            hint=changed_remedy(document.run_id, changes, results_option(root)),
        )


def changed_message(run: str, changes: Sequence[RunChange]) -> str:
    """Return that a run cannot be continued, and what has changed since it was begun."""
    shown = [change.text(_value) for change in changes[:_MOST_CHANGES]]
    more = [f"{len(changes) - len(shown)} more"] if len(changes) > len(shown) else []
    return f"{run} cannot be continued, since something has changed: {'; '.join((*shown, *more))}."


def changed_remedy(run: str, changes: Sequence[RunChange], results: str) -> str:
    """Return what to do about changes."""
    other = f"egin another run; what was measured stays: irbench show {run}{results}"
    confinement = next((change for change in changes if isinstance(change, ConfinementChange)), None)
    if confinement is None or len(changes) > 1:
        return f"B{other}"
    return f"{confinement_remedy(is_set=bool(confinement.now))}, or b{other}"


def _value(value: Any) -> str:
    return "missing" if value is None else shorten(str(value), _LONGEST_VALUE)
