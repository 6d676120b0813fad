"""A copy is written by a plan that nobody trusts."""

from __future__ import annotations

from pathlib import Path

import pytest

from irbench.errors import IrbenchError
from irbench.onnx.rewriting.bind import BoundCopy, write_copy

CONTENT = b"0123456789"


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "model.onnx"
    path.write_bytes(CONTENT)
    return path


def test_what_stays_and_what_is_new_are_written_in_turn(source: Path, tmp_path: Path) -> None:
    write_copy(BoundCopy(((0, 3), b"new", (3, 3), (5, 10)), ()), source, tmp_path / "copy.onnx")
    assert (tmp_path / "copy.onnx").read_bytes() == b"012new56789"


@pytest.mark.parametrize(
    "pieces",
    [
        ((0, 11),),
        ((-1, 4),),
        ((4, 2),),
        ((0, 10), (0, 10)),
        ((5, 10), b"new", (0, 5)),
        ((10**15, 0), (0, 10), (0, 10)),
        ((0, 10), (0, 10), (10**15, 0)),
    ],
)
def test_pieces_outside_the_file_and_out_of_order_are_refused_before_anything_is_written(
    pieces: tuple[bytes | tuple[int, int], ...], source: Path, tmp_path: Path
) -> None:
    with pytest.raises(IrbenchError, match="changed while it was read"):
        write_copy(BoundCopy(pieces, ()), source, tmp_path / "copy.onnx")
    assert list(tmp_path.iterdir()) == [source]
