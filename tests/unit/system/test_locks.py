"""What a living process holds is nobody else's; what a dead one held is free."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from irbench.system.locks import hold, temporary_folder


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
