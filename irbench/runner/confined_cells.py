"""Confinement of the workers that run backends, for those who ask for it: ``IRBENCH_CONFINE=1``."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path

from irbench import registry
from irbench.errors import IrbenchError
from irbench.spec import Artifact, Cell
from irbench.system.confinement import Confinement, confinement_support
from irbench.worker.interpreters import source_folder
from irbench.worker.model_files import read_external_files

__all__ = [
    "confinement_of",
    "confinement_to",
    "is_confinement_asked_for",
    "refuse_own_code_beside_models",
    "require_confinement",
]

_VARIABLE = "IRBENCH_CONFINE"


def require_confinement() -> None:
    """Refuse to measure unconfined where confinement is asked for.

    Raises:
        IrbenchError: It is asked for, and the kernel offers none.
    """
    found = confinement_support()
    if is_confinement_asked_for() and not (found.landlock and found.seccomp):
        missing = " and ".join(
            name for name, there in (("Landlock", found.landlock), ("seccomp", found.seccomp)) if not there
        )
        raise IrbenchError(
            f"{_VARIABLE} is set, and {missing} is not available here.",
            hint=f"unset {_VARIABLE}, or use a kernel and a container that offer it: see irbench doctor.",
        )


def refuse_own_code_beside_models(function: str) -> None:
    """Refuse to call a function of the user's in the process that runs a model, where models are confined.

    Args:
        function: ``FILE.py:FUNCTION``, which needs more than a model may reach; empty where there is none.

    Raises:
        IrbenchError: Confinement is asked for, and there is a function.
    """
    if function and is_confinement_asked_for():
        raise IrbenchError(
            f"{_VARIABLE} is set, and {function} is called in the process that runs the model.",
            hint=f"Use --min-accuracy, which is confined, or unset {_VARIABLE} if you trust the model.",
        )


def confinement_of(
    cell: Cell, samples: Iterable[Path] = (), environment: Mapping[str, str] | None = None
) -> Confinement | None:
    """Return what a row's worker may reach; ``None`` where it is not confined: unless asked for, and for your own code.

    Args:
        cell: What it runs.
        samples: Files of its inputs.
        environment: Variables that irbench sets for it: folders that they name are for it to write.

    Raises:
        IrbenchError: As :func:`require_confinement`, or an option names a folder for compiled code that is none to
            give away.
    """
    if cell.program is not None or cell.artifact is None:
        return None
    found = confinement_to(cell.artifact, samples)
    if found is None:
        return None
    folders = (*_folders((environment or {}).values()), *_caches(cell, cell.artifact))
    code = () if cell.python is None else tuple(path.resolve() for path in source_folder().iterdir())
    return replace(found, readable=(*found.readable, *code), writable=folders)


def confinement_to(artifact: Artifact, samples: Iterable[Path] = ()) -> Confinement | None:
    """Return what may be reached by who runs an artifact on inputs; ``None`` unless confinement is asked for.

    Raises:
        IrbenchError: As :func:`require_confinement`.
    """
    if not is_confinement_asked_for():
        return None
    require_confinement()
    return Confinement((*_files_of(artifact), *samples), for_runtime=True)


def is_confinement_asked_for() -> bool:
    """Return whether the user asks to confine what runs models."""
    return os.environ.get(_VARIABLE, "0") not in ("", "0")


def _caches(cell: Cell, artifact: Artifact) -> tuple[Path, ...]:
    """Return the folders of compiled code that options name; what runs the model writes them.

    Raises:
        IrbenchError: One holds the user's home, the model, or code.
    """
    keys = registry.describe(registry.BACKENDS, cell.backend).cache_folders
    folders = _folders(str(cell.load.options[key]) for key in keys if key in cell.load.options)
    for folder in folders:
        kept = (Path.home(), artifact.path.parent, Path(sys.prefix), *map(Path, sys.path))
        if any(place.resolve().is_relative_to(folder.resolve()) for place in kept):
            raise IrbenchError(
                f"{folder} holds more than compiled code, and a confined model could change all of it.",
                hint="Make an empty folder for what the backend compiles, and name that one.",
            )
    return folders


def _folders(named: Iterable[str]) -> tuple[Path, ...]:
    return tuple(path for path in map(Path, named) if path.is_absolute() and path.is_dir())


def _files_of(artifact: Artifact) -> tuple[Path, ...]:
    external = _external_files(artifact.path) if artifact.kind == "onnx" else ()
    return artifact.path, *external


@cache
def _external_files(path: Path) -> tuple[Path, ...]:
    return tuple(path.parent / location for location in read_external_files(path))
