"""Looking for processes that should have ended."""

from __future__ import annotations

import time
from collections.abc import Callable

import psutil

_PATIENCE_S = 30.0
_PAUSE_S = 0.05


def none_left(wanted: Callable[[psutil.Process], bool]) -> bool:
    """Wait until no process is one of the wanted; whether that came to be. One that waits to be collected has ended."""
    for _ in range(round(_PATIENCE_S / _PAUSE_S)):
        if not any(_is(process, wanted) for process in psutil.process_iter()):
            return True
        time.sleep(_PAUSE_S)  # noqa: TID251 - others end in their own time
    return False


def _is(process: psutil.Process, wanted: Callable[[psutil.Process], bool]) -> bool:
    try:
        return process.status() != psutil.STATUS_ZOMBIE and wanted(process)
    except (psutil.NoSuchProcess, psutil.AccessDenied):
        return False
