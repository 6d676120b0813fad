"""Standard output and standard error, guarded: a command goes on when its output breaks."""

from __future__ import annotations

import contextlib
import errno
import io
import os
import select
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer

_READER_GONE = (errno.EPIPE, errno.ECONNRESET)


class OutputFailed(Exception):
    """Standard output cannot be written any more, and the command does nothing but write to it."""


class GuardedFile(io.FileIO):
    """A file descriptor that takes everything: after the first write that fails, what is written goes nowhere.

    Attributes:
        failure: The first error of a write; ``None`` if there was none. Of a terminal that was closed it is EPIPE.
        only_prints: Whether the command that writes does nothing else, so that going on would be of no use.
    """

    def __init__(self, descriptor: int) -> None:
        super().__init__(descriptor, "w", closefd=False)
        self.failure: OSError | None = None
        self._is_device = stat.S_ISCHR(os.fstat(descriptor).st_mode)
        self.only_prints = False

    def write(self, data: ReadableBuffer, /) -> int:
        """Write bytes, and return how many were taken.

        Raises:
            OutputFailed: They cannot be written, and the command only prints.
        """
        if self.failure is None:
            try:
                return self._write(data)
            except OSError as error:
                self.failure = self._explained(error)
                send_nowhere(self.fileno())
        if self.only_prints:
            raise OutputFailed from self.failure
        return memoryview(data).nbytes

    def _explained(self, error: OSError) -> OSError:
        """Tell a terminal that was closed, of which the kernel says EIO as well, from a disk that fails."""
        is_closed_terminal = self._is_device and error.errno == errno.EIO
        return BrokenPipeError(errno.EPIPE, os.strerror(errno.EPIPE)) if is_closed_terminal else error

    def _write(self, data: ReadableBuffer) -> int:
        # None: another program that shares the terminal or pipe has made it non-blocking
        while (count := super().write(data)) is None:
            select.select((), (self,), ())
        return count


def is_unread(failure: OSError) -> bool:
    """Whether a write failed because nobody reads: a pipe, socket or terminal was closed. Otherwise output is lost."""
    return failure.errno in _READER_GONE


class StandardOutput:
    """What became of standard output.

    Args:
        file: Its descriptor; ``None`` where a caller within this process has replaced it.
    """

    def __init__(self, file: GuardedFile | None) -> None:
        self._file = file

    def stop_with_reader(self) -> None:
        """Have the command end where its output cannot be written: it has nothing else to do."""
        if self._file is not None:
            self._file.only_prints = True

    def finish(self) -> OSError | None:
        """Write what is left, and return the first error of all writes; ``None`` if there was none."""
        if self._file is not None:
            self._file.only_prints = False
        sys.stdout.flush()
        return None if self._file is None else self._file.failure


@contextmanager
def guarded_streams() -> Iterator[StandardOutput]:
    """Guard ``sys.stdout`` and ``sys.stderr`` within the block.

    A stream that was closed when irbench started goes nowhere: files that are opened must not take its number. What
    a terminal's encoding does not have becomes ``?``.
    """
    _open_closed_descriptors()
    before = sys.stdin, sys.stdout, sys.stderr
    sys.stdin = before[0] or open(0, closefd=False)  # noqa: SIM115 - lent for as long as the process lives
    sys.stdout, out = _guarded(before[1], 1)
    sys.stderr, _ = _guarded(before[2], 2)
    output = StandardOutput(out)
    try:
        yield output
    finally:
        output.finish()
        sys.stderr.flush()
        sys.stdin, sys.stdout, sys.stderr = before


def send_nowhere(descriptor: int) -> None:
    """Have everything that is written to a descriptor go nowhere, also what child processes write."""
    nowhere = os.open(os.devnull, os.O_RDWR)
    if nowhere == descriptor:  # it was closed, and the lowest that was free
        os.set_inheritable(descriptor, True)
        return
    os.dup2(nowhere, descriptor)
    os.close(nowhere)


def _open_closed_descriptors() -> None:
    for descriptor in (0, 1, 2):
        try:
            os.fstat(descriptor)
        except OSError:
            send_nowhere(descriptor)


def _guarded(stream: TextIO | None, descriptor: int) -> tuple[TextIO, GuardedFile | None]:
    """Return a guarded stream in place of one, and its file; a stream that is not a file is returned as it is."""
    if stream is not None:
        with contextlib.suppress(OSError, ValueError):
            stream.flush()
        if not isinstance(stream, io.TextIOWrapper):
            return stream, None
        try:
            descriptor = stream.fileno()
        except (OSError, ValueError):
            stream.reconfigure(errors="replace")
            return stream, None
    file = GuardedFile(descriptor)
    writer = io.BufferedWriter(file)
    if stream is None:
        return io.TextIOWrapper(writer, "utf-8", errors="replace"), file
    guarded = io.TextIOWrapper(
        writer,
        stream.encoding,
        errors="replace",
        line_buffering=stream.line_buffering,
        write_through=stream.write_through,
    )
    return guarded, file
