"""Files of samples that are damaged, hostile, too large or no files at all are refused, and nothing waits for them."""

from __future__ import annotations

import os
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from model_data import X, target, tensor
from onnx import numpy_helper

from irbench.data.reading import read_files
from irbench.errors import IrbenchError


class Harmful:
    """Writes a file where it is unpickled."""

    def __init__(self, place: Path) -> None:
        self.place = place

    def __reduce__(self) -> tuple[object, ...]:
        return Path.touch, (self.place,)


@pytest.mark.parametrize("name", ["a.npy", "a.npz"])
def test_pickles_are_not_read(tmp_path: Path, name: str) -> None:
    array, file = np.array([Harmful(tmp_path / "ran")], object), tmp_path / name
    np.save(file, array, allow_pickle=True) if name == "a.npy" else np.savez(file, x=array)
    with pytest.raises(IrbenchError, match="Python objects"):
        read_files(file, target(X))
    assert not (tmp_path / "ran").exists()


def header(shape: str) -> bytes:
    return preamble(f"{{'descr': '<f4', 'fortran_order': False, 'shape': {shape}}}")


def preamble(written: str) -> bytes:
    text = written.ljust(117).encode() + b"\n"
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(b"", id="empty"),
        pytest.param(b"\x93NUMPY\x01\x00", id="no header"),
        pytest.param(b"\x93NUMPY\x09\x00" + bytes(200), id="unknown version"),
        pytest.param(header("(1, 3)") + bytes(5), id="cut off"),
        pytest.param(header("(1000000000000, 3)"), id="claims terabytes"),
        pytest.param(header("(-1, 3)"), id="negative size"),
        pytest.param(header("(1, 3"), id="open bracket"),
        pytest.param(preamble("{1: 2, 'x': 3}"), id="keys of two kinds"),
        pytest.param(preamble("((((" * 20), id="nested"),
        pytest.param(preamble("{[]: 1}"), id="list as a key"),
        pytest.param(header("(-2, -3)"), id="two negative sizes"),
        pytest.param(header("(True, 3)"), id="truth as a size"),
        pytest.param(header("__import__('os')"), id="code"),
    ],
)
@pytest.mark.parametrize("suffix", [".npy", ".npz"])
def test_damaged_and_hostile_arrays_are_refused_with_the_file(tmp_path: Path, content: bytes, suffix: str) -> None:
    file = tmp_path / f"bad{suffix}"
    if suffix == ".npz":
        with zipfile.ZipFile(file, "w") as archive:
            archive.writestr("x.npy", content)
    else:
        file.write_bytes(content)
    with pytest.raises(IrbenchError, match=r"bad\.np"):
        read_files(file, target(X))


@pytest.mark.parametrize("method", [zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_damaged_compression_is_refused_with_the_file(tmp_path: Path, method: int) -> None:
    file = tmp_path / "bad.npz"
    with zipfile.ZipFile(file, "w", method) as archive:
        archive.writestr("x.npy", header("(1000, 3)") + bytes(range(250)) * 48)
        size = archive.getinfo("x.npy").compress_size
    content = bytearray(file.read_bytes())
    content[35 + 9 : 35 + size] = b"\xff" * (size - 9)
    file.write_bytes(content)
    with pytest.raises(IrbenchError, match=r"bad\.npz cannot be read"):
        read_files(file, target(X))


@pytest.mark.parametrize("shape", ["(-1,)", "(-1, 3)"])
def test_a_negative_size_does_not_read_the_whole_file(tmp_path: Path, shape: str) -> None:
    (tmp_path / "a.npy").write_bytes(header(shape) + bytes(1 << 12))
    with pytest.raises(IrbenchError, match="claims the shape"):
        read_files(tmp_path, target(X, most_bytes=16))


def test_an_archive_that_unpacks_to_more_than_there_is_room_for_is_refused(tmp_path: Path) -> None:
    np.savez_compressed(tmp_path / "bomb.npz", x=np.zeros((1 << 18, 3), np.float32))
    with pytest.raises(IrbenchError, match=r"bomb\.npz needs"):
        read_files(tmp_path, target(X, most_bytes=1 << 20))


def test_samples_that_together_need_more_than_there_is_room_for_are_refused(tmp_path: Path) -> None:
    for number in range(3):
        np.save(tmp_path / f"{number}.npy", np.zeros((100, 3), np.float32))
    with pytest.raises(IrbenchError, match=r"2\.npy needs"):
        read_files(tmp_path, target(X, most_bytes=2500))


@pytest.mark.parametrize("name", ["s.npz", "s.npy", "s.png", "input_0.pb"])
def test_a_pipe_among_the_samples_keeps_nobody_waiting(tmp_path: Path, name: str) -> None:
    os.mkfifo(tmp_path / name)
    spec = tensor("x", "batch", 3, 8, 8)
    for path in (tmp_path, tmp_path / name):
        with pytest.raises(IrbenchError, match=r"not a regular file|contains no samples"):
            read_files(path, target(spec))


@pytest.mark.parametrize("name", ["s1.npz", "s1.npy", "s1.png"])
def test_a_pipe_among_the_samples_is_refused_and_neither_read_nor_left_out(tmp_path: Path, name: str) -> None:
    np.savez(tmp_path / "s0.npz", x=np.zeros((1, 3), np.float32))
    os.mkfifo(tmp_path / name)
    with pytest.raises(IrbenchError, match=r"not a regular file|several kinds"):
        read_files(tmp_path, target(X))


def test_a_link_to_a_sample_that_is_gone_is_refused_and_not_left_out(tmp_path: Path) -> None:
    np.savez(tmp_path / "s0.npz", x=np.zeros((1, 3), np.float32))
    (tmp_path / "s1.npz").symlink_to(tmp_path / "gone.npz")
    with pytest.raises(IrbenchError, match=r"s1\.npz cannot be read: No such file"):
        read_files(tmp_path, target(X))


@pytest.mark.parametrize(
    "make", [os.mkfifo, lambda path: path.symlink_to(path.with_name("gone"))], ids=["pipe", "link"]
)
def test_a_data_set_that_is_no_folder_and_an_input_that_is_no_file_are_refused(
    tmp_path: Path, make: Callable[[Path], object]
) -> None:
    whole = tmp_path / "test_data_set_0"
    whole.mkdir()
    (whole / "input_0.pb").write_bytes(numpy_helper.from_array(np.zeros((1, 3), np.float32)).SerializeToString())
    make(tmp_path / "test_data_set_1")
    with pytest.raises(IrbenchError, match="test_data_set_1 contains 0 inputs"):
        read_files(tmp_path, target(X))
    (whole / "input_0.pb").unlink()
    make(whole / "input_0.pb")
    with pytest.raises(IrbenchError, match=r"input_0\.pb"):
        read_files(whole, target(X))


def test_a_file_that_is_no_image_is_refused_without_words_of_the_decoder(tmp_path: Path) -> None:
    (tmp_path / "a.png").write_bytes(b"GIF89a")
    with pytest.raises(IrbenchError, match=r"a\.png is not a readable PNG or JPEG image: it is of another kind\."):
        read_files(tmp_path / "a.png", target(tensor("x", "batch", 3, 8, 8)))
