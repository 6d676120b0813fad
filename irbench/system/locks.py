"""Folders that belong to a living process: the kernel lets go of them when it ends, however it ends.

Process ids would tell nothing across containers that share a folder.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

__all__ = ["hold", "is_held", "temporary_folder", "waiting_for"]

_ALIVE = ".alive"
"""A file that the owner of a temporary folder keeps locked."""


def hold(path: Path) -> int:
    """Lock a file or folder until the descriptor that is returned is closed, or this process ends.

    Raises:
        BlockingIOError: Another descriptor holds it.
        OSError: It cannot be opened, is a link, or its file system knows no locks.
    """
    access = os.O_RDONLY if path.is_dir() else os.O_RDWR  # network file systems lock only what may be written
    descriptor = os.open(path, access | os.O_NOFOLLOW)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(descriptor)
        raise
    return descriptor


def is_held(path: Path) -> bool:
    """Whether a living process holds a file or folder; ``False`` where nobody can know."""
    try:
        os.close(hold(path))
    except BlockingIOError:
        return True
    except OSError:
        return False
    return False


@contextmanager
def waiting_for(path: Path) -> Iterator[None]:
    """Hold a file's lock, waiting for as long as another process holds it; the file is made and stays.

    Raises:
        OSError: It cannot be opened, or its file system knows no locks.
    """
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


@contextmanager
def temporary_folder(parent: Path, prefix: str) -> Iterator[Path]:
    """Yield an empty folder that is gone afterwards, after removing those of ``prefix`` whose owners were killed.

    Raises:
        OSError: ``parent`` cannot be written.
    """
    _remove_abandoned(parent, prefix)
    with tempfile.TemporaryDirectory(prefix=prefix, dir=parent) as name:
        folder = Path(name)
        fresh = folder / f"{_ALIVE}.new"
        fresh.touch()
        descriptor = hold(fresh)
        try:
            fresh.rename(folder / _ALIVE)  # locked before anyone can find it
            yield folder
        finally:
            os.close(descriptor)


def _remove_abandoned(parent: Path, prefix: str) -> None:
    for alive in parent.glob(f"{prefix}*/{_ALIVE}"):
        with contextlib.suppress(OSError):  # its owner lives, it is another user's, or it was just removed
            os.close(hold(alive))
            shutil.rmtree(alive.parent, ignore_errors=True)
