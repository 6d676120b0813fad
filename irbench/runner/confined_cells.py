"""What the workers of rows may reach where confinement is asked for: ``IRBENCH_CONFINE=1``."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path

from irbench import registry
from irbench.errors import IrbenchError
from irbench.spec import Artifact, Cell
from irbench.system.confinement import Confinement
from irbench.worker.interpreters import source_folder
from irbench.worker.requested_confinement import VARIABLE, confinement_to, is_confinement_asked_for


def refuse_own_code_beside_models(function: str) -> None:
    """Refuse to call a function of the user's in the process that runs a model, where models are confined.

    Args:
        function: ``FILE.py:FUNCTION``, which needs more than a model may reach; empty where there is none.

    Raises:
        IrbenchError: Confinement is asked for, and there is a function.
    """
    if function and is_confinement_asked_for():
        raise IrbenchError(
            f"{VARIABLE} is set, and {function} is called in the process that runs the model.",
            hint=f"Use --min-accuracy, which is confined, or unset {VARIABLE} if you trust the model.",
        )


def confinement_of(
    cell: Cell, readable: Iterable[Path] = (), environment: Mapping[str, str] | None = None
) -> Confinement | None:
    """Return what a row's worker may reach; ``None`` where it is not confined: unless asked for, and for your own code.

    Args:
        cell: What it runs.
        readable: Files that it needs besides the model, of its inputs for example.
        environment: Variables that irbench sets for it: folders that they name are for it to write.

    Raises:
        IrbenchError: As :func:`~irbench.worker.requested_confinement.confinement_to`, or an option names a folder for
            compiled code that is none to give away.
    """
    if cell.program is not None or cell.artifact is None:
        return None
    found = confinement_to(cell.artifact, readable)
    if found is None:
        return None
    folders = (*_folders((environment or {}).values()), *_caches(cell, cell.artifact))
    code = () if cell.python is None else tuple(path.resolve() for path in source_folder().iterdir())
    return replace(found, readable=(*found.readable, *code), writable=folders)


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
