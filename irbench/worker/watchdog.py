"""Kills workers whose coordinator is gone, frozen ones and all they started included.

The parent-death signal of the kernel fires when the *thread* that started a process ends and
does not reach grandchildren. A process that holds the reading end of a pipe notices
however the coordinator died, and kills what each worker started: its process group, and
whatever else bears the mark that children inherit with their environment.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import shutil
import signal
import sys
import tempfile
from functools import cache
from pathlib import Path


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


MARK = "IRBENCH_WORKER"
"""The environment variable by which a worker's offspring is known, also what became a daemon."""


class Watchdog:
    """The coordinator's end: says which workers are to die with it."""

    def __init__(self) -> None:
        import subprocess  # workers import this module too, and start nothing

        self._process = subprocess.Popen(
            [sys.executable, "-I", "-S", __file__],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            start_new_session=True,
        )

    def guard(self, process_group: int, mark: str) -> None:
        """Kill this worker and all it started when the coordinator ends."""
        self._say(f"+{process_group} {mark}\n")

    def release(self, process_group: int, mark: str) -> None:
        """Forget this worker: it was ended and waited for, and its number may be used again."""
        self._say(f"-{process_group} {mark}\n")

    def close(self) -> None:
        """Let the watchdog end, even one that somebody has stopped; it kills what it still guards."""
        self._process.send_signal(signal.SIGCONT)
        self._process.communicate()

    def _say(self, line: str) -> None:
        assert self._process.stdin is not None
        with contextlib.suppress(BrokenPipeError):  # the kernel's parent-death signal is left
            self._process.stdin.write(line.encode())
            self._process.stdin.flush()


@cache
def watchdog() -> Watchdog:
    """Return this process's watchdog, started at its first use and ended with the process."""
    watchdog = Watchdog()
    atexit.register(watchdog.close)
    return watchdog


def kill_all(process_group: int, mark: str) -> None:
    """Kill a worker and all it started, frozen or not: its process group, and what left it but bears its mark.

    Returns without waiting for their ends.

    The worker leads its process group and was not waited for yet.
    """
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process_group, signal.SIGKILL)
    killed: set[int] = set()
    while fresh := _marked(mark) - killed:  # again, for those that were started meanwhile
        for process in fresh:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(process, signal.SIGKILL)
        killed |= fresh


def worker_folder(mark: str) -> Path:
    """Return the folder for a worker's own files, which it makes if it needs one, and which is removed with it."""
    return Path(tempfile.gettempdir()) / f"irbench-worker-{mark}"


def _marked(mark: str) -> set[int]:
    """Return the ids of all processes that were given this mark; one that has ended has none any more."""
    variable = f"{MARK}={mark}".encode()
    processes: set[int] = set()
    for environment in Path("/proc").glob("[0-9]*/environ"):
        with contextlib.suppress(OSError):
            if variable in environment.read_bytes().split(b"\0"):
                processes.add(int(environment.parent.name))
    return processes


def watch() -> None:
    """Run in the watchdog's own process until the coordinator's end of the pipe closes."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    guarded: set[str] = set()
    for line in sys.stdin:
        (guarded.add if line[0] == "+" else guarded.discard)(line[1:])
    for worker in guarded:
        group, mark = worker.split()
        kill_all(int(group), mark)
        shutil.rmtree(worker_folder(mark), ignore_errors=True)


if __name__ == "__main__":
    watch()
