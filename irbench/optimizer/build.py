"""The coordinator's side of an optimisation: has a worker do it, and keeps what came out by what went in."""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from irbench import bundles, registry
from irbench.activity import OptimizerStep
from irbench.errors import IrbenchError
from irbench.measure.clock import utc_now
from irbench.onnx import signature
from irbench.onnx.bind import bind
from irbench.optimizer.key import key_of, versions_of_tools
from irbench.optimizer.layout import as_nchw
from irbench.optimizer.lineage import Lineage, digest_of_source, folders_for, read_intact, write_lineage
from irbench.optimizer.recipe import Recipe
from irbench.optimizer.task import RESULT, OptimizerAnswer, Task
from irbench.render.progress import optimizer_step_text
from irbench.spec import BATCH, Artifact, Bundle
from irbench.worker import WorkerDied, call_in_worker

__all__ = ["Optimized", "optimize"]

_DEADLINE_S = 3600.0
_FREE_BATCH = 2

Say = Callable[[str], None]


@dataclass(frozen=True)
class Optimized:
    """An optimised graph.

    Attributes:
        artifact: It, with an absolute path and the names of the passes that changed something.
        lineage: How it was made.
    """

    artifact: Artifact
    lineage: Lineage


def optimize(bundle: Bundle, sizes: Mapping[str, int], asked: Recipe, say: Say) -> Optimized:
    """Return the bundle's graph after the recipe's passes, made now unless it was made before from the same things.

    Args:
        bundle: Its paths are absolute.
        sizes: Free dimensions to bind before anything is done; the others stay free.
        asked: What to do.
        say: Hears progress, a few words at a time.

    Raises:
        IrbenchError: The bundle holds no ONNX graph, a tool is missing, or a pass fails or breaks the model.
    """
    artifact = bundle.artifact(("onnx",))
    if artifact is None:
        raise IrbenchError(f"{bundle.name} holds no ONNX graph.", hint="Export it: irbench export MODEL")
    versions = versions_of_tools()
    source = digest_of_source(artifact)
    key = key_of(source, bundle, sizes, asked, versions)
    for folder in folders_for(artifact):
        found = read_intact(folder / key[:32], key)
        if found is not None:
            return Optimized(_artifact(artifact, folder / key[:32] / RESULT, found), found)
    created = utc_now().isoformat(timespec="seconds")
    lineage = Lineage(key, source, "", asked, dict(sizes), (), versions, created)
    path, lineage = _make(bundle, artifact, lineage, say)
    return Optimized(_artifact(artifact, path, lineage), lineage)


def _make(bundle: Bundle, artifact: Artifact, lineage: Lineage, say: Say) -> tuple[Path, Lineage]:
    place, folder = _staging(artifact, lineage.key[:32])
    try:
        with _written_in(place.parent):
            bound = bind(artifact, lineage.sizes, folder / "bound") if lineage.sizes else artifact
        sizes = _sizes_of_proof(bound, bundle, lineage.sizes)
        task = Task(bound, bundle, sizes, lineage.recipe, folder, registry.references_in_order()[0])
        done = _call(task, say)
        shutil.rmtree(folder / "bound", ignore_errors=True)
        lineage = replace(lineage, steps=done.steps, turned=done.turned, agreement=done.agreement)
        with _written_in(place.parent):
            lineage = _keep(folder, place, write_lineage(lineage, folder))
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return place / RESULT, lineage


@contextlib.contextmanager
def _written_in(parent: Path) -> Iterator[None]:
    """Say of a folder that cannot be written what would help."""
    try:
        yield
    except OSError as error:
        raise IrbenchError(
            f"The result cannot be kept in {parent}: {error.strerror or error}.",
            hint="Make room there, or set IRBENCH_HOME to a folder of yours.",
        ) from error


def _sizes_of_proof(bound: Artifact, bundle: Bundle, sizes: Mapping[str, int]) -> dict[str, int]:
    """Return a size for every dimension; a batch of 1 would hide what is broadcast along a batch that stays free."""
    batch = _FREE_BATCH if any(BATCH in spec.dynamic_dimensions for spec in bound.inputs) else 1
    return {BATCH: batch, **bundle.defaults, **sizes}


def _keep(folder: Path, place: Path, lineage: Lineage) -> Lineage:
    """Move a result to its place and return its lineage, or that of the same result if another process was first.

    Raises:
        OSError: It cannot be moved there.
    """
    try:
        folder.rename(place)
    except OSError:  # a folder that holds files is not replaced by a rename
        return read_intact(place, lineage.key) or _replace_damaged(folder, place, lineage)
    return lineage


def _replace_damaged(folder: Path, place: Path, lineage: Lineage) -> Lineage:
    """Do as :func:`_keep` where a damaged result lies, which another process may be replacing too."""
    aside = bundles.staging(place)
    try:
        with contextlib.suppress(FileNotFoundError):  # the other one has put it aside
            place.rename(aside)
        found = read_intact(aside, lineage.key)  # the other one has replaced it, and may have handed it out
        (folder if found is None else aside).rename(place)
    except OSError:
        found = read_intact(place, lineage.key)
        if found is None:
            raise
    finally:
        shutil.rmtree(aside, ignore_errors=True)
    return found or lineage


def _staging(artifact: Artifact, name: str) -> tuple[Path, Path]:
    """Return where a result will lie, in the first folder that can be written, and a new folder to make it in."""
    first, *others = (folder / name for folder in folders_for(artifact))
    for place in others:
        with contextlib.suppress(IrbenchError):
            return first, bundles.staging(first)
        first = place
    return first, bundles.staging(first)


def _call(task: Task, say: Say) -> OptimizerAnswer:
    name = task.bundle.name
    last: OptimizerStep | None = None

    def hear(step: OptimizerStep) -> None:
        nonlocal last
        last = step
        say(f"{name}: {optimizer_step_text(step)}")

    try:
        done: OptimizerAnswer = call_in_worker(
            "irbench.optimizer.work:work_in_bounds", task, deadline_s=_DEADLINE_S, say=hear
        )
    except WorkerDied as death:
        failed = last.name if last is not None and last.code == "pass" else None
        others = ",".join(graph_pass for graph_pass in task.recipe.passes if graph_pass != failed)
        remedy = f" Leave it out: --passes {others}" if others and failed in task.recipe.passes else ""
        raise IrbenchError(
            f"Optimising {name} failed at {optimizer_step_text(last)}. {death.message}",
            hint=f"{death.hint}{remedy}".strip(),
        ) from death
    return done


def _artifact(original: Artifact, path: Path, lineage: Lineage) -> Artifact:
    found = signature.read(path)
    bound = replace(
        original,
        path=path,
        inputs=tuple(spec.bind(lineage.sizes) for spec in original.inputs),
        outputs=tuple(spec.bind(lineage.sizes) for spec in original.outputs),
        passes=tuple(step.name for step in lineage.steps if step.modified),
        domains=lineage.domains,
        variant=lineage.recipe.name,
        sha256=lineage.model_sha256,
        opset=found.opset,
        caution=lineage.caution or "",
    )
    return as_nchw(bound, lineage.turned)
