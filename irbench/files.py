"""Writing files so that a crash leaves the old content or the new, never a mixture."""

from __future__ import annotations

import os
from pathlib import Path

__all__ = ["sync_folder", "write_atomically", "write_synced"]


def write_synced(path: Path, data: bytes) -> None:
    """Write a file and wait until the disk has its content.

    Raises:
        OSError: The disk is full, or the folder may not be written; nothing is left behind.
    """
    try:
        with path.open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
    except OSError:
        path.unlink(missing_ok=True)
        raise


def write_atomically(path: Path, data: bytes) -> None:
    """Replace a file's content in one step: readers see the old content or the new.

    Every file that was written into the same folder before is on the disk afterwards too.

    Raises:
        OSError: As :func:`write_synced`; the old content is then still there.
    """
    beside = path.with_name(f".{path.name}-{os.urandom(4).hex()}.new")  # two processes may write at once
    write_synced(beside, data)
    beside.replace(path)
    sync_folder(path.parent)


def sync_folder(folder: Path) -> None:
    """Wait until the disk knows which files a folder holds.

    Raises:
        OSError: The folder cannot be read.
    """
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
