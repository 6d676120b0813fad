"""Dropping files from the page cache, reading them in, and seeing how much of them is there."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from irbench.system import page_cache
from irbench.system.page_cache import Residency

SIZE = 1_000_000


@pytest.fixture
def file() -> Iterator[Path]:
    """A file on a disk: those of a tmpfs cannot leave memory."""
    with tempfile.NamedTemporaryFile(dir=Path(__file__).parent, prefix=".page-cache-", delete=False) as opened:
        opened.write(os.urandom(SIZE))
    path = Path(opened.name)
    yield path
    path.unlink()


def test_a_file_that_was_read_is_in_memory_and_after_dropping_it_is_not(file: Path):
    page_cache.read_in([file])
    assert page_cache.residency([file]) == Residency(SIZE, SIZE)
    page_cache.drop([file])
    dropped = page_cache.residency([file]).share
    assert dropped is not None
    if dropped == 1:
        pytest.skip("this file system keeps its files in memory")
    assert dropped < 0.1
    page_cache.read_in([file])
    assert page_cache.residency([file]).share == 1


def test_looking_brings_nothing_into_memory(file: Path):
    page_cache.drop([file])
    assert page_cache.residency([file]) == page_cache.residency([file])


def test_files_that_are_gone_or_empty_count_for_nothing(tmp_path: Path):
    empty = tmp_path / "empty"
    empty.touch()
    absent = tmp_path / "absent"
    page_cache.drop([empty, absent])
    page_cache.read_in([empty, absent])
    assert page_cache.residency([empty, absent]) == Residency()
    assert page_cache.residency([]).share is None


def test_what_the_kernel_does_not_tell_is_unknown(file: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(page_cache, "is_reported", lambda file: False)
    assert page_cache.residency([file]) == Residency(unknown_bytes=SIZE)
    assert page_cache.residency([file]).share is None
