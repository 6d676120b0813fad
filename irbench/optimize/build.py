"""The coordinator's side of an optimisation: has a worker do it, and keeps what came out by what went in."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from importlib import metadata
from pathlib import Path
from typing import Any

import msgspec

from irbench import bundles, registry
from irbench.errors import ExitCode, IrbenchError
from irbench.files import write_atomically
from irbench.ir import signature
from irbench.ir.bind import bind
from irbench.measure.clock import utc_now
from irbench.optimize.agreement import caution
from irbench.optimize.recipe import Recipe
from irbench.optimize.work import RESULT, Task, Work
from irbench.record import Agreement, GraphStep
from irbench.spec import BATCH, Artifact, Bundle
from irbench.worker import WorkerDied, call_in_worker

__all__ = ["LINEAGE", "Lineage", "Optimized", "optimize"]

LINEAGE = "lineage.json"
_FORMAT = 2
_DEADLINE_S = 3600.0
_TOOLS = ("irbench", "onnx", "onnx-ir", "onnxscript", "onnxruntime")
_FOLDER = "optimized"

Say = Callable[[str], None]


@dataclass(frozen=True)
class Lineage:
    """Where an optimised graph comes from; stands beside it as ``lineage.json``.

    Attributes:
        key: Digest of everything that decides what comes out.
        source_sha256: Of the graph that was optimised.
        model_sha256: Of the graph that came out.
        recipe: What was asked for.
        sizes: The free dimensions that were bound first.
        steps: What each pass did.
        versions: Of the tools.
        created: ISO 8601, UTC.
        agreement: What the conversion to another precision costs; ``None`` without one.
    """

    key: str
    source_sha256: str
    model_sha256: str
    recipe: Recipe
    sizes: Mapping[str, int]
    steps: tuple[GraphStep, ...]
    versions: Mapping[str, str]
    created: str
    agreement: Agreement | None = None

    @property
    def caution(self) -> str | None:
        """In what the converted graph fails, a mark of its row; ``None`` where it answers well."""
        conversion = self.recipe.conversion
        if conversion is None or self.agreement is None:
            return None
        return caution(self.agreement.error, conversion.precision)


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
    versions = _versions()
    source = artifact.sha256 or bundles.digest(artifact.path)
    key = _key(source, sizes, asked, versions)
    place = _home_of(artifact) / key[:32]
    found = _existing(place, key)
    if found is None:
        lineage = Lineage(key, source, "", asked, dict(sizes), (), versions, utc_now().isoformat(timespec="seconds"))
        found = _make(bundle, artifact, lineage, place, say)
    return Optimized(_artifact(artifact, place / RESULT, found), found)


def _make(bundle: Bundle, artifact: Artifact, lineage: Lineage, place: Path, say: Say) -> Lineage:
    folder = bundles.staging(place)
    try:
        bound = bind(artifact, lineage.sizes, folder / "bound") if lineage.sizes else artifact
        everything = {BATCH: 1, **bundle.defaults, **lineage.sizes}
        task = Task(bound, bundle, everything, lineage.recipe, folder, registry.references_in_order()[0])
        done = _call(task, say)
        shutil.rmtree(folder / "bound", ignore_errors=True)
        digest = bundles.digest(folder / RESULT)
        lineage = replace(lineage, steps=done.steps, model_sha256=digest, agreement=done.agreement)
        write_atomically(folder / LINEAGE, msgspec.json.format(msgspec.json.encode(lineage), indent=2) + b"\n")
        shutil.rmtree(place, ignore_errors=True)
        folder.rename(place)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return lineage


def _call(task: Task, say: Say) -> Work:
    name = task.bundle.name
    try:
        done: Work = call_in_worker(
            "irbench.optimize.work:work", task, deadline_s=_DEADLINE_S, say=lambda text: say(f"{name}: {text}")
        )
    except WorkerDied as death:
        raise IrbenchError(f"Optimising {name} failed. {death.message}", hint=death.hint) from death
    return done


def _artifact(original: Artifact, path: Path, lineage: Lineage) -> Artifact:
    found = signature.read(path)
    return replace(
        original,
        path=path,
        inputs=tuple(spec.bind(lineage.sizes) for spec in original.inputs),
        outputs=tuple(spec.bind(lineage.sizes) for spec in original.outputs),
        passes=tuple(step.name for step in lineage.steps if step.modified),
        domains=tuple(sorted({step.vendor for step in lineage.steps if step.vendor})),
        variant=lineage.recipe.name,
        sha256=lineage.model_sha256,
        opset=found.opset,
        caution=lineage.caution or "",
    )


def _home_of(artifact: Artifact) -> Path:
    """Return where a graph's descendants are kept: with its bundle, or, for other files, with irbench."""
    folder = artifact.path.parent
    return (folder if (folder / bundles.CARD).is_file() else bundles.home()) / _FOLDER


def _existing(place: Path, key: str) -> Lineage | None:
    try:
        lineage = msgspec.json.decode((place / LINEAGE).read_bytes(), type=Lineage)
    except (OSError, msgspec.MsgspecError):
        return None
    intact = lineage.key == key and lineage.model_sha256 == bundles.digest(place / RESULT)
    return lineage if intact else None


def _key(source: str, sizes: Mapping[str, int], asked: Recipe, versions: Mapping[str, str]) -> str:
    described: dict[str, Any] = {
        "format": _FORMAT,
        "source": source,
        "sizes": dict(sizes),
        "recipe": asdict(asked),
        "versions": dict(versions),
    }
    return hashlib.sha256(json.dumps(described, sort_keys=True).encode()).hexdigest()


def _versions() -> dict[str, str]:
    """Return the versions of the tools.

    Raises:
        IrbenchError: One of them is not installed.
    """
    try:
        return {name: metadata.version(name) for name in _TOOLS}
    except metadata.PackageNotFoundError as error:
        raise IrbenchError(
            f"Optimising needs {error.name}, which is not installed.",
            hint="Install it with: pip install 'irbench[optimize]'",
            exit_code=ExitCode.NOT_INSTALLED,
        ) from error
