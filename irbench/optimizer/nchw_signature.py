"""The signature of an artifact after its image inputs were changed to NCHW."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from irbench.optimizer.inputs_to_nchw import TO_NCHW
from irbench.spec import Artifact, TensorSpec


def as_nchw(artifact: Artifact, names: Collection[str]) -> Artifact:
    """Return an artifact that takes the inputs of these names as NCHW, where it took NHWC."""
    return replace(
        artifact, inputs=tuple(_as_nchw(tensor) if tensor.name in names else tensor for tensor in artifact.inputs)
    )


def _as_nchw(spec: TensorSpec) -> TensorSpec:
    before = spec.permutation or tuple(range(len(TO_NCHW)))
    order = tuple(before[axis] for axis in TO_NCHW)
    shape = tuple(spec.shape[axis] for axis in TO_NCHW)
    return TensorSpec(spec.name, spec.dtype, shape, None if order == tuple(sorted(order)) else order)
