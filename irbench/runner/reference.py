"""Where the expected outputs of a group come from."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from irbench import bundles, registry
from irbench.degenerate_outputs import degenerate_outputs
from irbench.errors import IrbenchError
from irbench.feeds import POOL, repeat_pool
from irbench.notices import Reference, Warn
from irbench.onnx.rewriting.bind import with_sizes
from irbench.runner.binding import bind_apart
from irbench.spec import BATCH, Artifact, Feeding, Group
from irbench.spi import Outputs
from irbench.worker.process import CallFailed, WorkerDied, call_in_worker

__all__ = ["Expected", "expected_outputs"]


@dataclass(frozen=True)
class Expected:
    """The outputs that every cell is compared with.

    Attributes:
        outputs: In the order of the model's outputs; ``None`` where no reference could answer.
        source: Where they come from; ``None`` without outputs.
        warnings: What a reader must know about them.
    """

    outputs: Outputs | None
    source: Reference | None
    warnings: tuple[Warn, ...] = ()


def expected_outputs(group: Group, scratch: Path, deadline_s: float) -> Expected:
    """Return the stored outputs of the original framework where they fit the sizes, else a reference backend's.

    Args:
        group: What will be measured.
        scratch: Where a copy of the model with bound shapes may be written.
        deadline_s: For each reference backend.
    """
    stored = _stored(group)
    if stored is not None:
        origin = Reference("export", str(group.bundle.details.get("framework") or "the original model"))
        return Expected(stored, origin, tuple(_doubts(stored, group)))
    refusals: list[dict[str, str]] = []
    for name in registry.references_in_order():
        try:
            answer = _computed(name, group, scratch, deadline_s)
            label = registry.describe(registry.REFERENCES, name).reference_name
            return Expected(answer, Reference("backend", name, label), tuple(_doubts(answer, group)))
        except IrbenchError as error:
            refusals.append({"reference": name, "message": error.message})
    return Expected(None, None, (Warn("unverified", {"model": group.bundle.name, "refusals": refusals}),))


def _doubts(outputs: Outputs, group: Group) -> Iterator[Warn]:
    """Warn of expected outputs with which nearly any answer agrees."""
    found = tuple(degenerate_outputs(outputs))
    if found:
        names = [spec.name for spec in group.bundle.artifacts[0].outputs]
        rows = [{**asdict(row), "output": names[row.output]} for row in found]
        yield Warn("degenerate-outputs", {"model": group.bundle.name, "of": len(outputs), "outputs": rows})


def _stored(group: Group) -> Outputs | None:
    bundle = group.bundle
    sizes = {name: size for name, size in group.sizes.items() if name != BATCH}
    defaults = {name: size for name, size in bundle.defaults.items() if name != BATCH}
    if bundle.reference is None or group.feeding != Feeding(bundle.seed) or sizes != defaults:
        return None
    outputs = bundles.reference_outputs(bundle)
    if outputs is None:
        return None
    if any(output.shape[:1] != (POOL,) for output in outputs):
        raise IrbenchError(
            f"The reference outputs of {bundle.name} do not match its {POOL} samples.",
            hint=f"Export the model again: irbench export {bundle.source or bundle.name} --force",
        )
    return repeat_pool(outputs, group.batch)


def _computed(name: str, group: Group, scratch: Path, deadline_s: float) -> Outputs:
    artifact = group.bundle.artifact(registry.reference(name).consumes)
    if artifact is None:
        raise IrbenchError("cannot read the model")
    planned = (cell.artifact for cell in group.cells if cell.artifact is not None)
    bound = next((cell for cell in planned if cell.label == artifact.label), None)
    bound = bound or bind_apart(artifact, group.sizes, scratch)
    try:
        return _answer(name, bound, group, deadline_s)
    except (CallFailed, WorkerDied):  # as a row, which tries the graph with dynamic shapes too
        dynamic = with_sizes(artifact, group.sizes)
        if dynamic.path == bound.path:
            raise
        return _answer(name, dynamic, group, deadline_s)


def _answer(name: str, artifact: Artifact, group: Group, deadline_s: float) -> Outputs:
    target = "irbench.worker.reference:answer"
    answer: Outputs = call_in_worker(
        target, name, artifact, group.bundle, dict(group.sizes), group.feeding, deadline_s=deadline_s
    )
    return answer
