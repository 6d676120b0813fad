"""The coordinator's side of an optimisation: run it in a worker, and cache the result under a key of its inputs."""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from shlex import quote

from irbench.core.feeds import random_draws
from irbench.core.graph_record import OptimizerActivity
from irbench.errors import IrbenchError
from irbench.measure.clock import utc_now
from irbench.optimizer.cache_key import Tools, find_tools, key_of, require_operators
from irbench.optimizer.calibration_samples import GENERATED, CheckInputs
from irbench.optimizer.check_sizes import base_sizes
from irbench.optimizer.inputs_to_nchw import as_nchw
from irbench.optimizer.job import MODEL_FILE, OptimizationJob, OptimizationOutcome
from irbench.optimizer.lineage import Lineage, digest_of_source, folders_for, places_for, read_intact, write_lineage
from irbench.optimizer.recipe import Recipe
from irbench.optimizer.step_check import OriginalRefused
from irbench.spec import BATCH, RANDOM_SWITCH, RANDOM_SWITCH_OFF, Artifact, Bundle, Feeding
from irbench.store import bundles
from irbench.system.file_access import move_folder
from irbench.worker import WorkerDied, call_in_worker
from irbench.worker.model_files import bound_shapes, read_signature
from irbench.worker.requested_confinement import confinement_to, take_files

_TARGET = "irbench.optimizer.pipeline:run_job_in_limited_memory"
_DEADLINE_S = 3600.0
_DYNAMIC_BATCH = 2

Report = Callable[[OptimizerActivity], None]


@dataclass(frozen=True)
class Optimized:
    """An optimised graph."""

    artifact: Artifact
    lineage: Lineage


def optimize(
    bundle: Bundle, sizes: Mapping[str, int], recipe: Recipe, report: Report, inputs: CheckInputs | None = None
) -> Optimized:
    """Return the bundle's graph after the recipe's passes, made now unless it was made before from the same things.

    One from which a pass was left out is made again: not every crash would be repeated.

    Paths of the bundle are absolute. The dimensions in ``sizes`` are bound before anything is done; others stay
    dynamic. ``report`` hears of an optimisation before it starts anything, and of nothing where a graph is kept; it may
    raise to prevent it.
    """
    inputs = inputs or GENERATED
    artifact = _graph(bundle, inputs.feeding)
    tools = find_tools(recipe)
    source = digest_of_source(artifact)
    key = key_of(source, bundle, sizes, recipe, tools, inputs)
    for folder in folders_for(artifact):
        kept = read_intact(folder / key[:32], key)
        if kept is not None and not kept.left_out:
            return Optimized(_artifact(artifact, folder / key[:32] / MODEL_FILE, kept), kept)
    report(OptimizerActivity("start", recipe.name, bundle.name))
    require_operators(recipe, tools.reference)
    created = utc_now().isoformat(timespec="milliseconds")  # several may be made within a second
    lineage = Lineage(key, source, "", recipe, dict(sizes), (), tools.versions, created)
    lineage = replace(lineage, data=inputs.feeding.source, data_sha256=inputs.feeding.sha256)
    path, lineage = _make(bundle, artifact, lineage, tools, report, inputs)
    report(_done(bundle, lineage))
    return Optimized(_artifact(artifact, path, lineage), lineage)


def _done(bundle: Bundle, lineage: Lineage) -> OptimizerActivity:
    first, *steps = lineage.steps
    changed = sum(step.modified for step in steps)
    nodes = (first.nodes, lineage.steps[-1].nodes)
    return OptimizerActivity("done", lineage.recipe.name, bundle.name, (len(steps), changed), nodes)


def _graph(bundle: Bundle, feeding: Feeding) -> Artifact:
    artifact = bundle.artifact(("onnx",))
    if artifact is None:
        raise IrbenchError(
            f"{bundle.name} contains no ONNX graph.",
            hint=f"Export it: irbench export {quote(bundle.source or bundle.name)}",
        )
    draws = random_draws(bundle, feeding)
    if draws:
        switch, value = bundle.details.get(RANDOM_SWITCH), bundle.details.get(RANDOM_SWITCH_OFF) or 0
        off = f"pass --value {quote(str(switch))}={value}" if switch else "export a model that draws only in training"
        raise IrbenchError(
            f"{bundle.name} draws random numbers ({draws}), so no pass can be checked: its outputs always differ.",
            hint=f"Measure it without --optimize, or {off}.",
        )
    return artifact


def _make(
    bundle: Bundle, artifact: Artifact, lineage: Lineage, tools: Tools, report: Report, inputs: CheckInputs
) -> tuple[Path, Lineage]:
    with _staging(artifact, lineage.key[:32]) as (target, folder):
        with _written_in(target.parent):
            bound = bound_shapes(artifact, lineage.sizes, folder / "bound") if lineage.sizes else artifact
        known = inputs.sizes or _sizes_of_check(bound, bundle, lineage.sizes)
        job = OptimizationJob(
            artifact=bound,
            bundle=bundle,
            sizes=known,
            recipe=lineage.recipe,
            folder=folder,
            reference=tools.reference,
            quantizer=tools.quantizer,
            feeding=inputs.feeding,
            candidates=tuple(base_sizes(bound.inputs, known)),
        )
        outcome = _call(job, report)
        shutil.rmtree(folder / "bound", ignore_errors=True)
        lineage = replace(lineage, steps=outcome.steps, nchw_inputs=outcome.nchw_inputs, agreement=outcome.agreement)
        lineage = replace(lineage, checked=outcome.checked, fuses_when_bound=outcome.fuses_when_bound)
        with _written_in(target.parent):
            lineage = _keep(folder, target, write_lineage(lineage, folder))
    return target / MODEL_FILE, lineage


@contextlib.contextmanager
def _written_in(parent: Path) -> Iterator[None]:
    """Turn a failure to write into ``parent`` into an error with a remedy."""
    try:
        yield
    except OSError as error:
        raise IrbenchError(
            f"The result cannot be stored in {parent}: {error.strerror or error}.",
            hint="Free some space there, or set IRBENCH_HOME to another folder.",
        ) from error


def _sizes_of_check(bound: Artifact, bundle: Bundle, sizes: Mapping[str, int]) -> dict[str, int]:
    """Return the sizes that are known; a batch of 1 would hide broadcasting along a dynamic batch."""
    batch = _DYNAMIC_BATCH if any(BATCH in spec.dynamic_dimensions for spec in bound.inputs) else 1
    return {BATCH: batch, **bundle.defaults, **sizes}


def _keep(folder: Path, target: Path, lineage: Lineage) -> Lineage:
    """Move a result to ``target`` and return its lineage, or that of one as good if another process was first."""
    try:
        move_folder(folder, target)
    except OSError:  # a folder that holds files is not replaced by a rename
        return _as_good(target, lineage) or _replace(folder, target, lineage)
    return lineage


def _as_good(folder: Path, lineage: Lineage) -> Lineage | None:
    existing = read_intact(folder, lineage.key)
    return existing if existing is not None and existing.left_out <= lineage.left_out else None


def _replace(folder: Path, target: Path, lineage: Lineage) -> Lineage:
    """Do as :func:`_keep` where a damaged result lies, or a worse one, which another process may be replacing too."""
    with bundles.staging(target) as aside:
        try:
            with contextlib.suppress(FileNotFoundError):  # the other one has put it aside
                target.rename(aside)
            existing = _as_good(aside, lineage)  # the other one has replaced it, and may have handed it out
            move_folder(folder if existing is None else aside, target)
        except OSError:
            existing = read_intact(target, lineage.key)
            if existing is None:
                raise
    return existing or lineage


@contextlib.contextmanager
def _staging(artifact: Artifact, name: str) -> Iterator[tuple[Path, Path]]:
    """Yield where a result will lie, in the first folder that can be written, and a new folder to make it in."""
    with contextlib.ExitStack() as stack:
        yield _in_first_writable((place / name for place in places_for(artifact)), stack)


def _in_first_writable(targets: Iterable[Path], stack: contextlib.ExitStack) -> tuple[Path, Path]:
    problem: IrbenchError | None = None
    for target in targets:
        try:
            return target, stack.enter_context(bundles.staging(target))
        except IrbenchError as error:
            problem = error
    assert problem is not None, "there is irbench's own folder at least"
    raise problem


def _call(job: OptimizationJob, report: Report) -> OptimizationOutcome:
    """Run a job in a worker, again without the passes in which a runtime ended its process."""
    last = OptimizerActivity("start")

    def hear(activity: OptimizerActivity) -> None:
        nonlocal last
        last = activity
        report(replace(activity, model=job.bundle.name))

    while True:
        last = OptimizerActivity("start")
        try:
            outcome = _ask(job, hear)
        except WorkerDied as death:
            job = _after_crash(job, last, death)
            continue
        if outcome.refused is not None:
            message, hint = outcome.refused
            raise OriginalRefused(message, hint=hint)
        return outcome


def _ask(job: OptimizationJob, hear: Callable[[OptimizerActivity], None]) -> OptimizationOutcome:
    confinement = confinement_to(job.artifact, job.feeding.samples, (job.folder,))
    try:
        outcome: OptimizationOutcome = call_in_worker(
            _TARGET,
            job,
            deadline_s=_DEADLINE_S,
            say=hear,
            confinement=confinement,
            returns=OptimizationOutcome,
            says=OptimizerActivity,
        )
    finally:  # also where it died: it is tried again, with a graph that lies there
        if confinement is not None:
            take_files(job.folder)
    return outcome


def _after_crash(job: OptimizationJob, last: OptimizerActivity, death: WorkerDied) -> OptimizationJob:
    """Return what to try after a process ended: without the pass that ran, or so that it shows which one it was."""
    if death.crash is not None and last.code == "check" and not job.checks_all_after_each_pass:
        return replace(job, checks_all_after_each_pass=True)
    if death.crash is not None and last.code == "pass" and last.name in {*job.recipe.passes} - {*job.left_out}:
        return replace(job, left_out={**job.left_out, last.name: death.crash})
    raise _failed(job, last, death) from death


def _failed(job: OptimizationJob, last: OptimizerActivity, death: WorkerDied) -> IrbenchError:
    others = ",".join(name for name in job.recipe.passes if name != last.name)
    remedy = f"Leave it out: `--passes {others}`" if last.code == "pass" and others else ""
    return death.during(f"Optimising {job.bundle.name} failed at {last.name or last.code}.", remedy)


def _artifact(original: Artifact, path: Path, lineage: Lineage) -> Artifact:
    signature = read_signature(path)
    bound = replace(
        original,
        path=path,
        inputs=tuple(spec.bind(lineage.sizes) for spec in original.inputs),
        outputs=tuple(spec.bind(lineage.sizes) for spec in original.outputs),
        passes=tuple(step.name for step in lineage.steps if step.modified),
        domains=lineage.domains,
        variant=lineage.recipe.name,
        sha256=lineage.model_sha256,
        opset=signature.opset,
        disagreement=lineage.disagreement,
    )
    return as_nchw(bound, lineage.nchw_inputs)
