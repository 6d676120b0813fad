"""What a living process holds is nobody else's; what a dead one held is free."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest

from irbench.system.locks import hold, temporary_folder, waiting_for


def test_a_folder_is_held_until_it_is_let_go(tmp_path: Path):
    held = hold(tmp_path)
    with pytest.raises(BlockingIOError):
        hold(tmp_path)
    os.close(held)
    os.close(hold(tmp_path))


def test_abandoned_folders_of_the_prefix_go_and_others_stay(tmp_path: Path):
    for name in (".import-dead", ".removed-dead"):
        (tmp_path / name).mkdir()
        (tmp_path / name / ".alive").touch()
    with temporary_folder(tmp_path, ".import-") as folder:
        assert {path.name for path in tmp_path.iterdir()} == {folder.name, ".removed-dead"}


def test_whoever_waits_for_a_lock_goes_on_when_it_is_released(tmp_path: Path):
    path = tmp_path / "lock"
    waited: list[str] = []

    def wait() -> None:
        with waiting_for(path):
            waited.append("second")

    thread = threading.Thread(target=wait)
    with waiting_for(path):
        thread.start()
        thread.join(0.2)
        waited.append("first")
    thread.join()
    assert waited == ["first", "second"]


def test_a_lock_is_no_link_that_somebody_laid_there(tmp_path: Path):
    (tmp_path / "lock").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(OSError, match="symbolic links"), waiting_for(tmp_path / "lock"):
        pass
