"""Writing files so that a crash leaves the old content or the new, never a mixture."""

from __future__ import annotations

import os
from pathlib import Path

from irbench.errors import IrbenchError

__all__ = ["read_bytes", "write_atomically", "write_synced"]


def write_synced(path: Path, data: bytes) -> None:
    """Write a new file and wait until the disk has it.

    Raises:
        IrbenchError: The disk is full, or the folder may not be written.
    """
    try:
        with path.open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        path.unlink(missing_ok=True)
        raise IrbenchError(
            f"{path} cannot be written: {error.strerror}.",
            hint="Make room, or name another folder with --results; finished launches are kept.",
        ) from None


def write_atomically(path: Path, data: bytes) -> None:
    """Replace a file's content in one step: readers see the old content or the new.

    Raises:
        IrbenchError: As :func:`write_synced`; the old content is then still there.
    """
    beside = path.with_name(f".{path.name}.new")
    write_synced(beside, data)
    beside.replace(path)
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


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
        ) from None
