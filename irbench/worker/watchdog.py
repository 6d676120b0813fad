"""Kills workers whose coordinator is gone, frozen ones and all they started included.

The parent-death signal of the kernel fires when the *thread* that started a process ends and
does not reach grandchildren. A process that holds the reading end of a pipe notices
however the coordinator died, and kills what each worker started.

It runs as a script without site-packages, so this module imports the standard library alone.
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
"""The environment variable that marks the descendants of a worker, also those that it leaves when it crashes."""


class Offspring:
    """A worker and all its descendants, also those that left its process group, its session or its environment.

    A worker adopts the orphans among its descendants (``PR_SET_CHILD_SUBREAPER``, prctl(2)), so all of them are below
    it in the tree of processes while it lives. Those outside its process group are remembered when they are first
    seen, and children inherit :data:`MARK` with the environment: both find what the worker leaves when it crashes.

    Args:
        worker: Process id of the worker, which leads its process group and has not been waited for.
        mark: Its value of :data:`MARK`.

    Attributes:
        escaped: Descendants outside the process group, each with its start time in clock ticks since boot, by which a
            process is told from a later one with its number.
    """

    def __init__(self, worker: int, mark: str) -> None:
        self.worker = worker
        self.mark = mark
        self.escaped: dict[int, int] = {}

    def stop_escaped(self) -> bool:
        """Stop what is outside the process group; return whether any of it was not known before.

        Stop the group first: what stands still starts nothing.
        """
        stopped: set[int] = set()
        before = len(self.escaped)
        while fresh := self._outside() - stopped:  # again, for those that were started meanwhile
            for process in fresh:
                _send(signal.SIGSTOP, process)
            stopped |= fresh
        return len(self.escaped) > before

    def resume_escaped(self) -> None:
        """Let what is outside the process group run again."""
        for process in self._known():
            _send(signal.SIGCONT, process)

    def kill(self) -> None:
        """Kill the worker and all its descendants, frozen or not; returns without waiting for their ends.

        They are stopped before the first is killed: the children of a killed worker are no longer below it.
        """
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.worker, signal.SIGSTOP)
        stopped: set[int] = set()
        while fresh := (self._outside() | _marked(self.mark)) - stopped:
            for process in fresh:
                _send(signal.SIGSTOP, process)
            stopped |= fresh
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.worker, signal.SIGKILL)
        for process in stopped:
            _send(signal.SIGKILL, process)

    def _known(self) -> set[int]:
        """Return what escaped and still lives."""
        return {process for process, started in self.escaped.items() if _start_ticks(process) == started}

    def _outside(self) -> set[int]:
        """Return the living descendants outside the process group, and remember them."""
        known = self._known()
        for process in descendants({self.worker, *known}) - known:
            with contextlib.suppress(OSError):  # it has ended
                if os.getpgid(process) != self.worker and (started := _start_ticks(process)) is not None:
                    self.escaped[process] = started
                    known.add(process)
        return known


def descendants(processes: set[int]) -> set[int]:
    """Return all that descends from some processes: their children, and the children of these."""
    found: set[int] = set()
    pending = list(processes)
    while pending:
        children = _children(pending.pop()) - found
        found |= children
        pending += children
    return found


def _children(process: int) -> set[int]:
    """Return the children of a process, which the kernel lists for each of its threads."""
    folder = f"/proc/{process}/task"
    children: set[int] = set()
    with contextlib.suppress(OSError):  # it, or a thread of it, has ended
        for thread in os.listdir(folder):  # noqa: PTH208 - names alone, each time a worker is frozen
            with contextlib.suppress(OSError), open(f"{folder}/{thread}/children", "rb") as listed:  # noqa: PTH123
                children.update(map(int, listed.read().split()))
    return children


def _start_ticks(process: int) -> int | None:
    """Return when a process was started, in clock ticks since boot; ``None`` where it has ended."""
    try:
        stat = Path(f"/proc/{process}/stat").read_bytes()
    except OSError:
        return None
    state, *fields = stat.rpartition(b")")[2].split()
    return None if state in {b"Z", b"X"} else int(fields[18])  # field 22 of proc(5)


def _send(number: signal.Signals, process: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.kill(process, number)


class Watchdog:
    """The coordinator's end: tells the watchdog's process which workers are to die with the coordinator."""

    def __init__(self) -> None:
        import subprocess  # workers import this module too, and start nothing

        from irbench.system.programs import python_process

        command, environment = python_process(__file__, isolated=True)
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            start_new_session=True,
            env=environment,
        )

    def guard(self, offspring: Offspring) -> None:
        """Kill this worker and all its descendants when the coordinator ends; again with what has escaped since."""
        escaped = " ".join(f"{process}:{started}" for process, started in offspring.escaped.items())
        self._say(f"{offspring.mark} {offspring.worker} {escaped}\n")

    def release(self, offspring: Offspring) -> None:
        """Forget this worker: it was ended and waited for, and its number may be used again."""
        self._say(f"{offspring.mark}\n")

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
    guarded: dict[str, Offspring] = {}
    for line in sys.stdin:
        mark, *known = line.split()
        guarded.pop(mark, None)
        if known:
            guarded[mark] = offspring = Offspring(int(known[0]), mark)
            offspring.escaped.update(
                (int(process), int(started)) for process, started in (each.split(":") for each in known[1:])
            )
    for offspring in guarded.values():
        offspring.kill()
        shutil.rmtree(worker_folder(offspring.mark), ignore_errors=True)


if __name__ == "__main__":
    watch()
