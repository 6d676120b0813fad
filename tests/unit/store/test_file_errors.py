"""What cannot be written is said with the remedy that fits."""

from __future__ import annotations

import errno
import os
import tracemalloc
from pathlib import Path

import pytest

from irbench.errors import IrbenchError
from irbench.store.file_errors import explained, read_bytes


@pytest.mark.parametrize(
    ("code", "remedy"),
    [
        (errno.ENOSPC, "Free some space there"),
        (errno.ENOTEMPTY, "Move away what is there"),
        (errno.EACCES, "Change its permissions"),
        (errno.ENOENT, "Check that its folder is there"),
    ],
)
def test_the_remedy_is_that_of_the_error_and_of_what_was_asked(code: int, remedy: str):
    for otherwise, said in (((), "--results"), (("name another file with -o",), "-o")):
        with pytest.raises(IrbenchError, match=os.strerror(code)) as caught, explained(Path("x"), *otherwise):
            raise OSError(code, os.strerror(code))
        assert caught.value.hint.startswith(remedy)
        assert said in caught.value.hint


def test_reading_a_small_file_takes_no_memory_for_a_large_one(tmp_path: Path):
    (tmp_path / "small").write_bytes(b"12345")
    tracemalloc.start()
    try:
        assert read_bytes(tmp_path / "small") == b"12345"
        assert tracemalloc.get_traced_memory()[1] < 1 << 20
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("size", [10, 11])
def test_a_file_may_be_as_large_as_is_said_and_no_larger(tmp_path: Path, size: int):
    (tmp_path / "file").write_bytes(bytes(size))
    if size == 10:
        assert read_bytes(tmp_path / "file", most_bytes=10) == bytes(10)
        return
    with pytest.raises(IrbenchError, match="it has more than"):
        read_bytes(tmp_path / "file", most_bytes=10)


def test_a_file_of_which_the_kernel_gives_no_size_is_read_whole():
    assert read_bytes(Path("/proc/self/status")).startswith(b"Name:")
