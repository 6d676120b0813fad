"""Files of irbench's folder that are called what they hold, so that equal content is one file."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable
from pathlib import Path

from irbench.errors import IrbenchError
from irbench.system.file_states import is_file
from irbench.system.home import home
from irbench.system.locks import temporary_folder

UNUSED_DAYS = 30
_UNUSED_S = UNUSED_DAYS * 24 * 3600
_STAGING = "saving-"


def kept_file(folder: str, name: str, save: Callable[[Path], object]) -> Path:
    """Return a file of irbench's folder; where it is missing, it is saved, and files that nobody used are removed.

    Args:
        folder: The part of irbench's folder that it is in.
        name: What it is called, which says what it holds.
        save: Writes it to the path that it is given.

    Raises:
        IrbenchError: It cannot be written.
    """
    file = home() / folder / name
    try:
        if is_file(file):
            with contextlib.suppress(OSError):  # it may lie where nothing can be written
                os.utime(file)
            return file
        file.parent.mkdir(parents=True, exist_ok=True)
        with temporary_folder(file.parent, _STAGING) as staging:  # another process may keep the same now
            save(staging / name)
            with (staging / name).open("rb") as written:
                os.fsync(written.fileno())
            (staging / name).replace(file)
        remove_unused(file)
    except OSError as error:
        raise IrbenchError(
            f"{file} cannot be written: {error.strerror or error}.", hint="Make room there, or set IRBENCH_HOME."
        ) from error
    return file


def remove_unused(newest: Path) -> None:
    """Remove the files beside the newest that were neither kept again nor read for long."""
    now_s = newest.stat().st_mtime
    for file in newest.parent.iterdir():
        with contextlib.suppress(OSError):  # another process may have removed it
            status = file.stat()
            if is_file(file) and now_s - max(status.st_mtime, status.st_atime) > _UNUSED_S:
                file.unlink()
