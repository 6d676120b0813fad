"""Confinement of workers that run models, for those who ask for it: ``IRBENCH_CONFINE=1``."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path

from irbench.core import registry
from irbench.errors import ExitCode, IrbenchError
from irbench.spec import Artifact, Cell
from irbench.spec.generation import artifacts_of
from irbench.system.confinement import Confinement, confinement_support
from irbench.system.locks import temporary_folder
from irbench.worker.interpreters import source_folder
from irbench.worker.model_files import read_external_files

VARIABLE = "IRBENCH_CONFINE"


def is_confinement_asked_for() -> bool:
    """Return whether the user asks to confine what runs models."""
    return os.environ.get(VARIABLE, "0") not in ("", "0")


def require_confinement() -> None:
    """Refuse to run models unconfined where confinement is asked for."""
    support = confinement_support()
    if is_confinement_asked_for() and not (support.landlock and support.seccomp):
        missing = " and ".join(
            name for name, there in (("Landlock", support.landlock), ("seccomp", support.seccomp)) if not there
        )
        raise IrbenchError(
            f"{VARIABLE} is set, and {missing} is not available here.",
            hint=f"unset {VARIABLE}, or use a kernel and a container that offer it: see irbench doctor.",
        )


def confinement_to(
    artifact: Artifact, samples: Iterable[Path] = (), writable: Iterable[Path] = ()
) -> Confinement | None:
    """Return what may be reached by who runs an artifact on inputs; ``None`` unless confinement is asked for."""
    if not is_confinement_asked_for():
        return None
    require_confinement()
    return Confinement((*_files_of(artifact), *samples), tuple(writable), for_runtime=True)


def take_files(folder: Path) -> None:
    """Take what a confined worker wrote out of its reach, and refuse what would lead whoever reads it elsewhere.

    A process may outlive its worker, and what it may write is bound to the folder that it was given, not to its name:
    another folder takes its place, with all that it holds.
    """
    with temporary_folder(folder.parent, ".taken-") as aside:
        taken = aside / "taken"
        taken.mkdir()
        try:
            for path in list(folder.iterdir()):
                path.rename(taken / path.name)
            _require_files_alone(taken)
            folder.rename(aside / "left")
            taken.rename(folder)
        except OSError as error:  # it may change modes, and names while they are read
            raise _is_no_file(Path(error.filename or folder).name) from error


def _require_files_alone(folder: Path) -> None:
    pending = [folder]
    while pending:
        for path in pending.pop().iterdir():
            mode = path.lstat().st_mode
            if stat.S_ISDIR(mode):
                pending.append(path)
            elif not stat.S_ISREG(mode):
                raise _is_no_file(path.name)


def _is_no_file(name: str) -> IrbenchError:
    return IrbenchError(
        f"The process that worked on the model made {name}, which is not a file that irbench can read.",
        hint="The model may be made to do harm.",
        exit_code=ExitCode.FAILED_CELL,
    )


def _files_of(artifact: Artifact) -> tuple[Path, ...]:
    files = list[Path]()
    for graph in artifacts_of(artifact):
        files += (graph.path, *(_external_files(graph.path) if graph.kind == "onnx" else ()))
    return tuple(files)


@cache
def _external_files(path: Path) -> tuple[Path, ...]:
    return tuple(path.parent / location for location in read_external_files(path))


def refuse_own_code_beside_models(function: str) -> None:
    """Refuse to call a function of the user's in the process that runs a model, where models are confined."""
    if function and is_confinement_asked_for():
        raise IrbenchError(
            f"{VARIABLE} is set, and {function} is called in the process that runs the model.",
            hint=f"Use --min-accuracy, which is confined, or unset {VARIABLE} if you trust the model.",
        )


def confinement_of(
    cell: Cell, readable: Iterable[Path] = (), environment: Mapping[str, str] | None = None
) -> Confinement | None:
    """Return what a row's worker may reach; ``None`` where it is not confined: unless asked for, and for your own code.

    Folders that variables of ``environment`` name are for it to write.
    """
    if cell.program is not None or cell.artifact is None:
        return None
    confinement = confinement_to(cell.artifact, readable)
    if confinement is None:
        return None
    folders = (*_folders((environment or {}).values()), *_caches(cell, cell.artifact))
    code = () if cell.python is None else tuple(path.resolve() for path in source_folder().iterdir())
    return replace(confinement, readable=(*confinement.readable, *code), writable=folders)


def _caches(cell: Cell, artifact: Artifact) -> tuple[Path, ...]:
    """Return the folders of compiled code that options name; what runs the model writes them."""
    keys = registry.describe(registry.BACKENDS, cell.backend).cache_folders
    folders = _folders(str(cell.load.options[key]) for key in keys if key in cell.load.options)
    for folder in folders:
        graphs = (graph.path.parent for graph in artifacts_of(artifact))
        kept = (Path.home(), *graphs, Path(sys.prefix), *map(Path, sys.path))
        if any(place.resolve().is_relative_to(folder.resolve()) for place in kept):
            raise IrbenchError(
                f"{folder} holds more than compiled code, and a confined model could change all of it.",
                hint="Make an empty folder for what the backend compiles, and name that one.",
            )
    return folders


def _folders(named: Iterable[str]) -> tuple[Path, ...]:
    return tuple(path for path in map(Path, named) if path.is_absolute() and path.is_dir())
