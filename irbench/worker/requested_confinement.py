"""Confinement of workers that run models, for those who ask for it: ``IRBENCH_CONFINE=1``."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable
from functools import cache
from pathlib import Path

from irbench.errors import ExitCode, IrbenchError
from irbench.spec import Artifact
from irbench.system.confinement import Confinement, confinement_support
from irbench.system.locks import temporary_folder
from irbench.worker.model_files import read_external_files

VARIABLE = "IRBENCH_CONFINE"


def is_confinement_asked_for() -> bool:
    """Return whether the user asks to confine what runs models."""
    return os.environ.get(VARIABLE, "0") not in ("", "0")


def require_confinement() -> None:
    """Refuse to run models unconfined where confinement is asked for.

    Raises:
        IrbenchError: It is asked for, and the kernel offers none.
    """
    found = confinement_support()
    if is_confinement_asked_for() and not (found.landlock and found.seccomp):
        missing = " and ".join(
            name for name, there in (("Landlock", found.landlock), ("seccomp", found.seccomp)) if not there
        )
        raise IrbenchError(
            f"{VARIABLE} is set, and {missing} is not available here.",
            hint=f"unset {VARIABLE}, or use a kernel and a container that offer it: see irbench doctor.",
        )


def confinement_to(
    artifact: Artifact, samples: Iterable[Path] = (), writable: Iterable[Path] = ()
) -> Confinement | None:
    """Return what may be reached by who runs an artifact on inputs; ``None`` unless confinement is asked for.

    Args:
        artifact: The model.
        samples: Files of its inputs.
        writable: Folders for what is made of it, which are there.

    Raises:
        IrbenchError: As :func:`require_confinement`.
    """
    if not is_confinement_asked_for():
        return None
    require_confinement()
    return Confinement((*_files_of(artifact), *samples), tuple(writable), for_runtime=True)


def take_files(folder: Path) -> None:
    """Take what a confined worker wrote out of its reach, and refuse what would lead whoever reads it elsewhere.

    A process may outlive its worker, and what it may write is bound to the folder that it was given, not to its name:
    another folder takes its place, with all that it holds.

    Raises:
        IrbenchError: There are links, devices or pipes, or a folder that cannot be looked into.
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
        f"The process that worked on the model made {name}, which is no file that irbench can read.",
        hint="The model may be made to do harm.",
        exit_code=ExitCode.FAILED_CELL,
    )


def _files_of(artifact: Artifact) -> tuple[Path, ...]:
    external = _external_files(artifact.path) if artifact.kind == "onnx" else ()
    return artifact.path, *external


@cache
def _external_files(path: Path) -> tuple[Path, ...]:
    return tuple(path.parent / location for location in read_external_files(path))
