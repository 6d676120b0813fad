"""Files that are called what they hold: kept once, and removed when nobody uses them."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from irbench.errors import IrbenchError
from irbench.system.kept_files import UNUSED_DAYS, kept_file

DAY_S = 24 * 3600


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "home"
    monkeypatch.setenv("IRBENCH_HOME", str(folder))
    return folder


def kept(name: str, content: str = "content") -> Path:
    return kept_file("parts", name, lambda file: file.write_text(content))


def age(file: Path, *, kept_days: int, read_days: int) -> None:
    now_s = file.stat().st_mtime
    os.utime(file, (now_s - read_days * DAY_S, now_s - kept_days * DAY_S))


def test_a_file_is_saved_once(home: Path):
    assert kept("a", "first").read_text() == "first"
    assert kept("a", "second").read_text() == "first"
    assert [file.name for file in (home / "parts").iterdir()] == ["a"]


def test_what_nobody_used_for_long_is_removed_when_another_is_saved(home: Path):
    files = {name: kept(name, "first") for name in ("old", "read", "again", "new")}
    long = UNUSED_DAYS + 1
    for name, kept_days, read_days in (("old", long, long), ("read", long, 0), ("again", long, long)):
        age(files[name], kept_days=kept_days, read_days=read_days)
    kept("again")
    kept("newest")
    assert {file.name for file in (home / "parts").iterdir()} == {"read", "again", "new", "newest"}
    assert files["again"].read_text() == "first"


def test_a_file_that_was_left_half_written_is_none(home: Path):
    def fails(file: Path) -> None:
        file.write_text("half")
        raise OSError(28, "No space left on device")

    with pytest.raises(IrbenchError, match="No space left on device"):
        kept_file("parts", "a", fails)
    assert list((home / "parts").iterdir()) == []


def test_a_folder_that_cannot_be_made_is_an_error_with_the_way_out(home: Path):
    home.write_text("a file where the folder should be")
    with pytest.raises(IrbenchError, match="cannot be written") as caught:
        kept("a")
    assert "IRBENCH_HOME" in caught.value.hint
