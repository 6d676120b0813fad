"""Writing files so that a crash leaves the old content or the new, never a mixture."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from irbench.errors import IrbenchError

__all__ = [
    "explained",
    "make_folder",
    "prove_writable",
    "read_bytes",
    "sync_folder",
    "write_atomically",
    "write_synced",
]

_PROBE_BYTES = 1 << 20
"""More than a launch's file usually takes, so that a full disk shows before anything is measured."""


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
    write_synced(probe, bytes(_PROBE_BYTES))
    probe.unlink()


def write_synced(path: Path, data: bytes) -> None:
    """Write a file and wait until the disk has its content.

    Raises:
        IrbenchError: The disk is full, or the folder may not be written; nothing is left behind.
    """
    with explained(path):
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
        IrbenchError: As :func:`write_synced`; the old content is then still there.
    """
    beside = path.with_name(f".{path.name}.new")
    write_synced(beside, data)
    with explained(path):
        beside.replace(path)
        sync_folder(path.parent)


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
def explained(path: Path) -> Iterator[None]:
    """Turn the failure to write ``path`` into an error that says how to mend it."""
    try:
        yield
    except OSError as error:
        raise IrbenchError(
            f"{path} cannot be written: {error.strerror}.",
            hint="Make room there, or name another folder with --results or IRBENCH_RESULTS.",
        ) from error


def sync_folder(folder: Path) -> None:
    """Wait until the disk knows which files a folder holds."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
