"""Binding shapes: a copy of an ONNX file whose inputs have concrete sizes.

Runtimes choose faster kernels and plan memory for shapes they know, so every cell gets them.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

from irbench.errors import IrbenchError
from irbench.onnx.rewriting.bound_copy import BoundCopy, plan_copy, write_copy
from irbench.spec import Artifact, TensorSpec
from irbench.spec.requested_sizes import example_sizes


def bind(
    artifact: Artifact,
    sizes: Mapping[str, int],
    scratch: Path,
    plan: Callable[[Path, Artifact], BoundCopy] = plan_copy,
) -> Artifact:
    """Return the artifact with every dynamic input dimension made concrete.

    Args:
        artifact: Its path is absolute.
        sizes: A size for every dynamic dimension, by name.
        scratch: A folder for the rewritten file; equal requests share one file.
        plan: Walks over the file; the coordinator has this done in a process of its own.

    Returns:
        For kind ``onnx`` an artifact whose file has concrete input dimensions and no stale shapes
        inside; the same file where no dimension was dynamic. For other kinds only the specs are bound. An
        output dimension that depends on the data keeps its name.
    """
    for spec in artifact.inputs:
        _require_sizes(spec, artifact, sizes)
    bound = with_sizes(artifact, sizes)
    if not is_rewritten(artifact):
        return bound
    key = _key(artifact, sizes)
    path = scratch / key / artifact.path.name
    if not path.exists():
        _write(plan(artifact.path, bound), artifact.path, path)
        if _key(artifact, sizes) != key:
            path.unlink()
            raise IrbenchError(f"{artifact.path} changed while it was read.", hint="Wait until it is written in full.")
    return replace(bound, path=path, sha256="")


def _write(copy: BoundCopy, origin: Path, path: Path) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_copy(copy, origin, path)
    except OSError as error:
        raise IrbenchError(
            f"No copy of {origin} with fixed shapes can be written: {error.strerror}.",
            hint=f"It is written into {path.parent.parent}, which needs as much room as the file.",
        ) from error


def with_sizes(artifact: Artifact, sizes: Mapping[str, int]) -> Artifact:
    """Return the artifact with tensors of these sizes, and a file that leaves them dynamic."""
    return replace(
        artifact,
        inputs=tuple(spec.bind(sizes) for spec in artifact.inputs),
        outputs=tuple(spec.bind(sizes) for spec in artifact.outputs),
    )


def is_rewritten(artifact: Artifact) -> bool:
    """Whether binding makes a new file: that of an ONNX model with dynamic input dimensions."""
    return artifact.kind == "onnx" and any(spec.dynamic_dimensions for spec in artifact.inputs)


def _require_sizes(spec: TensorSpec, artifact: Artifact, sizes: Mapping[str, int]) -> None:
    shape = spec.bind(sizes).shape
    for name, size in zip(spec.shape, shape, strict=True):
        if isinstance(name, int):
            continue
        if isinstance(size, str):
            raise IrbenchError(
                f"Input '{spec.name}' has a dynamic dimension '{name}' without a size.",
                hint=f"Add a size, for example: {example_sizes(artifact.inputs, sizes)}",
            )
        if size < 1:
            raise IrbenchError(
                f"Dimension '{name}' of input '{spec.name}' cannot be {size}.", hint="Use a size of at least 1."
            )


def _key(artifact: Artifact, sizes: Mapping[str, int]) -> str:
    """Return a folder name that is different for other files, other versions of a file and other sizes."""
    try:
        status = artifact.path.stat()
    except OSError as error:
        raise IrbenchError(
            f"{artifact.path} cannot be read: {error.strerror}.",
            hint="Do not move or delete the file during the run.",
        ) from error
    identity = (str(artifact.path), status.st_mtime_ns, status.st_size, sorted(sizes.items()))
    return hashlib.sha256(repr(identity).encode()).hexdigest()[:16]
