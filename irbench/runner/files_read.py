"""Which files a cell reads when it starts: those that its process had mapped or imported, and the model's."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from irbench.spec import Artifact
from irbench.worker.model_files import read_external_files


def files_read(artifact: Artifact, seen: Iterable[str]) -> tuple[Path, ...]:
    """Return each file once.

    Args:
        artifact: What the cell compiles.
        seen: What an earlier process of the cell had mapped or imported.
    """
    found = {path.resolve() for path in (*map(Path, seen), *_model_files(artifact))}
    return tuple(sorted(path for path in found if path.is_file()))


def _model_files(artifact: Artifact) -> Iterator[Path]:
    path = artifact.path
    if path.is_dir():
        yield from (file for file in path.rglob("*") if file.is_file())
        return
    yield path
    if artifact.kind == "onnx":
        yield from (path.parent / location for location in read_external_files(path))
