"""The processes that a call of irbench fleet has started, and waiting for them."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from typing import Any

import psutil
from processes import none_left


def job_processes(ancestor: int) -> list[psutil.Process]:
    """Return the processes of jobs below a process.

    What a job starts has the job's command line until it begins; it is none.
    """
    found = {}
    for process in psutil.Process(ancestor).children(recursive=True):
        try:
            if "irbench.features.fleet.on_target.job_process" in process.cmdline():
                found[process.pid] = process.ppid(), process
        except psutil.Error:
            continue
    return [process for parent, process in found.values() if parent not in found]


def nothing_is_left() -> bool:
    """Wait until no process is left that a call of this test started."""
    own = os.environ["IRBENCH_HOME"]
    return none_left(lambda process: process.pid != os.getpid() and process.environ().get("IRBENCH_HOME") == own)


def waited_for(find: Callable[[], Any]) -> Any:
    """Return what a function finds, when it finds something."""
    while not (found := find()):
        time.sleep(0.05)  # noqa: TID251 - others do something in their own time
    return found
