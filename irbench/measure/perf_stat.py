"""``perf stat`` attached to a process: it counts between two words that it is given through a FIFO."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
from collections.abc import Mapping
from multiprocessing.connection import wait
from pathlib import Path
from typing import Self

import psutil

from irbench.measure.clock import Stopwatch, sleep
from irbench.perf_events.counter_plan import Counting
from irbench.perf_events.perf_output import read_toplev
from irbench.system.programs import clean_environment

PERF_ENVIRONMENT: Mapping[str, str] = {"LC_ALL": "C"}
"""perf writes numbers in the locale's form, in which they are not valid JSON."""

_ANSWER_S = 30.0
"""perf opens an event for each thread before it listens."""
_LOOK_S = 0.02
_WAKE_S = 0.002
_DISABLED = ("-D", "-1")
_EXPECTED = ("Events ", "Usage:", "-")
_HEADING = "Error:"
"""Lines that begin like the first, or are the second, say nothing of a failure."""


class CountingFailed(Exception):
    """perf or toplev ended, or gave no answer.

    Attributes:
        messages: All that it said; the text of the exception is the line that tells why.
    """

    def __init__(self, reason: str, messages: str = "") -> None:
        super().__init__(reason)
        self.messages = messages


class PerfStat:
    """Counters of one process, its threads and what they start. Use it as a context manager: it ends perf.

    They stand still until :meth:`enable`. perf attaches to the threads that there are, and follows those that they
    start.

    Args:
        counting: What is counted.
        process_id: Of the process.
        folder: An empty one, for its files.
        interval_ms: Counts are told for each so many milliseconds; ``None`` for one count at the end.
    """

    def __init__(self, counting: Counting, process_id: int, folder: Path, interval_ms: int | None = None) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._output, self._messages = folder / "counts", folder / "messages"
        control, acknowledged = folder / "control", folder / "acknowledged"
        os.mkfifo(control)
        os.mkfifo(acknowledged)
        # both ends, so that neither opening waits for perf
        self._control = os.open(control, os.O_RDWR)
        self._acknowledged = os.open(acknowledged, os.O_RDWR)
        self._has_steps = interval_ms is not None
        interval = () if interval_ms is None else ("-I", str(interval_ms))
        fifo = f"fifo:{control},{acknowledged}"
        attached = ("-p", str(process_id), *_DISABLED, "--control", fifo, *interval, "-o", str(self._output))
        self._process = _start([counting.perf, "stat", "-j", *counting.arguments, *attached], self._messages)
        self._ended = os.pidfd_open(self._process.pid)
        try:
            self._send("ping")
        except BaseException:
            self.close()
            raise

    def enable(self) -> None:
        """Let the counters run; returns when they do.

        Raises:
            CountingFailed: perf has ended, or gives no answer.
        """
        self._send("enable")

    def disable(self) -> None:
        """Let the counters stand still; raises as :meth:`enable` does."""
        self._send("disable")

    def finish(self) -> str:
        """End perf and return what it wrote."""
        if self._has_steps:
            self._await_sleep()
        self._process.send_signal(signal.SIGINT)  # it then writes what it counted, as after Ctrl-C
        return _written_at_end(self._process, self._output, self._messages)

    def _await_sleep(self) -> None:
        """Wait until perf waits for the end of its step: only a signal that wakes it makes it write the last one."""
        watch = Stopwatch()
        while _is_running(self._process.pid) and watch.elapsed_s < _ANSWER_S:
            sleep(_WAKE_S)

    def close(self) -> None:
        """End perf, whatever it does."""
        if self._control < 0:
            return
        if self._process.poll() is None:
            self._process.kill()
        self._process.wait()
        for descriptor in (self._control, self._acknowledged, self._ended):
            os.close(descriptor)
        self._control = -1

    def _send(self, word: str) -> None:
        os.write(self._control, f"{word}\n".encode())
        ready = wait([self._acknowledged, self._ended], _ANSWER_S)
        if self._acknowledged in ready:
            os.read(self._acknowledged, 64)
        else:
            said = _last_words(self._messages)
            raise CountingFailed(said or ("it ended" if ready else f"it gave no answer within {_ANSWER_S:.0f} s"))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class TopLev:
    """``toplev`` of pmu-tools attached to a process. Use it as a context manager: it ends toplev.

    It counts while a command of its own runs. That command reads from a FIFO, so that it begins when the FIFO is opened
    at its end and ends when we close ours.
    """

    def __init__(self, program: str, level: int, process_id: int, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._output, self._messages, running = folder / "nodes.csv", folder / "messages", folder / "running"
        os.mkfifo(running)
        what = [f"-l{level}", "-x,", "--no-desc", "--single-thread", "-o", str(self._output)]
        self._process = _start([program, *what, "-p", str(process_id), "cat", str(running)], self._messages)
        try:
            self._running: int | None = self._when_it_counts(running)
        except BaseException:
            self._running = None
            self.close()
            raise

    def nodes(self) -> dict[str, float]:
        """End it and return the share of slots of each node, from 0 to 1, by the node's name."""
        self._let_end()
        text = _written_at_end(self._process, self._output, self._messages)
        nodes = read_toplev(text)
        if self._process.returncode != 0 or not nodes:
            raise self._failure(f"it ended with exit code {self._process.returncode} and {len(nodes)} nodes")
        return nodes

    def close(self) -> None:
        """End it, whatever it does."""
        self._let_end()
        if self._process.poll() is None:
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()

    def _let_end(self) -> None:
        if self._running is not None:
            os.close(self._running)
            self._running = None

    def _when_it_counts(self, running: Path) -> int:
        watch = Stopwatch()
        while self._process.poll() is None and watch.elapsed_s < 2 * _ANSWER_S:
            try:
                return os.open(running, os.O_WRONLY | os.O_NONBLOCK)
            except OSError as error:
                if error.errno != errno.ENXIO:  # nobody reads it yet
                    raise
            sleep(_LOOK_S)
        raise self._failure("it did not begin to count")

    def _failure(self, otherwise: str) -> CountingFailed:
        """Return its failure with its last line, which in a traceback of Python is the one that tells why."""
        said = _messages(self._messages)
        lines = [line.strip() for line in said.splitlines() if line.strip()]
        return CountingFailed(lines[-1] if lines else otherwise, said)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _start(command: list[str], messages: Path) -> subprocess.Popen[bytes]:
    """Start a program in a session of its own, so that Ctrl-C reaches us alone."""
    with messages.open("wb") as said:
        try:
            return subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=said,
                stderr=said,
                start_new_session=True,
                env={**clean_environment(), **PERF_ENVIRONMENT},
            )
        except OSError as error:
            raise CountingFailed(f"{command[0]} cannot be started: {error.strerror}") from error


def _is_running(process_id: int) -> bool:
    try:
        return psutil.Process(process_id).status() in (psutil.STATUS_RUNNING, psutil.STATUS_DISK_SLEEP)
    except psutil.Error:
        return False


def _written_at_end(process: subprocess.Popen[bytes], output: Path, messages: Path) -> str:
    """Wait for a program that was told to end, and return what it wrote."""
    try:
        process.wait(_ANSWER_S)
    except subprocess.TimeoutExpired as error:
        raise CountingFailed(f"it did not end within {_ANSWER_S:.0f} s") from error
    text = output.read_text(errors="replace") if output.exists() else ""
    if not text.strip():
        raise CountingFailed(_last_words(messages) or "it wrote nothing")
    return text


def _last_words(messages: Path) -> str:
    """Return the first line of a program's messages that tells of a failure."""
    said = (line.strip() for line in _messages(messages).splitlines())
    return next((line for line in said if line and line != _HEADING and not line.startswith(_EXPECTED)), "")


def _messages(file: Path) -> str:
    try:
        return file.read_text(errors="replace")
    except OSError:
        return ""
