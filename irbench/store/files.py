"""What can go wrong with a store's files, said so that it can be mended."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from irbench.errors import IrbenchError
from irbench.system.files import sync_folder, write_synced

__all__ = ["explained", "make_folder", "prove_writable", "read_bytes"]

_PROBE_BYTES = 1 << 20
"""More than a launch's file usually takes, so that a full disk shows before anything is measured."""

_NO_ROOM = (errno.ENOSPC, errno.EDQUOT)
_IN_THE_WAY = (errno.EEXIST, errno.ENOTEMPTY, errno.ENOTDIR, errno.EISDIR)
_FORBIDDEN = (errno.EACCES, errno.EPERM)


def make_folder(path: Path) -> None:
    """Make a new folder, and those above it where they are missing, and wait until the disk knows it.

    Raises:
        IrbenchError: It cannot be made.
    """
    with explained(path):
        path.mkdir(parents=True)
        sync_folder(path.parent)


def prove_writable(folder: Path) -> None:
    """Write and remove a file as large as results may be.

    Raises:
        IrbenchError: The disk is full, or the folder may not be written.
    """
    probe = folder / ".probe"
    with explained(probe):
        write_synced(probe, bytes(_PROBE_BYTES))
        probe.unlink()


def read_bytes(path: Path) -> bytes:
    """Return a file's content.

    Raises:
        IrbenchError: It cannot be read.
    """
    try:
        return path.read_bytes()
    except OSError as error:
        raise IrbenchError(
            f"{path} cannot be read: {error.strerror}.", hint="Check the path and its permissions."
        ) from error


@contextmanager
def explained(path: Path, otherwise: str = "name another folder with --results or IRBENCH_RESULTS") -> Iterator[None]:
    """Turn the failure to write ``path`` into an error that says how to mend it.

    Args:
        path: What is written.
        otherwise: What else can be done where it cannot be mended.
    """
    try:
        yield
    except OSError as error:
        raise IrbenchError(
            f"{path} cannot be written: {error.strerror or error}.", hint=f"{_remedy(error)}, or {otherwise}."
        ) from error


def _remedy(error: OSError) -> str:
    if error.errno in _NO_ROOM:
        return "Free some space there"
    if error.errno in _IN_THE_WAY:
        return "Move away what is there"
    if error.errno in _FORBIDDEN:
        return "Change its permissions"
    return "Check that its folder is there and can be written"
