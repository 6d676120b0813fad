"""Which files of a folder are images to train on."""

from __future__ import annotations

from pathlib import Path

from irbench.spi.training import image_files


def test_images_of_a_class_are_files_with_their_suffixes_and_no_folders(tmp_path: Path) -> None:
    (tmp_path / "folder.png").mkdir()
    for name in ("two.JPG", "one.png", "three.jpeg", "notes.txt", "four.gif"):
        (tmp_path / name).touch()
    assert [path.name for path in image_files(tmp_path)] == ["one.png", "three.jpeg", "two.JPG"]
