"""What can go wrong with a store's files, said so that it can be fixed."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from irbench.errors import IrbenchError
from irbench.system.file_access import read_regular, sync_folder, write_synced

LARGEST_BYTES = 1 << 28
"""Of any file of a run, a profile or a receipt; larger ones are not read."""

LARGEST_DOCUMENT_BYTES = 1 << 24
"""Of a run's document, which is held as objects many times its size: some 4,000 rows, at 3 to 4 kB each."""

_PROBE_BYTES = 1 << 20
"""More than a launch's file usually takes, so that a full disk shows before anything is measured."""

_NO_ROOM = (errno.ENOSPC, errno.EDQUOT)
_IN_THE_WAY = (errno.EEXIST, errno.ENOTEMPTY, errno.ENOTDIR, errno.EISDIR)
_FORBIDDEN = (errno.EACCES, errno.EPERM)
_REMEDIES = {
    errno.ELOOP: "If you know what it points to, copy that in its place, for example with cp -L.",
    errno.EFBIG: "irbench does not write such files: do not trust it.",
}


def make_folder(path: Path) -> None:
    """Make a new folder, and those above it where they are missing, and wait until the disk knows it."""
    with explained(path):
        path.mkdir(parents=True)
        sync_folder(path.parent)


def prove_writable(folder: Path) -> None:
    """Write and remove a file as large as results may be."""
    probe = folder / ".probe"
    with explained(probe):
        write_synced(probe, bytes(_PROBE_BYTES))
        probe.unlink()


def read_bytes(path: Path | str, *, follow: bool = True, most_bytes: int = LARGEST_BYTES) -> bytes:
    """Return a file's content.

    Args:
        path: The file.
        follow: Whether it may be a symbolic link: not where its content becomes part of another run or archive.
        most_bytes: How large it may be.
    """
    try:
        return read_regular(path, most_bytes, follow=follow)
    except OSError as error:
        raise unreadable(path, error) from error


@contextmanager
def readable(path: Path) -> Iterator[None]:
    """Turn the failure to read ``path`` into an error that says how to fix it."""
    try:
        yield
    except OSError as error:
        raise unreadable(path, error) from error


def unreadable(path: Path | str, error: OSError) -> IrbenchError:
    """Return what to say of a path that cannot be read."""
    hint = _REMEDIES.get(error.errno or 0, "Check the path and its permissions.")
    return IrbenchError(f"{path} cannot be read: {error.strerror or error}.", hint=hint)


@contextmanager
def explained(path: Path, otherwise: str = "name another folder with `--results` or IRBENCH_RESULTS") -> Iterator[None]:
    """Turn the failure to write ``path`` into an error that says how to fix it."""
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
