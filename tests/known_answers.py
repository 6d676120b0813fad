"""What helper processes find out about small models, kept for all tests of a session.

A run of an ONNX file starts a process that checks the file, and one that computes the expected outputs. Most tests run
the same few models, and equal files have equal answers, so each is asked for once; tests that call irbench in a process
of its own ask again.
"""

from __future__ import annotations

import hashlib
import os
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from irbench.spec import Artifact, Bundle, Feeding

_LARGEST_BYTES = 1 << 20


def keep(folder: Path, patch: pytest.MonkeyPatch) -> None:
    """Have this process keep answers in ``folder``, which others may share."""
    from irbench.exporter import foreign
    from irbench.runner import reference

    patch.setattr(foreign, "examine_file", _keeping(folder, foreign.examine_file, _of_check))
    patch.setattr(reference, "call_in_worker", _keeping(folder, reference.call_in_worker, _of_outputs))


def _keeping(
    folder: Path, call: Callable[..., Any], identity: Callable[..., tuple[object, ...] | None]
) -> Callable[..., Any]:
    """Return what answers as ``call`` does; what it raises is not kept."""

    def answer(*args: Any, **options: Any) -> Any:
        known_by = identity(*args)
        if known_by is None:
            return call(*args, **options)
        kept = folder / hashlib.sha256(repr(known_by).encode()).hexdigest()
        if kept.exists():
            return pickle.loads(kept.read_bytes())
        found = call(*args, **options)
        folder.mkdir(parents=True, exist_ok=True)
        unfinished = kept.with_name(f"{kept.name}.{os.getpid()}")
        unfinished.write_bytes(pickle.dumps(found))
        unfinished.replace(kept)
        return found

    return answer


def _of_check(path: Path) -> tuple[object, ...] | None:
    digest = _digest(path)
    return None if digest is None else ("check", digest)


def _of_outputs(
    target: str, name: str, artifact: Artifact, bundle: Bundle, sizes: object, feeding: Feeding, group: str
) -> tuple[object, ...] | None:
    digest = _digest(artifact.path)
    if digest is None or feeding != Feeding(feeding.seed):
        return None
    return target, digest, name, group, artifact.inputs, artifact.outputs, bundle.inputs, sizes, feeding.seed


def _digest(path: Path) -> str | None:
    """Return the digest of a model; ``None`` where it is large, or where a part of it lies in other files."""
    if not path.is_file() or path.stat().st_size > _LARGEST_BYTES:
        return None
    content = path.read_bytes()
    return None if b"location" in content else hashlib.sha256(content).hexdigest()
