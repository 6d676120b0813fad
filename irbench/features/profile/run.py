"""``irbench.profile``: where the time of an inference goes, operator by operator."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import Any, Unpack

from irbench import __version__
from irbench.api.arguments import results_folder
from irbench.api.loaded_models import Model, model_name
from irbench.api.progress import GuardedListener, ProgressOption, Reporter, reporting
from irbench.core import registry
from irbench.core.record import Failure
from irbench.core.row import head_of
from irbench.errors import IrbenchError
from irbench.features.profile.counters.counted_launches import counted_profile
from irbench.features.profile.joining import ORIGINAL
from irbench.features.profile.keywords import ProfileKeywords
from irbench.features.profile.launches import Keep, ProfilePlan, ProfileTask, Profiling
from irbench.features.profile.options import PROFILE, ProfileSettings
from irbench.features.profile.profile_document import (
    PROFILE_VERSION,
    GraphNode,
    ProfiledCell,
    ProfileDocument,
    decode_profile,
    encode_profile,
)
from irbench.features.profile.profile_result import Profile
from irbench.measure.clock import Stopwatch, utc_now
from irbench.measure.lock import measuring
from irbench.notices.notes import NoOperatorTimes
from irbench.onnx.operator_classes import OperatorClass
from irbench.optimizer import UNOPTIMIZED
from irbench.options.option import names_keywords
from irbench.options.run import RunOptions
from irbench.requests.requested_counters import with_cycles
from irbench.requests.resolve import require_models
from irbench.requests.run_requests import planned, refuse_contradictions, requested
from irbench.runner.plan import PlannedGroup, with_rows
from irbench.runner.request import RunRequest
from irbench.runner.requested_cells import is_at_level
from irbench.runner.run_progress import Listener
from irbench.runs.measurement import refuse_within_a_worker
from irbench.runs.results import Interrupted
from irbench.runs.run_destination import describe_environment
from irbench.runs.work import known_peaks
from irbench.spec import Artifact, Cell, TensorSpec
from irbench.spi import ProfilingBackend
from irbench.stats.intervals import MOST_LAUNCHES
from irbench.stats.workload_facts import table_of
from irbench.store.file_errors import read_bytes
from irbench.store.folders import default_root, new_ulid
from irbench.store.profiles import PROFILE_FILE, begin_profile, find_profile
from irbench.system import host
from irbench.system.signals import signals_deferred
from irbench.worker.model_files import read_file
from irbench.worker.scratch import scratch_folder

_ENDED = ("interrupt", "failures")
"""Reasons of a profile to stop after which nothing is counted."""
_DEADLINE_S = 120.0
_ONNX = ("onnx",)


@names_keywords(PROFILE)
def profile(
    model: Model,
    *,
    progress: ProgressOption = "auto",
    **options: Unpack[ProfileKeywords],
) -> Profile:
    """Say where the time of an inference goes on each backend, operator by operator.

    Args:
        model: Anything that :func:`irbench.run` takes.
        progress: As :func:`irbench.run` takes it.
        options: What is compared and for how long, and those of a run that say what is profiled and how.

    Returns:
        The profile, which is stored.

    Raises:
        IrbenchError: The call is impossible and nothing was measured; or results cannot be stored.
        Interrupted: Ctrl-C; what was measured is stored, and in its ``result``.
        TypeError: There is no such option.
    """
    own, shared = PROFILE.read(options)
    with reporting(progress, PROFILE) as reporter:
        profiled = profile_with(ProfileSettings(**own), RunOptions(models=(model_name(model),), **shared), reporter)
    if profiled.interrupted:
        raise Interrupted(f"what was measured is stored: irbench.load_profile({profiled.id!r})", profiled)
    return profiled


def load_profile(name: str | PathLike[str] = "latest", *, results: str | PathLike[str] | None = None) -> Profile:
    """Return a stored profile.

    Args:
        name: Its id or the beginning of it, its file or folder, or ``"latest"``.
        results: The folder where results are kept; ``None`` for the usual place.

    Raises:
        IrbenchError: There is no such profile, or it is damaged.
    """
    path = find_profile(results_folder(results), str(name))
    return Profile(decode_profile(read_bytes(path, follow=path.name != PROFILE_FILE), str(path)), path.parent, path)


def profile_with(settings: ProfileSettings, run: RunOptions, reporter: Reporter) -> Profile:
    """Profile a model; an interrupt leaves the profile incomplete."""
    host.require_linux()
    refuse_within_a_worker()
    plan, options = _profile_plan(settings), _run_options(settings, run)
    refuse_contradictions(options)
    request = requested(options)
    request = replace(request, counting=with_cycles(request.counting))
    require_models(options.models, everything=False, imports=options.imports)
    name = ", ".join(Path(model).name for model in options.models)
    if plan.budget_s != ProfilePlan.budget_s:
        request = replace(request, timing=request.timing.within_budget(plan.budget_s))
    with measuring(f"profile {name}", insist=options.no_lock), scratch_folder() as folder:
        request, groups = planned(request, folder, reporter.say, reporter.status)
        table = with_capable_backends(groups[0], were_named=bool(options.backends))
        if not table.can_run:
            failure = next(iter(table.absent.values()))
            raise IrbenchError(f"Nothing can be profiled: {failure.message}.", hint=failure.hint or "")
        begun = _begun_profile(plan, settings.compare or (), request, table)
        writer = begin_profile(options.results or default_root(), begun.created, begun.profile_id)
        writer.commit(encode_profile(begun))
        listener = GuardedListener(reporter.show)
        task = ProfileTask(request, table, plan, folder / "profile", writer.logs)
        measured = _measured(task, begun, listener, lambda document: writer.commit(encode_profile(document)))
    if listener.error is not None:
        listener.error.add_note(f"Finished launches are stored: irbench.load_profile({measured.profile_id!r})")
        raise listener.error
    return Profile(measured, writer.folder, writer.folder / PROFILE_FILE)


def _measured(task: ProfileTask, begun: ProfileDocument, listen: Listener, keep: Keep) -> ProfileDocument:
    """Profile, and count where that is asked for; each may take half of the time then."""
    counting, plan = task.request.counting, task.plan
    if counting is None:
        return Profiling(task, begun, listen, keep).run()
    watch = Stopwatch()
    profiled = Profiling(replace(task, plan=replace(plan, budget_s=plan.budget_s / 2)), begun, listen, keep).run()
    if profiled.stopped_by in _ENDED:
        return profiled
    left_s = plan.budget_s - watch.elapsed_s
    launches = replace(counting, plan=replace(counting.plan, launches=plan.counted_launches))
    counted = replace(task, request=replace(task.request, counting=launches))
    counters = counted_profile(
        counted, profiled, left_s, listen, lambda counters: keep(replace(profiled, counters=counters))
    )
    is_interrupted = counters.stopped_by == "interrupt"
    whole = replace(profiled, counters=counters, stopped_by="interrupt" if is_interrupted else profiled.stopped_by)
    with signals_deferred():
        keep(whole)
    return whole


def _run_options(settings: ProfileSettings, run: RunOptions) -> RunOptions:
    """Return the settings of the run that is profiled: lists of one value, or the two levels that are compared."""
    if settings.compare and settings.optimize != UNOPTIMIZED:
        raise IrbenchError("--compare and `--optimize` cannot be combined.", hint="--compare names both levels.")
    lists: dict[str, Any] = {
        name: (value,)
        for name in ("batch", "threads", "precision", "optimize")
        if (value := getattr(settings, name)) is not None
    }
    return replace(run, **{**lists, **({"optimize": settings.compare} if settings.compare else {})})


def _profile_plan(settings: ProfileSettings) -> ProfilePlan:
    launches, usual = settings.launches, ProfilePlan()
    if launches is not None and launches > MOST_LAUNCHES:
        raise IrbenchError(
            f"A profile has at most {MOST_LAUNCHES} launches, not {launches}.", hint="Give fewer: --launches 20"
        )
    return ProfilePlan(
        launches=launches or usual.launches,
        inferences=settings.inferences or usual.inferences,
        budget_s=settings.budget or usual.budget_s,
        counted_launches=launches or usual.counted_launches,
    )


def with_capable_backends(planned: PlannedGroup, *, were_named: bool) -> PlannedGroup:
    """Return a table in which no cell is measured whose backend records no operators.

    Args:
        planned: The table.
        were_named: Whether the user named its backends: then such a cell fails at once, with the reason. Otherwise it
            is left out, with a note, unless nothing else is left.
    """
    unable = [cell for cell in planned.measured if not isinstance(registry.backend(cell.backend), ProfilingBackend)]
    if not unable:
        return planned
    if were_named or len(unable) == len(planned.measured):
        failures = {
            cell.id: Failure(
                "plan", f"{cell.backend} does not report how long operators take", "Leave it out of --backends."
            )
            for cell in unable
        }
        return replace(planned, absent={**planned.absent, **failures})
    out = {cell.id for cell in unable}
    note = NoOperatorTimes(backends=tuple(dict.fromkeys(cell.backend for cell in unable)))
    left = with_rows(planned, [cell.id for cell in planned.group.cells if cell.id not in out])
    return replace(left, notes=(*left.notes, note))


def _begun_profile(
    plan: ProfilePlan, compared: tuple[str, ...], request: RunRequest, planned: PlannedGroup
) -> ProfileDocument:
    """Return the document of a profile without a launch; graphs are read in processes of their own."""
    now, peaks = utc_now(), known_peaks()
    return table_of(
        ProfileDocument,
        planned.group.main,
        profile_version=PROFILE_VERSION,
        profile_id=new_ulid(now),
        created=now.isoformat(timespec="seconds"),
        irbench_version=__version__,
        inferences=plan.inferences,
        launches=plan.launches,
        environment=describe_environment(),
        plan=request.as_plan(),
        graphs=dict(_graphs(planned)),
        cells=tuple(_cell(cell, compared, planned) for cell in planned.group.cells),
        compared=compared,
        kinds=dict(_kinds(planned.group.cells)),
        notes=planned.notes,
        peaks=None if peaks is None else replace(peaks, samples=()),
    )


def _cell(cell: Cell, compared: Sequence[str], planned: PlannedGroup) -> ProfiledCell:
    artifact = cell.artifact
    level = next((level for level in compared if is_at_level(cell, level)), _level_of(artifact))
    return head_of(
        ProfiledCell,
        cell,
        level=level,
        graph=_level_of(artifact) if artifact is not None and artifact.kind in _ONNX else ORIGINAL,
        failure=planned.absent.get(cell.id),
    )


def _level_of(artifact: Artifact | None) -> str:
    return (artifact.variant if artifact is not None else "") or UNOPTIMIZED


def _graphs(planned: PlannedGroup) -> Iterator[tuple[str, tuple[GraphNode, ...]]]:
    """Yield each graph that cells run, and the exported one, in which those of other forms are counted too."""
    main = planned.group.main
    artifacts = {
        _level_of(cell.artifact): cell.artifact
        for cell in planned.measured
        if cell.artifact is not None and cell.artifact.kind in _ONNX
    }
    exported = main.bundle.artifact(_ONNX)
    if ORIGINAL not in artifacts and exported is not None:
        artifacts[ORIGINAL] = exported
    for level, artifact in artifacts.items():
        made_from = None if level == ORIGINAL or exported is None else exported.path
        yield level, _read(artifact.path, tuple(spec.bind(main.sizes) for spec in artifact.inputs), made_from)


def _read(path: Path, inputs: tuple[TensorSpec, ...], made_from: Path | None) -> tuple[GraphNode, ...]:
    target, returns = "irbench.features.profile.joining:read_graph", tuple[GraphNode, ...]
    try:
        nodes: tuple[GraphNode, ...] = read_file(
            target, path, inputs, made_from, returns=returns, imports=("onnx",), deadline_s=_DEADLINE_S
        )
    except IrbenchError as error:
        raise IrbenchError(f"The nodes of {path.name} cannot be read: {error.message}", hint=error.hint) from error
    return nodes


def _kinds(cells: Sequence[Cell]) -> Iterator[tuple[str, Mapping[str, OperatorClass]]]:
    for backend in dict.fromkeys(cell.backend for cell in cells):
        reported = registry.describe(registry.BACKENDS, backend).operator_kinds
        yield backend, {kind: OperatorClass(name) for kind, name in reported.items()}
