"""Waiting for what other processes do in their own time: on a busy machine they end, stop and start late."""

from __future__ import annotations

import time
from collections.abc import Callable

import psutil

from irbench.worker import model_files

_PATIENCE_S = 60.0
_PAUSE_S = 0.05


def workers() -> list[psutil.Process]:
    """Return the workers of this process, but for the one that reads model files, which waits for the next call."""
    children = psutil.Process().children(recursive=True)
    reader = model_files.READER.process_id
    return [child for child in children if child.pid != reader and _is(child, _is_worker)]


def comes_true(condition: Callable[[], bool]) -> bool:
    """Wait until a condition holds, for a minute at most; whether that came to be."""
    for _ in range(round(_PATIENCE_S / _PAUSE_S)):
        if condition():
            return True
        time.sleep(_PAUSE_S)  # noqa: TID251 - others do something in their own time
    return False


def none_left(wanted: Callable[[psutil.Process], bool]) -> bool:
    """Wait until no process is one of the wanted; whether that came to be. One that waits to be collected has ended."""
    return comes_true(lambda: not any(_is(process, wanted) for process in psutil.process_iter()))


def becomes(process: psutil.Process, status: str) -> bool:
    """Wait until a process has a status: signals are obeyed a moment after they are sent."""
    return comes_true(lambda: process.status() == status)


def _is_worker(process: psutil.Process) -> bool:
    return "irbench.worker" in process.cmdline()


def _is(process: psutil.Process, wanted: Callable[[psutil.Process], bool]) -> bool:
    try:
        return process.status() != psutil.STATUS_ZOMBIE and wanted(process)
    except (psutil.NoSuchProcess, psutil.AccessDenied):
        return False
