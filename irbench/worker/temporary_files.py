"""Temporary files of a worker: they go with it, however it ends."""

from __future__ import annotations

import contextlib
import os
import tempfile

from irbench.worker.watchdog import MARK, worker_folder


def own_temporary_files() -> None:
    """Have what this worker makes temporarily lie in its own folder, which is removed even where the worker is killed.

    Runtimes write whole graphs into temporary folders while they compile, and a worker that runs out of memory or time
    cannot remove them. Does nothing outside of workers, and where the folder cannot be made.
    """
    mark = os.environ.get(MARK)
    if mark is None or (tempfile.tempdir or "").endswith(mark):
        return
    folder = worker_folder(mark)
    with contextlib.suppress(OSError):
        folder.mkdir(mode=0o700, exist_ok=True)
        tempfile.tempdir = str(folder)
