"""Digest and size of the graphs that a run measures, so that stored runs tell whether they measured the same one."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from irbench.errors import IrbenchError
from irbench.spec import Artifact, Bundle, GraphFiles
from irbench.system.file_states import digest
from irbench.worker.model_files import read_external_files


def with_files_of_graphs(bundle: Bundle) -> Bundle:
    """Return the bundle, each of whose artifacts says what its files are."""
    return replace(bundle, artifacts=tuple(map(with_graph_files, bundle.artifacts)))


def with_graph_files(artifact: Artifact) -> Artifact:
    """Return the artifact with digest and size of its files; ``None`` where they cannot be read."""
    try:
        return replace(artifact, files=_graph_files(artifact))
    except (OSError, IrbenchError):  # who compiles the graph says what is wrong with it
        return replace(artifact, files=None)


def _graph_files(artifact: Artifact) -> GraphFiles:
    """Return the digest of the file alone where it is the only one: that of ``sha256sum``."""
    files = dict(_named_files(artifact))
    is_folder = artifact.path.is_dir()
    digests = {name: digest(path, follow=is_folder or not name) for name, path in files.items()}
    lines = "".join(f"{name} {sha256}\n" for name, sha256 in digests.items())
    whole = next(iter(digests.values())) if not is_folder and len(files) == 1 else _digest_of(lines)
    return GraphFiles(whole, sum(path.stat().st_size for path in files.values()))


def _named_files(artifact: Artifact) -> Iterator[tuple[str, Path]]:
    """Yield each file under a name that does not tell where the model lies."""
    path = artifact.path
    if path.is_dir():
        yield from ((file.relative_to(path).as_posix(), file) for file in sorted(path.rglob("*")) if file.is_file())
        return
    yield "", path
    if artifact.kind == "onnx":
        yield from ((location, path.parent / location) for location in read_external_files(path))


def _digest_of(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
