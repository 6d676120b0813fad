"""Where the expected outputs of a group come from."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from shlex import quote
from typing import Any

from irbench.core import registry
from irbench.core.feeds import POOL, holds_pool, logical_inputs, random_draws, repeat_pool
from irbench.core.generation_check import compare_generations
from irbench.core.output_check import compare, degenerate_outputs, input_scale, is_excused, judge
from irbench.core.record import CellLaunch, Failure, OutputError
from irbench.errors import IrbenchError
from irbench.notices import Reference, Warn
from irbench.notices.warnings import DegenerateOutputs, DegenerateRow, Refused, Unverified
from irbench.onnx.rewriting.bind import with_sizes
from irbench.spec import (
    BATCH,
    RANDOM_SWITCH,
    RANDOM_SWITCH_OFF,
    Artifact,
    Bundle,
    Cell,
    Feeding,
    Group,
    Scalar,
    Workload,
)
from irbench.spec.generation import GenerationArtifact
from irbench.spec.training import TRAINING
from irbench.spi import Description, Outputs
from irbench.stats.workload_facts import given_inputs
from irbench.store import bundles
from irbench.worker.failures import CallFailed, WorkerDied, unreadable_answer
from irbench.worker.feed_turns import BrokenLoop
from irbench.worker.model_files import bound_shapes
from irbench.worker.process import call_in_worker
from irbench.worker.requested_confinement import confinement_to


@dataclass(frozen=True)
class ReferenceOutputs:
    """The outputs that every cell is compared with.

    Attributes:
        outputs: For each call that is checked, in the order of the model's outputs; ``None`` where no reference could
            answer.
        source: Where they come from; ``None`` without outputs.
        scale: Size of the inputs, which small outputs are compared with: :func:`irbench.core.output_check.input_scale`.
    """

    outputs: tuple[Outputs, ...] | None
    source: Reference | None
    warnings: tuple[Warn, ...] = ()
    scale: float = 1.0


def expected_outputs(workload: Workload, cells: Sequence[Cell], scratch: Path, deadline_s: float) -> ReferenceOutputs:
    """Return the stored outputs of the original framework where they fit, its own for given inputs, else a reference's.

    The graphs of ``cells`` have their shapes bound; ``deadline_s`` is for each backend.

    Raises:
        BrokenLoop: An output cannot be fed back, on no backend.
    """
    if workload.bundle.workload == TRAINING:  # whether its loss falls is checked before
        return ReferenceOutputs(None, None)
    draws = random_draws(workload.bundle, workload.feeding)
    if draws:
        details = workload.bundle.details
        switch, off = str(details.get(RANDOM_SWITCH) or ""), int(details.get(RANDOM_SWITCH_OFF) or 0)
        unverified = Unverified(model=workload.bundle.name, refusals=(), draws=draws, switch=switch, off=off)
        return ReferenceOutputs(None, None, (unverified,))
    stored = _stored(workload)
    if stored is not None:
        origin = Reference("export", str(workload.bundle.details.get("framework") or "the original model"))
        return _expected((stored,), origin, workload)
    refusals: list[Refused] = []
    for kind, name, label in references_for(workload):
        try:
            outputs = computed_outputs((kind, name), workload, cells, scratch, deadline_s)
            return _expected(outputs, Reference("backend", name, label), workload)
        except BrokenLoop:
            raise
        except IrbenchError as error:
            refusals.append(Refused(name, error.message))
    is_dynamic = any(BATCH in spec.tensor.dynamic_dimensions for spec in workload.bundle.inputs)
    batch = workload.batch if is_dynamic and workload.batch > 1 else None
    unverified = Unverified(model=workload.bundle.name, refusals=tuple(refusals), batch=batch)
    return ReferenceOutputs(None, None, (unverified,))


def references(group: Group, expected: Sequence[ReferenceOutputs]) -> dict[str, Reference]:
    """Return where the expected outputs of each cell came from, by its id; nothing where there are none.

    ``expected`` is empty before outputs were asked for.
    """
    sources = {cell.id: expected[cell.workload].source for cell in group.cells} if expected else {}
    return {cell: source for cell, source in sources.items() if source is not None}


def inputs_scale(workload: Workload) -> float:
    """Return the size of a workload's inputs over all samples: :func:`irbench.core.output_check.input_scale`."""
    inputs, sizes, feeding = workload.bundle.inputs, workload.sizes, workload.feeding
    return max(input_scale(logical_inputs(inputs, sizes, feeding, sample)) for sample in range(feeding.count))


def _expected(outputs: tuple[Outputs, ...], source: Reference, workload: Workload) -> ReferenceOutputs:
    scale = inputs_scale(workload)
    return ReferenceOutputs(outputs, source, tuple(_doubts(outputs, workload, scale)), scale)


def _doubts(outputs: tuple[Outputs, ...], workload: Workload, scale: float) -> Iterator[Warn]:
    """Warn of outputs with which nearly any answer agrees, whatever the call."""
    first, *others = (tuple(degenerate_outputs(call, scale)) for call in outputs)
    degenerate = [row for row in first if all(row.output in {other.output for other in call} for call in others)]
    if degenerate:
        names = [spec.name for spec in workload.bundle.artifacts[0].outputs]
        rows = tuple(DegenerateRow(names[row.output], row.values, row.largest) for row in degenerate)
        yield DegenerateOutputs(model=workload.bundle.name, of=len(outputs[0]), outputs=rows)


def references_for(workload: Workload) -> Iterator[tuple[str, str, str]]:
    """Yield what may answer, the best first: group of its entry point, name, and what tables call it.

    Given inputs are answered by the framework that the model was exported from, as generated ones are at export.
    """
    if given_inputs(workload.feeding) is not None:
        backends: dict[str, Description] = registry.describe_all(registry.BACKENDS)
        for name, description in backends.items():
            is_able = workload.bundle.artifact(registry.backend(name).consumes) is not None
            if description.is_original and description.version is not None and is_able:
                yield registry.BACKENDS, name, str(workload.bundle.details.get("framework") or name)
    for name in registry.references_in_order():
        yield registry.REFERENCES, name, registry.describe(registry.REFERENCES, name).reference_name


def _stored(workload: Workload) -> Outputs | None:
    bundle = workload.bundle
    sizes = {name: size for name, size in workload.sizes.items() if name != BATCH}
    defaults = {name: size for name, size in bundle.defaults.items() if name != BATCH}
    if bundle.reference is None or workload.feeding != Feeding(bundle.seed) or sizes != defaults:
        return None
    outputs = bundles.reference_outputs(bundle)
    if outputs is None:
        return None
    if not holds_pool(outputs, bundle.batch_axes):
        raise IrbenchError(
            f"The reference outputs of {bundle.name} do not match its {POOL} samples.",
            hint=f"Export the model again: irbench export {quote(bundle.source or bundle.name)} --force",
        )
    return repeat_pool(outputs, workload.batch, bundle.batch_axes)


def computed_outputs(
    source: tuple[str, str], workload: Workload, cells: Sequence[Cell], scratch: Path, deadline_s: float
) -> tuple[Outputs, ...]:
    """Return what a backend answers to each call that is checked, in the order of the model's outputs.

    ``source`` is the group of the entry point, of backends or references, and its name.

    Raises:
        BrokenLoop: An output cannot be fed back.
        IrbenchError: The backend cannot run the model.
    """
    kind, name = source
    backend = registry.backend(name) if kind == registry.BACKENDS else registry.reference(name)
    artifact = workload.bundle.artifact(backend.consumes)
    if artifact is None:
        raise IrbenchError("cannot read the model")
    planned = (cell.artifact for cell in cells if cell.artifact is not None)
    bound = next((cell for cell in planned if cell.label == artifact.label), None)
    bound = bound or bound_shapes(artifact, workload.sizes, scratch)
    try:
        return _answers(source, bound, workload, deadline_s)
    except (CallFailed, WorkerDied):  # as a row, which tries the graph with dynamic shapes too
        dynamic = with_sizes(artifact, workload.sizes)
        if dynamic.path == bound.path:
            raise
        return _answers(source, dynamic, workload, deadline_s)


def _answers(source: tuple[str, str], artifact: Artifact, workload: Workload, deadline_s: float) -> tuple[Outputs, ...]:
    kind, name = source
    reply: tuple[tuple[Outputs, ...], tuple[str, str] | None] = call_in_worker(
        "irbench.worker.reference_answers:answers_and_broken_loop",
        name,
        artifact,
        workload.bundle,
        dict(workload.sizes),
        workload.feeding,
        kind,
        deadline_s=deadline_s,
        confinement=confinement_to(artifact, workload.feeding.samples),
        returns=tuple[tuple[tuple[Any, ...], ...], tuple[str, str] | None],
    )
    answers, broken_loop = reply
    if broken_loop is not None:
        message, hint = broken_loop
        raise BrokenLoop(message, hint=hint)
    if len(answers) != workload.feeding.checked_calls:
        raise unreadable_answer(f"it has {len(answers)} calls, and {workload.feeding.checked_calls} were asked for.")
    return answers


CHANGING = "its answers to the same inputs change between calls"


def require_answers(answers: Sequence[Outputs], count: int, cell: Cell) -> None:
    """Refuse a cell that leaves answers out, which nothing would compare; code of the user's need not give any.

    Raises:
        ValueError: There are more or fewer. The message is a sentence for the cell's row.
    """
    if cell.program is None and len(answers) != count:
        raise ValueError(f"gave {len(answers)} answers in place of {count}")


def worst_error(answers: Sequence[Outputs], reference: Outputs, bundle: Bundle, scale: float = 1.0) -> OutputError:
    """Return how far the worst of several slots' answers is from the reference.

    Raises:
        ValueError: One cannot be compared; says why.
    """
    if any(isinstance(artifact, GenerationArtifact) for artifact in bundle.artifacts):
        errors = [compare_generations(answer, reference, scale) for answer in answers]
    else:
        errors = [compare(answer, reference, bundle.known_class_axes, scale) for answer in answers]
    return max(errors, key=lambda error: error.max_rel)


def worse(first: OutputError | None, second: OutputError | None) -> OutputError | None:
    """Return the larger of two errors; ``None`` stands for an error that was not measured."""
    known = [error for error in (first, second) if error is not None]
    return max(known, key=lambda error: error.max_rel, default=None)


def changed(failure: Failure, where: str) -> Failure:
    """Return why a cell leaves whose outputs were right at first: what is wrong, and where that was seen first."""
    return replace(failure, message=f"{CHANGING}: {failure.message} (first seen {where})")


def wrongness(error: OutputError, cell: Cell, effective: Mapping[str, Scalar]) -> Failure | None:
    """Return why outputs are wrong, by what a cell computes in and what its graph holds; ``None`` where right.

    Those are right, too, that keep the limit that the user gave.
    """
    return None if is_excused(error, cell.accuracy) else _failure(error, cell, effective)


def mismatch(cell: CellLaunch, planned: Cell) -> Failure | None:
    """Return why a cell's answers are wrong, by what it computes in and what its graph holds; ``None`` where right.

    What was not compared with a reference counts as right. So does what is off by more than the tolerance where the
    limit that the user gave is kept (:func:`irbench.core.output_check.is_excused`), if it is so from the first call on.
    """
    first, later = (
        None if error is None else _failure(error, planned, cell.effective)
        for error in (cell.output_error, cell.repeat_error)
    )
    if first is not None and not is_excused(cell.output_error, planned.accuracy):
        return first
    if later is not None and (first is None or not is_excused(cell.repeat_error, planned.accuracy)):
        return replace(later, message=f"{CHANGING}: {later.message}")
    return None


def _failure(error: OutputError, cell: Cell, effective: Mapping[str, Scalar]) -> Failure | None:
    graph_precision = cell.artifact.precision if cell.artifact is not None else ""
    return judge(error, str(effective.get("precision")), graph_precision)


def fallback(cell: Cell, effective: Mapping[str, Scalar]) -> Failure | None:
    """Return why a cell may not be timed: its runtime went to another device than was asked for, and said nothing.

    Where the whole graph must run there, single nodes elsewhere are such a reason too, and so is not knowing of them.
    """
    device = effective.get("device", cell.device)
    if cell.program is not None:  # runs where its author lets it, and says so
        return None
    if device != cell.device:
        hint = "See what is here: irbench backends --probe"
        return Failure("device", f"it runs on {device}, not on {cell.device}", hint)
    if not cell.load.require_full or cell.device == "cpu":
        return None
    return _partly_elsewhere(cell, effective)


def _partly_elsewhere(cell: Cell, effective: Mapping[str, Scalar]) -> Failure | None:
    elsewhere, nodes = effective.get("nodes_elsewhere"), effective.get("nodes")
    if elsewhere == 0:
        return None
    if elsewhere is None:
        message = f"{cell.backend} does not report which nodes run elsewhere than on {cell.device}"
        return Failure("device", message, "Leave --require-full out, or update the runtime.")
    operators = str(effective.get("operators_elsewhere")).replace(",", ", ")
    message = f"{elsewhere} of {nodes} nodes run elsewhere than on {cell.device}: {operators}"
    return Failure("device", message, "Leave --require-full out to measure it as it is.")
