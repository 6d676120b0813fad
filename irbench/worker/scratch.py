"""Folders that go with their process: at once where it ends in order, at the next use where it was killed."""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

__all__ = ["scratch_folder"]

_PREFIX = "irbench-scratch-"
_ALIVE = ".alive"
"""A file that the owner keeps locked: process ids tell nothing across containers that share a folder."""


@contextmanager
def scratch_folder() -> Iterator[Path]:
    """Yield an empty folder, after removing those whose owners were killed.

    Raises:
        OSError: The folder for temporary files cannot be written.
    """
    _remove_abandoned(Path(tempfile.gettempdir()))
    with tempfile.TemporaryDirectory(prefix=_PREFIX) as name:
        folder = Path(name)
        descriptor = os.open(folder / f"{_ALIVE}.new", os.O_RDWR | os.O_CREAT)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            (folder / f"{_ALIVE}.new").rename(folder / _ALIVE)  # locked before anyone can find it
            yield folder
        finally:
            os.close(descriptor)


def _remove_abandoned(parent: Path) -> None:
    for alive in parent.glob(f"{_PREFIX}*/{_ALIVE}"):
        with contextlib.suppress(OSError):  # another user's, or just removed
            if _is_unlocked(alive):
                shutil.rmtree(alive.parent, ignore_errors=True)


def _is_unlocked(path: Path) -> bool:
    descriptor = os.open(path, os.O_RDWR | os.O_NOFOLLOW)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    finally:
        os.close(descriptor)
    return True
