"""Bundles in folders that users chose: which of them an export may replace."""

from __future__ import annotations

from pathlib import Path

from irbench.card import CARD, load_card
from irbench.errors import IrbenchError
from irbench.system.files import replace_folder

ELSEWHERE = "Give another path with -o."


def require_replaceable(target: Path) -> None:
    """Refuse a folder that holds more than the bundle which an export into it would replace.

    Raises:
        IrbenchError: It names one of the files or folders that are no part of that bundle.
    """
    try:
        if not target.is_dir() and (target.exists() or target.is_symlink()):
            raise IrbenchError(
                f"{target} is not a folder, and irbench does not overwrite it.", hint="Choose a new or empty folder."
            )
        names = _names_of_bundle(target)
        held = sorted(target.iterdir()) if target.is_dir() else []
        others = [path.name for path in held if not _belongs(path, names)]
    except OSError as error:
        raise IrbenchError(f"{target} cannot be read: {error.strerror or error}.", hint=ELSEWHERE) from error
    if others:
        raise IrbenchError(
            f"{target} holds {others[0]}, which is not part of a bundle, so irbench does not overwrite it.",
            hint="Choose a new or empty folder, or move your files.",
        )


def put_elsewhere(folder: Path, target: Path) -> Path:
    """Move a finished bundle from its staging folder to ``target``, in the place of a bundle that is there.

    Returns:
        The bundle's folder.

    Raises:
        IrbenchError: ``target`` holds other files, or cannot be replaced; it is as it was.
    """
    require_replaceable(target)
    try:
        replace_folder(folder, target.resolve())
    except OSError as error:
        raise IrbenchError(f"{target} cannot be written: {error.strerror or error}.", hint=ELSEWHERE) from error
    return target.absolute()


def _belongs(path: Path, names: set[str]) -> bool:
    return path.name in names and path.is_file()


def _names_of_bundle(directory: Path) -> set[str]:
    """Return the names of the files that make up the bundle in ``directory``; of none where it holds no card."""
    if not (directory / CARD).is_file():
        return set()
    try:
        return {CARD, *load_card(directory).checksums}
    except IrbenchError as error:
        raise IrbenchError(
            f"{directory} is not overwritten, because its contents are unknown: {error.message}",
            hint="Choose a new or empty folder, or delete this one.",
        ) from error
