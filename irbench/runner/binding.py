"""Binding shapes apart: rewriting a file reads it, and what a file holds is nobody's to trust."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from irbench.errors import IrbenchError
from irbench.onnx.rewriting.bind import bind, is_rewritten
from irbench.spec import Artifact
from irbench.worker.process import WorkerDied, call_in_worker

__all__ = ["bind_apart"]

_DEADLINE_S = 300.0


def bind_apart(artifact: Artifact, sizes: Mapping[str, int], scratch: Path) -> Artifact:
    """Do as :func:`irbench.onnx.rewriting.bind.bind`, in a process of its own where the file must be rewritten.

    Raises:
        IrbenchError: As ``bind`` does, or the process died of the file.
    """
    if not is_rewritten(artifact):
        return bind(artifact, sizes, scratch)
    try:
        bound: Artifact = call_in_worker(
            "irbench.onnx.rewriting.bind:bind", artifact, dict(sizes), scratch, deadline_s=_DEADLINE_S
        )
    except WorkerDied as death:
        said = f" {death.hint}" if death.hint else ""
        raise IrbenchError(
            f"The shapes of {artifact.path} could not be bound. {death.message}{said}",
            hint="Leave the file as it is while irbench runs; if it is damaged, export or download it again.",
        ) from death
    return bound
