"""Whether a model gives a sample other outputs in a batch than alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from irbench.core.feeds import logical_inputs
from irbench.core.output_check import compare, judge
from irbench.notices.warnings import MixesSamples
from irbench.runner.reference import ReferenceOutputs, expected_outputs
from irbench.spec import BATCH, Workload
from irbench.spi import Array
from irbench.worker.model_files import read_graph_precision


def mixed_samples(
    workload: Workload,
    expected: ReferenceOutputs,
    known: Sequence[tuple[Workload, ReferenceOutputs]],
    has_written_batch: bool,
    scratch: Path,
    deadline_s: float,
) -> MixesSamples | None:
    """Return that the first sample of a batch has other outputs than alone, in the reference.

    The outputs of a batch of 1 are taken from ``known``. Where that has none they are computed, if the file contains
    a batch size, as ``has_written_batch`` says; for any other model a call more would find nothing.
    """
    bundle = workload.bundle
    if expected.outputs is None or workload.batch == 1 or not _has_batch(workload):
        return None
    alone = replace(workload, sizes={**workload.sizes, BATCH: 1})
    same = (found for other, found in known if other.bundle == bundle and dict(other.sizes) == dict(alone.sizes))
    first = next(same, None)
    if first is None and not workload.feeding.samples and has_written_batch:
        first = expected_outputs(alone, (), scratch, deadline_s)
    if first is None or first.outputs is None or not _begins_with(workload, alone):
        return None
    axes = bundle.batch_axes or (0,) * len(expected.outputs[0])
    compared: list[tuple[Array, Array]] = []
    for output, other, axis in zip(expected.outputs[0], first.outputs[0], axes, strict=True):
        own = _first(output, axis, workload.batch)
        if own is not None and own.shape == np.shape(other):
            compared.append((own, np.asarray(other)))
    try:
        error = compare([own for own, _ in compared], [other for _, other in compared], (), expected.scale)
    except ValueError:
        return MixesSamples(model=bundle.name, batch=workload.batch)
    artifact = bundle.artifact(("onnx",))
    if judge(error, "fp32") is None:
        return None
    if artifact is not None and judge(error, read_graph_precision(artifact.path).narrowest) is None:
        return None
    return MixesSamples(model=bundle.name, batch=workload.batch, max_rel=error.max_rel)


def _has_batch(workload: Workload) -> bool:
    return any(spec.tensor.shape[:1] == (BATCH,) for spec in workload.bundle.inputs)


def _begins_with(workload: Workload, alone: Workload) -> bool:
    """Return whether the first sample of a batch is the sample of a batch of 1, in every input."""
    batched, single = (logical_inputs(each.bundle.inputs, each.sizes, each.feeding) for each in (workload, alone))
    return all(
        np.array_equal(array[:1] if spec.tensor.shape[:1] == (BATCH,) else array, other)
        for spec, array, other in zip(workload.bundle.inputs, batched, single, strict=True)
    )


def _first(output: Array, axis: int | None, batch: int) -> Array | None:
    """Return what belongs to the first sample; ``None`` where an output has no axis that counts samples."""
    array = np.asarray(output)
    if axis is None or axis >= array.ndim or array.shape[axis] % batch:
        return None
    return np.take(array, range(array.shape[axis] // batch), axis=axis)
