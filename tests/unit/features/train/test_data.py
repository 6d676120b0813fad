"""Images of classes are looked at before they are trained on."""

from __future__ import annotations

import struct
import zlib
from pathlib import Path

import pytest
from PIL import Image

from irbench.errors import IrbenchError
from irbench.features.train import data


def test_images_behind_those_that_are_decoded_are_refused_by_their_headers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("cat/a", "cat/b", "dog/a"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        Image.new("RGB", (2, 2)).save(tmp_path / f"{name}.png")
    monkeypatch.setattr(data, "_DECODED", 2)
    assert data.images_in(tmp_path).samples == 3
    header = struct.pack(">IIBBBBB", 40_000, 40_000, 8, 2, 0, 0, 0)
    check = struct.pack(">I", zlib.crc32(b"IHDR" + header))
    bomb = b"\x89PNG\r\n\x1a\n" + struct.pack(">I", len(header)) + b"IHDR" + header + check + b"\0\0\0\0IDAT"
    (tmp_path / "cat" / "b.png").write_bytes(bomb)
    with pytest.raises(IrbenchError, match=r"b\.png has more than 89 million pixels"):
        data.images_in(tmp_path)
