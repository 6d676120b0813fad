"""Where irbench keeps things if the user has no home folder, or may not write it."""

from __future__ import annotations

import os
import warnings
from pathlib import Path

import pytest

from irbench.system.home import home, homes
from irbench.system.home_warning import HomeWarning


@pytest.fixture(autouse=True)
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder for temporary files, and no folder that was named."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setenv("TMPDIR", str(folder))
    for name in ("IRBENCH_HOME", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "user"))
    return folder


@pytest.fixture
def closed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that this user may read and not write, as root may not on a file system that is read-only."""
    folder = tmp_path / "image"
    folder.mkdir()
    access = os.access
    monkeypatch.setattr(os, "access", lambda path, mode: Path(path) != folder and access(path, mode))
    return folder


def stand_in(temporary: Path) -> Path:
    return temporary / f"irbench-{os.getuid()}"


def test_the_folder_that_was_named_is_used_and_then_that_in_the_users_cache(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    assert home() == tmp_path / "user" / ".cache" / "irbench"
    monkeypatch.setenv("IRBENCH_HOME", "~/models")
    assert home() == tmp_path / "user" / "models"
    assert homes() == (home(),)
    assert not home().exists()


@pytest.mark.parametrize("below", ["", ".cache/irbench"])
def test_a_private_folder_stands_in_for_one_that_cannot_be_written_which_is_said_once(
    closed: Path, temporary: Path, below: str, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("IRBENCH_HOME", str(closed / below))
    with pytest.warns(HomeWarning, match="IRBENCH_HOME") as told:
        assert home() == stand_in(temporary)
    assert str(told[0].message).startswith(f"{closed / below} cannot be written")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert home() == stand_in(temporary)
    assert stand_in(temporary).stat().st_mode & 0o777 == 0o700
    assert homes() == (stand_in(temporary), closed / below)


def test_looking_for_something_makes_no_folder_and_says_nothing(
    closed: Path, temporary: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("IRBENCH_HOME", str(closed))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert homes() == (closed,)
    assert list(temporary.iterdir()) == []


def test_a_user_without_a_home_folder_gets_a_private_one(temporary: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(os.path, "expanduser", lambda path: path)
    with pytest.warns(HomeWarning, match="no home folder"):
        assert home() == stand_in(temporary)
    assert homes() == (stand_in(temporary),)


@pytest.mark.parametrize("squatter", ["link", "open to all", "file"])
def test_what_somebody_else_put_in_the_place_of_the_private_folder_is_not_used(
    closed: Path, temporary: Path, tmp_path: Path, squatter: str, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("IRBENCH_HOME", str(closed))
    place = stand_in(temporary)
    if squatter == "link":
        (tmp_path / "theirs").mkdir(mode=0o700)
        place.symlink_to(tmp_path / "theirs")
    elif squatter == "file":
        place.touch(mode=0o600)
    else:
        place.mkdir()
        place.chmod(0o777)
    assert home() == closed
    assert homes() == (closed,)


def test_a_file_in_the_place_of_the_folder_is_no_reason_to_use_another(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "file").touch()
    monkeypatch.setenv("IRBENCH_HOME", str(tmp_path / "file" / "models"))
    assert home() == tmp_path / "file" / "models"
