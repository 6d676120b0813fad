"""The process of a user's command: its start, its lines, and how it ended."""

from __future__ import annotations

import contextlib
import os
import select
import shlex
import signal
import subprocess
from collections.abc import Mapping
from pathlib import Path

from irbench.errors import IrbenchError
from irbench.system.programs import clean_environment, find_program

_PIECE_BYTES = 1 << 16
_LONGEST_LINE_BYTES = 1 << 26
_TAIL_BYTES = 2000
_LAST_WORDS = 200
_GRACE_S = 5.0
"""How long a command may take to end that has closed its output."""
_OWN_ERRORS = Path("/proc/self/fd/2")


class CommandEnded(IrbenchError):
    """The command ended before it wrote a line.

    Attributes:
        code: Its exit code; negative for a signal.
    """

    def __init__(self, code: int, last_words: str) -> None:
        how = f"exit code {code}" if code >= 0 else _signal_name(-code)
        hint = f"The last line on its standard error: {last_words}" if last_words else ""
        super().__init__(f"The command ended with {how}.", hint=hint)
        self.code = code


def command_words(target: str, values: Mapping[str, str]) -> list[str]:
    """Return the words of a command, split as a shell does, with values in place of ``{name}``.

    A brace with any other name stays as it is.
    """
    words = shlex.split(target)
    for name, value in values.items():
        words = [word.replace(f"{{{name}}}", value) for word in words]
    return words


class CommandProcess:
    """A child of this worker, in its process group, so that it is frozen and ended with it.

    No shell reads ``words``.
    """

    def __init__(self, words: list[str], environment: Mapping[str, str]) -> None:
        self._words = words
        self._environment = {**clean_environment(), "PYTHONUNBUFFERED": "1", **environment}
        self._arrived = bytearray()
        self._log_start = _size_of_errors()
        self._process = self._start()

    def restart(self) -> None:
        """Start the command again, which has ended."""
        self.close()
        self._process = self._start()

    def read_line(self) -> str:
        """Wait for a line and return it without its end.

        Raises:
            CommandEnded: There is none to come.
            IrbenchError: It is not text, or endless.
        """
        while (end := self._arrived.find(b"\n")) < 0:
            if len(self._arrived) > _LONGEST_LINE_BYTES:
                raise IrbenchError("The command wrote a line without an end.", hint="End each line with a newline.")
            if not self._take_in():
                return self._last_line()
        line = self._arrived[:end].decode(errors="replace")
        del self._arrived[: end + 1]
        return line

    def write_line(self, line: str) -> None:
        """Write a request to the command's standard input."""
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(f"{line}\n".encode())
        except BrokenPipeError:
            raise self._end() from None

    def discard_waiting(self) -> bytes:
        """Return what the command has written until now, and forget it."""
        while self._is_readable() and self._take_in():
            pass
        waiting, self._arrived = bytes(self._arrived), bytearray()
        return waiting

    def require_own_group(self) -> None:
        """Refuse a command that left the worker's process group: it cannot be frozen."""
        with contextlib.suppress(ProcessLookupError):
            if os.getpgid(self._process.pid) != os.getpgid(0):
                raise IrbenchError(
                    "The command left its process group, so it cannot be frozen while others are measured.",
                    hint="Start it without setsid and without its own process group.",
                )

    def close(self) -> None:
        """End the command and wait for it."""
        for pipe in (self._process.stdin, self._process.stdout):
            with contextlib.suppress(BrokenPipeError):
                if pipe is not None:
                    pipe.close()
        self._process.kill()
        self._process.wait()

    def _start(self) -> subprocess.Popen[bytes]:
        try:
            return subprocess.Popen(
                self._words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0, env=self._environment
            )
        except OSError as error:
            raise IrbenchError(
                f"{self._words[0]} cannot be started: {error.strerror or error}.",
                hint="A command is a program and its arguments, without a shell: write bash -c '...' for one."
                if find_program(self._words[0]) is None
                else "Make it executable, and begin a script with #! and its interpreter.",
            ) from error

    def _take_in(self) -> bool:
        assert self._process.stdout is not None
        piece = os.read(self._process.stdout.fileno(), _PIECE_BYTES)
        self._arrived += piece
        return bool(piece)

    def _is_readable(self) -> bool:
        assert self._process.stdout is not None
        return bool(select.select([self._process.stdout], [], [], 0)[0])

    def _last_line(self) -> str:
        if not self._arrived.strip():
            raise self._end()
        line, self._arrived = self._arrived.decode(errors="replace"), bytearray()
        return line

    def _end(self) -> CommandEnded:
        try:
            code = self._process.wait(_GRACE_S)
        except subprocess.TimeoutExpired:  # it has closed its output, and nothing more can come
            self._process.kill()
            code = self._process.wait()
        return CommandEnded(code, _last_words(self._log_start))


def _size_of_errors() -> int:
    with contextlib.suppress(OSError):
        return _OWN_ERRORS.stat().st_size
    return 0


def _last_words(start: int) -> str:
    """Return the last line of this worker's standard error, which is the command's too, since a place in it."""
    try:
        with _OWN_ERRORS.open("rb") as log:
            log.seek(max(start, log.seek(0, os.SEEK_END) - _TAIL_BYTES))
            lines = log.read(_TAIL_BYTES).decode(errors="replace").strip().splitlines()
    except OSError:  # no file that can be read
        return ""
    return lines[-1][-_LAST_WORDS:] if lines else ""


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
