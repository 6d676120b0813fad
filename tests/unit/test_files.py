"""A file is replaced whole or not at all, and nothing is left beside it."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from irbench.files import write_atomically


def test_the_folder_is_on_the_disk_before_a_write_returns(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    synced: list[str] = []
    fsync = os.fsync

    def watched(descriptor: int) -> None:
        synced.append(str(Path(f"/proc/self/fd/{descriptor}").readlink()))
        fsync(descriptor)

    monkeypatch.setattr("os.fsync", watched)
    write_atomically(tmp_path / "card.json", b"new")
    assert synced[-1] == str(tmp_path)
    assert (tmp_path / "card.json").read_bytes() == b"new"


def test_a_full_disk_keeps_the_old_content_and_leaves_nothing_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "card.json").write_bytes(b"old")

    def full(_descriptor: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(OSError, match="No space"):
        write_atomically(tmp_path / "card.json", b"new")
    assert [(path.name, path.read_bytes()) for path in tmp_path.iterdir()] == [("card.json", b"old")]
