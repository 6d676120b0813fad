"""Where the expected outputs of a group come from."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from irbench import bundles, registry
from irbench.degenerate_outputs import degenerate_outputs
from irbench.errors import IrbenchError
from irbench.feeds import POOL, logical_inputs, repeat_pool
from irbench.notices import Reference, Warn
from irbench.onnx.rewriting.bind import with_sizes
from irbench.output_check import input_scale
from irbench.runner.binding import bind_apart
from irbench.spec import BATCH, Artifact, Feeding, Group
from irbench.spi import Outputs
from irbench.worker.process import CallFailed, WorkerDied, call_in_worker

__all__ = ["Expected", "expected_outputs"]


@dataclass(frozen=True)
class Expected:
    """The outputs that every cell is compared with.

    Attributes:
        outputs: For each call that is checked, in the order of the model's outputs; ``None`` where no reference could
            answer.
        source: Where they come from; ``None`` without outputs.
        warnings: What a reader must know about them.
        scale: Size of the inputs, which small outputs are compared with: :func:`irbench.output_check.input_scale`.
    """

    outputs: tuple[Outputs, ...] | None
    source: Reference | None
    warnings: tuple[Warn, ...] = ()
    scale: float = 1.0


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
        return _expected((stored,), origin, group)
    refusals: list[dict[str, str]] = []
    for name in registry.references_in_order():
        try:
            answer = _computed(name, group, scratch, deadline_s)
            label = registry.describe(registry.REFERENCES, name).reference_name
            return _expected(answer, Reference("backend", name, label), group)
        except IrbenchError as error:
            refusals.append({"reference": name, "message": error.message})
    return Expected(None, None, (Warn("unverified", {"model": group.bundle.name, "refusals": refusals}),))


def _expected(outputs: tuple[Outputs, ...], source: Reference, group: Group) -> Expected:
    feeding = group.feeding
    scale = max(
        input_scale(logical_inputs(group.bundle.inputs, group.sizes, feeding, sample))
        for sample in range(feeding.count)
    )
    return Expected(outputs, source, tuple(_doubts(outputs, group, scale)), scale)


def _doubts(outputs: tuple[Outputs, ...], group: Group, scale: float) -> Iterator[Warn]:
    """Warn of outputs with which nearly any answer agrees, whatever the call."""
    first, *others = (tuple(degenerate_outputs(call, scale)) for call in outputs)
    found = [row for row in first if all(row.output in {other.output for other in call} for call in others)]
    if found:
        names = [spec.name for spec in group.bundle.artifacts[0].outputs]
        rows = [{**asdict(row), "output": names[row.output]} for row in found]
        yield Warn("degenerate-outputs", {"model": group.bundle.name, "of": len(outputs[0]), "outputs": rows})


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


def _computed(name: str, group: Group, scratch: Path, deadline_s: float) -> tuple[Outputs, ...]:
    artifact = group.bundle.artifact(registry.reference(name).consumes)
    if artifact is None:
        raise IrbenchError("cannot read the model")
    planned = (cell.artifact for cell in group.cells if cell.artifact is not None)
    bound = next((cell for cell in planned if cell.label == artifact.label), None)
    bound = bound or bind_apart(artifact, group.sizes, scratch)
    try:
        return _answers(name, bound, group, deadline_s)
    except (CallFailed, WorkerDied):  # as a row, which tries the graph with dynamic shapes too
        dynamic = with_sizes(artifact, group.sizes)
        if dynamic.path == bound.path:
            raise
        return _answers(name, dynamic, group, deadline_s)


def _answers(name: str, artifact: Artifact, group: Group, deadline_s: float) -> tuple[Outputs, ...]:
    target = "irbench.worker.reference:answers"
    answers: tuple[Outputs, ...] = call_in_worker(
        target, name, artifact, group.bundle, dict(group.sizes), group.feeding, deadline_s=deadline_s
    )
    return answers
