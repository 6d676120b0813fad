"""An output that breaks loses nothing but what would have been written to it."""

from __future__ import annotations

import errno
import io
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TextIO

import pytest

from irbench.terminal.standard_streams import GuardedFile, OutputFailed, guarded_streams, is_unread, send_nowhere


@pytest.fixture
def unread() -> Iterator[int]:
    """Lend the writing end of a pipe that nobody reads."""
    reading, writing = os.pipe()
    os.close(reading)
    yield writing
    os.close(writing)


@pytest.fixture
def full() -> Iterator[int]:
    """Lend a device that has no room."""
    if not Path("/dev/full").exists():
        pytest.skip("no /dev/full here")
    descriptor = os.open("/dev/full", os.O_WRONLY)
    yield descriptor
    os.close(descriptor)


def stream(descriptor: int) -> TextIO:
    return open(descriptor, "w", encoding="utf-8", closefd=False)


def test_what_is_written_arrives(tmp_path: Path):
    with (tmp_path / "out").open("wb") as out:
        file = GuardedFile(out.fileno())
        assert file.write(b"data") == 4
        assert file.failure is None
    assert (tmp_path / "out").read_bytes() == b"data"


def test_after_a_failure_everything_is_taken_and_goes_nowhere(unread: int):
    file = GuardedFile(unread)
    assert [file.write(b"data"), file.write(memoryview(b"more data"))] == [4, 9]
    assert file.failure is not None
    assert is_unread(file.failure)
    assert os.write(unread, b"what a child writes") == 19


def test_a_device_without_room_is_another_failure(full: int):
    file = GuardedFile(full)
    assert file.write(b"data") == 4
    assert file.failure is not None
    assert (file.failure.errno, is_unread(file.failure)) == (errno.ENOSPC, False)


def test_a_terminal_that_was_closed_is_unread():
    ours, theirs = os.openpty()
    file = GuardedFile(theirs)
    os.close(ours)
    assert file.write(b"data") == 4
    os.close(theirs)
    assert file.failure is not None
    assert is_unread(file.failure)


def test_a_disk_that_fails_loses_output(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    def fail(*_: object) -> int:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    monkeypatch.setattr(GuardedFile, "_write", fail)
    with (tmp_path / "out").open("wb") as out:
        file = GuardedFile(out.fileno())
        file.write(b"data")
    assert file.failure is not None
    assert (file.failure.errno, is_unread(file.failure)) == (errno.EIO, False)


def test_a_command_that_only_prints_ends_with_its_output(unread: int):
    file = GuardedFile(unread)
    file.only_prints = True
    for _ in range(2):
        with pytest.raises(OutputFailed):
            file.write(b"data")


def test_a_pipe_that_another_program_made_non_blocking_is_waited_for():
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    with os.fdopen(reading, "rb") as reader, os.fdopen(writing, "wb") as pipe:
        size = os.write(writing, b"x" * 2**24)
        writer = io.BufferedWriter(_Draining(writing, reader))
        writer.write(b"more")
        writer.flush()
        del pipe
    assert size < 2**24


class _Draining(GuardedFile):
    """Reads from the other end of a pipe once it is full, as another process would."""

    def __init__(self, descriptor: int, reader: io.BufferedReader) -> None:
        super().__init__(descriptor)
        self._reader = reader

    def fileno(self) -> int:
        self._reader.read1(2**16)
        return super().fileno()


def test_both_streams_are_guarded_within_the_block_only(unread: int, full: int, monkeypatch: pytest.MonkeyPatch):
    before = stream(unread), stream(full)
    monkeypatch.setattr(sys, "stdout", before[0])
    monkeypatch.setattr(sys, "stderr", before[1])
    with guarded_streams() as output:
        sys.stdout.write("data")
        sys.stderr.write("words\n")
        failure = output.finish()
    assert failure is not None
    assert failure.errno == errno.EPIPE
    assert (sys.stdout, sys.stderr) == before
    before[0].close()  # nothing is left in it that could fail now
    before[1].close()


def test_the_rest_is_written_when_the_block_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    with (tmp_path / "out").open("w", encoding="ascii") as out:
        monkeypatch.setattr(sys, "stdout", out)
        with guarded_streams() as output:
            sys.stdout.write("±\n")
            assert output.finish() is None
    assert (tmp_path / "out").read_text() == "?\n"


def test_a_stream_that_python_found_closed_takes_everything(monkeypatch: pytest.MonkeyPatch):
    for name in ("stdin", "stdout", "stderr"):
        monkeypatch.setattr(sys, name, None)
    with guarded_streams():
        assert not sys.stdin.isatty() or sys.stdin.fileno() == 0
        assert (sys.stdout.fileno(), sys.stderr.fileno()) == (1, 2)
    assert sys.stdout is None


def test_a_stream_that_is_no_file_stays(monkeypatch: pytest.MonkeyPatch):
    mine = io.StringIO()
    monkeypatch.setattr(sys, "stdout", mine)
    with guarded_streams() as output:
        sys.stdout.write("data\n")
        output.stop_with_reader()
        assert output.finish() is None
    assert mine.getvalue() == "data\n"


def test_a_closed_descriptor_is_opened_to_nowhere_and_for_children_too():
    lowest = os.open(os.devnull, os.O_RDONLY)
    os.close(lowest)  # the next file that is opened would have its number
    send_nowhere(lowest)
    try:
        assert os.write(lowest, b"data") == 4
        assert os.get_inheritable(lowest)
    finally:
        os.close(lowest)
