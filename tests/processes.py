"""Looking for processes that should have ended."""

from __future__ import annotations

import time
from collections.abc import Callable

import psutil

from irbench.worker import model_files

_PATIENCE_S = 30.0
_PAUSE_S = 0.05


def workers() -> list[psutil.Process]:
    """Return the workers of this process, but for the one that reads model files, which waits for the next call."""
    children = psutil.Process().children(recursive=True)
    reader = model_files.READER.process_id
    return [child for child in children if "irbench.worker" in child.cmdline() and child.pid != reader]


def none_left(wanted: Callable[[psutil.Process], bool]) -> bool:
    """Wait until no process is one of the wanted; whether that came to be. One that waits to be collected has ended."""
    for _ in range(round(_PATIENCE_S / _PAUSE_S)):
        if not any(_is(process, wanted) for process in psutil.process_iter()):
            return True
        time.sleep(_PAUSE_S)  # noqa: TID251 - others end in their own time
    return False


def has_stopped(process: psutil.Process) -> bool:
    """Wait until a process that was told to stop is scheduled again and does; whether that came to be."""
    for _ in range(round(_PATIENCE_S / _PAUSE_S)):
        if process.status() == psutil.STATUS_STOPPED:
            return True
        time.sleep(_PAUSE_S)  # noqa: TID251 - others stop in their own time
    return False


def _is(process: psutil.Process, wanted: Callable[[psutil.Process], bool]) -> bool:
    try:
        return process.status() != psutil.STATUS_ZOMBIE and wanted(process)
    except (psutil.NoSuchProcess, psutil.AccessDenied):
        return False
