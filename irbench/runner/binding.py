"""Bind shapes in a worker, because rewriting an untrusted file parses it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from irbench.onnx.rewriting.bind import bind, is_rewritten
from irbench.spec import Artifact
from irbench.worker.process import WorkerDied, call_in_worker

__all__ = ["bind_apart"]

_DEADLINE_S = 300.0
_REMEDY = "Leave the file as it is while irbench runs; if it is damaged, export or download it again."


def bind_apart(artifact: Artifact, sizes: Mapping[str, int], scratch: Path) -> Artifact:
    """Do as :func:`irbench.onnx.rewriting.bind.bind`, in a worker where the file must be rewritten.

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
        raise death.during(f"The shapes of {artifact.path} could not be bound.", _REMEDY) from death
    return bound
