"""What the scripted backends answer: computed by ONNX's evaluator, whose import takes longer than a scripted session.

The answers of small models are therefore kept for all tests of a session, under a digest of the model and its inputs.
"""

from __future__ import annotations

import hashlib
import os
import pickle
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from irbench.spi import Array

FOLDER = "IRBENCH_FAKE_ANSWERS"
"""The environment variable that names the folder for answers; without it nothing is kept."""
_LARGEST_BYTES = 1 << 20


class Answers:
    """What one model answers.

    Args:
        path: The model; it is loaded at once, unless it was before.
        names: Of its inputs.
    """

    def __init__(self, path: Path, names: Sequence[str]) -> None:
        self._path = path
        self._names = names
        self._evaluator: Any = None
        self._known: dict[bytes, tuple[Array, ...]] = {}
        self._kept = _kept_for(path)
        if self._kept is None:
            self._load()
        elif not self._kept.exists():
            self._load()
            self._kept.mkdir(parents=True, exist_ok=True)

    def __call__(self, feed: Sequence[Array]) -> tuple[Array, ...]:
        """Return the outputs for one feed."""
        key = hashlib.sha256(pickle.dumps([np.asarray(array, order="C") for array in feed])).digest()
        if key not in self._known:
            self._known[key] = self._read_or_compute(key.hex(), feed)
        return self._known[key]

    def _read_or_compute(self, key: str, feed: Sequence[Array]) -> tuple[Array, ...]:
        file = None if self._kept is None else self._kept / key
        if file is not None and file.exists():
            outputs: tuple[Array, ...] = pickle.loads(file.read_bytes())
            return outputs
        self._load()
        found = self._evaluator.run(None, dict(zip(self._names, feed, strict=True)))
        outputs = tuple(np.asarray(output) for output in found)
        if file is not None:
            unfinished = file.with_name(f"{key}.{os.getpid()}")
            unfinished.write_bytes(pickle.dumps(outputs))
            unfinished.replace(file)
        return outputs

    def _load(self) -> None:
        if self._evaluator is None:
            from onnx.reference import ReferenceEvaluator

            self._evaluator = ReferenceEvaluator(str(self._path))


def _kept_for(path: Path) -> Path | None:
    """Return where the answers of a model are kept; ``None`` where it, or what lies beside it, is large."""
    folder = os.environ.get(FOLDER)
    if folder is None:
        return None
    beside = sorted(file for file in path.parent.iterdir() if file.is_file())  # its weights may be among them
    if sum(file.stat().st_size for file in beside) > _LARGEST_BYTES:
        return None
    digest = hashlib.sha256(path.name.encode())
    for file in beside:
        digest.update(f"{file.name}\0".encode() + hashlib.sha256(file.read_bytes()).digest())
    return Path(folder) / digest.hexdigest()
