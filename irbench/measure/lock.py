"""One measurement at a time on a machine: two would disturb each other, and both would be wrong."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from irbench.errors import IrbenchError
from irbench.measure.clock import utc_now

__all__ = ["measuring", "who_measures"]

_VARIABLE = "IRBENCH_LOCK"
_SHARED = "/tmp/irbench.lock"  # noqa: S108 - every user of the machine must find it, and TMPDIR may be one's own
_MOST_BYTES = 4096


@contextmanager
def measuring(what: str) -> Iterator[None]:
    """Hold the machine's lock on measuring.

    The kernel releases it when this process ends, however it ends. Workers do not inherit it.

    Args:
        what: Tells whoever has to wait what is measured, in a few words.

    Raises:
        IrbenchError: Someone else holds it, or its file cannot be opened.
    """
    with _opened() as descriptor:
        if not _take(descriptor):
            raise IrbenchError(
                f"{_told(descriptor)} is measuring on this machine already.",
                hint="Wait until it has ended, or accept that both disturb each other: --no-lock",
            )
        _tell(descriptor, what)
        yield


def who_measures() -> str | None:
    """Return who holds the lock, as the beginning of a sentence; ``None`` where nobody does.

    Raises:
        IrbenchError: The lock's file cannot be opened.
    """
    with _opened() as descriptor:
        return None if _take(descriptor) else _told(descriptor)


@contextmanager
def _opened() -> Iterator[int]:
    """Open the lock's file, made for all users by the first; closing it gives the lock back."""
    path = Path(os.environ.get(_VARIABLE) or _SHARED)
    try:
        descriptor = _open(path)
    except OSError as error:
        raise IrbenchError(
            f"The lock on measuring, {path}, cannot be opened: {error.strerror}.",
            hint=f"Name another file with {_VARIABLE}, or go without: --no-lock",
        ) from error
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _open(path: Path) -> int:
    with contextlib.suppress(FileExistsError):  # another process was quicker
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW)
        os.fchmod(descriptor, 0o666)  # the mask of the user who comes first must not keep others out
        return descriptor
    # without O_CREAT: the kernel refuses it for files of other users in a shared folder
    return os.open(path, os.O_RDWR | os.O_NOFOLLOW)


def _take(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _tell(descriptor: int, what: str) -> None:
    holder = {"process": os.getpid(), "since": utc_now().isoformat(timespec="seconds"), "what": what}
    with contextlib.suppress(OSError):  # a full disk takes away the name of the holder, not the lock
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, json.dumps(holder).encode(), 0)


def _told(descriptor: int) -> str:
    """Say what the holder wrote; it may not have written yet, and any user can write anything."""
    try:
        holder: dict[str, Any] = json.loads(os.pread(descriptor, _MOST_BYTES, 0))
        return f"irbench (process {int(holder['process'])}, since {holder['since']}: {holder['what']})"
    except (OSError, ValueError, KeyError, TypeError):
        return "another irbench"
