"""Operator profiles beside the stored runs: a folder for each, ``profiles/<yyyy-mm>/<ulid>/``."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from shlex import quote

from irbench.errors import IrbenchError
from irbench.store.file_errors import explained, make_folder, prove_writable
from irbench.store.folders import LOGS, profiles_folder, results_option
from irbench.system.file_access import write_atomically
from irbench.system.file_states import is_file, is_folder

PROFILE_FILE = "profile.json"
"""What makes a folder a profile."""

_LATEST = "latest"


@dataclass(frozen=True)
class ProfileWriter:
    """A profile that is being measured."""

    folder: Path

    @property
    def logs(self) -> Path:
        """The folder for what workers print."""
        return self.folder / LOGS

    def commit(self, data: bytes) -> None:
        """Replace what is stored of it."""
        with explained(self.folder):
            write_atomically(self.folder / PROFILE_FILE, data)


def begin_profile(root: Path, created: str, profile_id: str) -> ProfileWriter:
    """Make place for a new profile."""
    writer = ProfileWriter(profiles_folder(root) / created[: len("yyyy-mm")] / profile_id)
    make_folder(writer.logs)
    prove_writable(writer.folder)
    return writer


def profile_ids(root: Path) -> list[str]:
    """Return the ids of stored profiles, the oldest first."""
    return [_id_of(path) for path in _stored(root)]


def find_profile(root: Path, name: str) -> Path:
    """Return the file of a profile."""
    path = Path(name)
    if name and is_file(path):
        return path
    if name and os.path.lexists(path / PROFILE_FILE):
        return path / PROFILE_FILE
    stored = _stored(root)
    matches = stored[-1:] if name == _LATEST else [path for path in stored if _id_of(path).startswith(name.upper())]
    if len(matches) == 1 and name:
        return matches[0]
    if not stored:
        raise IrbenchError(f"No profiles are stored in {root}.", hint="Profile a model: irbench profile MODEL")
    if matches and name:
        raise IrbenchError(f"{len(matches)} profiles begin with {name}.", hint="Give more of the id.")
    newest = ", ".join(_id_of(path) for path in stored[:-4:-1])
    raise IrbenchError(f"There is no profile {name!r}.", hint=f"Name a file, latest, or an id. The newest: {newest}.")


def profile_argument(path: Path) -> str:
    """Return what names a profile's file in a command: its id and where it is stored, or the file elsewhere."""
    root = path.parent.parent.parent.parent
    if path.name != PROFILE_FILE or path.parent.parent.parent != profiles_folder(root):
        return quote(str(path))
    return f"{path.parent.name}{results_option(root)}"


def _stored(root: Path) -> list[Path]:
    folder = profiles_folder(root)
    return sorted(folder.glob(f"*/*/{PROFILE_FILE}"), key=_id_of) if is_folder(folder) else []


def _id_of(path: Path) -> str:
    return path.parent.name
