"""A command in a hint is one that a shell runs as it stands, whatever a file is called."""

from __future__ import annotations

import gzip
import shlex
from pathlib import Path

import pytest

from irbench.errors import IrbenchError
from irbench.exporter.foreign import refusal
from irbench.onnx.reading.external_data import size_of_file
from irbench.onnx.reading.protobuf import require_model_file

HOSTILE = "x$(touch pwned) y"


def words_of(hint: str, program: str) -> list[str]:
    """Return the words that a shell makes of the command in a hint."""
    return shlex.split(hint[hint.index(program) :])


def test_a_compressed_file_is_one_word(tmp_path: Path) -> None:
    path = tmp_path / f"{HOSTILE}.onnx"
    path.write_bytes(gzip.compress(b"model"))
    with pytest.raises(IrbenchError, match="gzip") as caught:
        require_model_file(path)
    assert str(path) in words_of(caught.value.hint, "gunzip")


def test_a_folder_with_linked_weights_is_one_word(tmp_path: Path) -> None:
    folder = tmp_path / HOSTILE
    folder.mkdir()
    (tmp_path / "weights").write_bytes(b"weights")
    (folder / "weights").symlink_to(tmp_path / "weights")
    with pytest.raises(IrbenchError, match="symbolic link") as caught:
        size_of_file(folder, "weights")
    assert str(folder) in words_of(caught.value.hint, "cp")


def test_a_file_of_another_format_is_one_word(tmp_path: Path) -> None:
    path = tmp_path / f"{HOSTILE}.tflite"
    path.write_bytes(b"weights")
    error = refusal(str(path))
    assert error is not None
    assert str(path) in words_of(error.hint, "python")
