"""Whether the files of a bundle are what its card says, without reading large ones again each time."""

from __future__ import annotations

import contextlib
import hashlib
import os
import tempfile
from collections.abc import Mapping
from pathlib import Path

import msgspec

from irbench.system.file_states import FileState, digest, is_unchanged
from irbench.system.files import write_atomically
from irbench.system.home import home, homes
from irbench.system.regular_files import read_regular

_FOLDER, _MOST_BYTES = "intact", 1 << 24
COARSEST_CLOCK_NS = 2_000_000_000
"""Of file systems in use, FAT keeps times most coarsely: two changes within 2 s may have the same time."""


def first_damaged(directory: Path, checksums: Mapping[str, str]) -> Path | None:
    """Return a file of a folder that is missing or not what was written; ``None`` where all are intact.

    A large file that has the size and times of change which it had when it was last compared is not read again: no
    program sets back when an inode was changed. A file that had been changed only just before it was compared is read
    again, since another change within a tick of the clock would leave no sign.

    Args:
        directory: The folder, as an absolute path.
        checksums: SHA-256 of each file, by file name.
    """
    memory = Path(_FOLDER, f"{hashlib.sha256(os.fsencode(directory)).hexdigest()[:32]}.json")
    known = next(filter(None, (_read(place / memory) for place in homes())), {})
    if all(_is_known(directory / name, expected, known) for name, expected in checksums.items()):
        return None
    now_ns = _now_ns()
    states: dict[str, FileState] = {}
    for name, expected in checksums.items():
        state = _state(directory / name)
        if state is None or state.sha256 != expected:
            return directory / name
        states[name] = state
    if now_ns is not None:
        settled_ns = now_ns - COARSEST_CLOCK_NS
        settled = {name: state for name, state in states.items() if state.inode_changed_ns < settled_ns}
        with contextlib.suppress(OSError):  # without a memory the next use compares again
            write_atomically(home() / memory, msgspec.json.encode(settled))
    return None


def _is_known(path: Path, expected: str, known: Mapping[str, FileState]) -> bool:
    state = known.get(path.name)
    return state is not None and state.sha256 == expected and is_unchanged(path, state)


def _state(path: Path) -> FileState | None:
    """Return what a file contains now; its times are those from before it was read."""
    try:
        found = path.stat()
        return FileState(digest(path), found.st_size, found.st_mtime_ns, found.st_ctime_ns) if path.is_file() else None
    except OSError:
        return None


def _now_ns() -> int | None:
    """Return the time as file systems keep it, in nanoseconds since 1970; ``None`` where nothing can be remembered."""
    folder = home() / _FOLDER
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder) as file:
            return os.fstat(file.fileno()).st_ctime_ns
    except OSError:
        return None


def _read(memory: Path) -> dict[str, FileState]:
    """Return the states of files when they were last compared; of none where that is not known."""
    try:
        return msgspec.json.decode(read_regular(memory, _MOST_BYTES), type=dict[str, FileState])
    except (OSError, msgspec.MsgspecError, ValueError, RecursionError):
        return {}
