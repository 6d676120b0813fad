"""Where benchmarks run commands as a user does: whole processes, away from the user's own bundles and results."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, BinaryIO, TypeVar

import psutil

from irbench.errors import ExitCode
from irbench.measure.clock import Stopwatch
from irbench.system import host

MEASURED = (ExitCode.DIFFERENT, ExitCode.FAILED_CELL, ExitCode.UNDECIDED)
"""How ``irbench run`` ends where a row went wrong and the others were measured."""

_DEADLINE_S = 900.0
_LOOK_EVERY_S = 0.1
_KIB = 1024

Value = TypeVar("Value")


class CommandFailed(Exception):
    """A command ended with an error, which the message quotes."""


@dataclass(frozen=True)
class Finished:
    """A command that went well.

    Attributes:
        seconds: Wall time from its start to its end, start of the interpreter included.
        out: What it wrote to standard output.
        cpu_s: Processor time of it and of the processes that it waited for, which other programs hardly change.
        peak_bytes: Largest resident peak (``VmHWM``) of any one process in its tree; 0 where it was not watched.
    """

    seconds: float
    out: str
    cpu_s: float = 0.0
    peak_bytes: int = 0


class Workbench:
    """Settings that all benchmarks share.

    Attributes:
        scratch: A folder that is gone afterwards; it also stands in for the user's cache and results.
        quick: Whether to prove only that everything works.
        threads: Threads that every runtime gets.
    """

    def __init__(self, scratch: Path, *, quick: bool) -> None:
        self.scratch = scratch
        self.quick = quick
        self.threads = host.allowance().threads

    def repeats(self, usual: int) -> int:
        """Return how often to repeat: as usual, or once in a smoke run."""
        return 1 if self.quick else usual

    @cached_property
    def bundle(self) -> Path:
        """ResNet-50 for batch 1: every runtime and every peer reads its very ``model.onnx``."""
        folder = self.scratch / "resnet50"
        self.irbench("export", "resnet50", "--batch", "1", "-o", folder)
        return folder

    def irbench(self, *arguments: object, **how: Any) -> Finished:
        """Call irbench; see :meth:`run`."""
        return self.run("irbench", *arguments, **how)

    def run(
        self,
        program: str,
        *arguments: object,
        home: Path | None = None,
        watch_memory: bool = False,
        accept: Collection[int] = (),
        environment: Mapping[str, str] | None = None,
    ) -> Finished:
        """Run a program of this environment in a session of its own and wait for it.

        Args:
            program: Its name, beside the interpreter that runs this.
            arguments: Of any type that has a text.
            home: What ``IRBENCH_HOME`` is; a folder that lasts as long as the workbench unless given.
            watch_memory: Whether to look at its memory ten times a second.
            accept: Exit codes besides 0 that are no error, provided that it wrote something to standard output.
            environment: Variables that it gets besides those of this process and the workbench's own.

        Raises:
            CommandFailed: It ended with an error, or not within a quarter of an hour.
        """
        with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
            watch, before = Stopwatch(), _cpu_of_children_s()
            process = subprocess.Popen(
                [str(Path(sys.executable).with_name(program)), *map(str, arguments)],
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=err,
                env={**self._environment(home), **(environment or {})},
                start_new_session=True,
            )
            with _ended_at_last(process), _memory_watched(process.pid if watch_memory else None) as peaks:
                process.wait()
                seconds = watch.elapsed_s
            code, written = process.returncode, _text(out)
            if code and not (code in accept and written):
                raise CommandFailed(_reason(program, code, _text(err) or written))
            return Finished(seconds, written, _cpu_of_children_s() - before, max(peaks.values(), default=0))

    def _environment(self, home: Path | None) -> dict[str, str]:
        return {
            **os.environ,
            "IRBENCH_HOME": str(home or self.scratch / "home"),
            "IRBENCH_RESULTS": str(self.scratch / "results"),
            "CI": "true",  # keeps openvino, ours and benchmark_app's, from calling its telemetry
            "TF_CPP_MIN_LOG_LEVEL": "2",
        }


def in_turn(repeats: int, item: Callable[[], Value], other: Callable[[], Value]) -> tuple[tuple[Value, ...], ...]:
    """Return what two measurements give that take turns, every other time in reverse order."""
    found: tuple[list[Value], list[Value]] = ([], [])
    for repeat in range(repeats):
        for index in (0, 1) if repeat % 2 == 0 else (1, 0):
            found[index].append((item, other)[index]())
    return tuple(found[0]), tuple(found[1])


@contextmanager
def _ended_at_last(process: subprocess.Popen[bytes]) -> Iterator[None]:
    """End the process group at the deadline, and whatever is left of it when the caller is interrupted."""

    def end() -> None:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)

    deadline = threading.Timer(_DEADLINE_S, end)
    deadline.daemon = True
    deadline.start()
    try:
        yield
    finally:
        deadline.cancel()
        if process.poll() is None:
            end()
            process.wait()


@contextmanager
def _memory_watched(process_id: int | None) -> Iterator[dict[int, int]]:
    """Yield the resident peak of each process of a tree in bytes; the kernel keeps it, so looking seldom is enough."""
    peaks: dict[int, int] = {}
    if process_id is None:
        yield peaks
        return
    ended = threading.Event()

    def look() -> None:
        while not ended.wait(_LOOK_EVERY_S):
            with suppress(psutil.Error):
                for child in (root := psutil.Process(process_id)), *root.children(recursive=True):
                    peaks[child.pid] = max(peaks.get(child.pid, 0), _peak_bytes(child.pid))

    watcher = threading.Thread(target=look, daemon=True)
    watcher.start()
    try:
        yield peaks
    finally:
        ended.set()
        watcher.join()


def _cpu_of_children_s() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _peak_bytes(process_id: int) -> int:
    with suppress(OSError):
        for line in Path(f"/proc/{process_id}/status").read_text(encoding="utf-8").splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * _KIB
    return 0


def _text(file: BinaryIO) -> str:
    file.seek(0)
    return file.read().decode(errors="replace")


def _reason(program: str, code: int, printed: str) -> str:
    """Return what a command said of its failure: irbench's own line of the error, or the last of another's."""
    lines = printed.strip().splitlines() or ["it printed nothing"]
    said = next((line for line in lines if line.startswith("error: ")), lines[-1])
    return f"{program} ended with {code}: {said.removeprefix('error: ')}"
