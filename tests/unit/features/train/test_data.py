"""Images of classes are looked at before they are trained on."""

from __future__ import annotations

from pathlib import Path

import pytest
from hostile_files import png_header

from irbench.errors import IrbenchError
from irbench.features.train import data

Image = pytest.importorskip("PIL.Image", reason="images need Pillow")


def test_images_behind_those_that_are_decoded_are_refused_by_their_headers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("cat/a", "cat/b", "dog/a"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        Image.new("RGB", (2, 2)).save(tmp_path / f"{name}.png")
    monkeypatch.setattr(data, "_DECODED", 2)
    assert data.images_in(tmp_path).samples == 3
    (tmp_path / "cat" / "b.png").write_bytes(png_header(40_000, 40_000))
    with pytest.raises(IrbenchError, match=r"b\.png has more than 89 million pixels"):
        data.images_in(tmp_path)


def test_a_file_of_samples_is_not_said_to_be_missing(tmp_path: Path) -> None:
    (tmp_path / "photos.npz").touch()
    with pytest.raises(IrbenchError, match=r"photos\.npz is a file, not a folder") as caught:
        data.images_in(tmp_path / "photos.npz")
    assert "file.py:function" in caught.value.hint
    with pytest.raises(IrbenchError, match="There is no folder"):
        data.images_in(tmp_path / "photos")
