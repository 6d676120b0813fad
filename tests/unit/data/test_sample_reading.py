"""Samples from files: every form, matched with the inputs of a model, and every misfit refused with its file."""

from __future__ import annotations

import os
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from model_data import SR, X, target, tensor
from onnx import numpy_helper
from PIL import Image

from irbench.data.model_inputs import model_inputs
from irbench.data.sample_reading import (
    MOST_SAMPLES,
    DataTarget,
    find_samples,
    match_arrays,
    read_files,
    require_headers,
)
from irbench.data.samples import Sample
from irbench.errors import IrbenchError
from irbench.spec import Artifact, Bundle, InputSpec, Shape, TensorSpec


def arrays(samples: tuple[Sample, ...], name: str) -> list[object]:
    return [sample.arrays[name].tolist() for sample in samples]


def test_archives_of_a_folder_are_samples_in_natural_order(tmp_path: Path) -> None:
    for number in (10, 9, 1):
        np.savez(tmp_path / f"s{number}.npz", x=np.full((1, 3), number, np.float32))
    (tmp_path / "notes.txt").write_text("ignored")
    assert arrays(read_files(tmp_path, target(X)), "x") == [[[1.0] * 3], [[9.0] * 3], [[10.0] * 3]]


def test_a_missing_batch_axis_is_added(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", np.arange(3.0))
    (sample,) = read_files(tmp_path / "a.npy", target(X))
    assert sample.arrays["x"].shape == (1, 3)
    assert sample.arrays["x"].dtype == np.float32


def test_files_named_like_inputs_are_one_sample(tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", np.zeros((2, 3), np.float32))
    np.save(tmp_path / "sr.npy", np.int64(8000))
    (sample,) = read_files(tmp_path, target(X, SR))
    assert sample.arrays["sr"].tolist() == 8000


def test_a_file_without_a_name_is_for_the_only_input_that_gets_nothing_else(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", np.zeros((1, 3), np.float32))
    assert list(read_files(tmp_path, target(X, SR, elsewhere=("sr",)))[0].arrays) == ["x"]
    with pytest.raises(IrbenchError, match="does not say which input") as caught:
        read_files(tmp_path, target(X, SR))
    assert "x, sr" in caught.value.hint


def test_an_unnamed_array_of_an_archive_is_for_the_only_input(tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz", np.zeros((1, 3), np.float32))
    assert list(read_files(tmp_path, target(X))[0].arrays) == ["x"]


def test_data_sets_of_the_onnx_convention_are_matched_by_order(tmp_path: Path) -> None:
    for number in (2, 10):
        folder = tmp_path / f"test_data_set_{number}"
        folder.mkdir()
        values = (np.full((1, 3), number, np.float32), np.array(number, np.int64))
        for place, value in enumerate(values):
            (folder / f"input_{place}.pb").write_bytes(numpy_helper.from_array(value).SerializeToString())
    assert arrays(read_files(tmp_path, target(X, SR)), "sr") == [2, 10]
    assert arrays(read_files(tmp_path / "test_data_set_2", target(X, SR)), "sr") == [2]
    with pytest.raises(IrbenchError, match="contains 2 inputs, and model has 1"):
        read_files(tmp_path, target(X))


@pytest.mark.parametrize(
    ("given", "shape"),
    [(np.zeros((1, 4, 5, 3)), (1, 4, 5, 3)), (np.zeros((4, 5, 3)), (1, 4, 5, 3)), (np.zeros((3, 4, 5)), (1, 4, 5, 3))],
)
def test_an_array_may_have_the_layout_of_an_artifact(given: np.ndarray, shape: Shape) -> None:
    logical, graph = tensor("x", "batch", 4, 5, 3), TensorSpec("x", "float32", ("batch", 3, 4, 5), (0, 3, 1, 2))
    bundle = Bundle("model", (InputSpec(logical),), (Artifact("onnx", Path(), (graph,), ()),))
    asked = DataTarget("model", model_inputs(bundle, None), frozenset(), {}, 1 << 30)
    (sample,) = match_arrays([{"x": given}], asked)
    assert sample.arrays["x"].shape == shape


@pytest.mark.parametrize(
    ("given", "dtype", "expected"),
    [
        (np.array([[1, 2, 3]]), "int32", [[1, 2, 3]]),
        (np.array([[1, 0, 1]], np.uint8), "bool", [[True, False, True]]),
        (np.array([[0.1, 1, 2]]), "float16", [[np.float16(0.1), 1, 2]]),
        (np.array([[1, 2, 255]], np.uint8), "float32", [[1, 2, 255]]),
    ],
)
def test_dtypes_are_converted_where_values_stay(given: np.ndarray, dtype: str, expected: list[object]) -> None:
    (sample,) = match_arrays([{"x": given}], target(tensor("x", "batch", 3, dtype=dtype)))
    assert sample.arrays["x"].dtype == np.dtype(dtype)
    assert sample.arrays["x"].tolist() == expected


@pytest.mark.parametrize(
    ("given", "dtype"),
    [
        (np.array([[1.0, 2, 3]]), "int32"),
        (np.array([[1, 2, 300]]), "uint8"),
        (np.array([[1, 2, 2]]), "bool"),
        (np.array([[1e30, 2, 2]]), "float16"),
        (np.array([[1 << 60, 1, (1 << 60) + 1]]), "float32"),
        (np.array([["a", "b", "c"]]), "float32"),
        (np.array([[1j, 1, 1]]), "float32"),
    ],
)
def test_dtypes_are_not_converted_where_values_change(given: np.ndarray, dtype: str) -> None:
    with pytest.raises(IrbenchError, match="sample 0 contains") as caught:
        match_arrays([{"x": given}], target(tensor("x", "batch", 3, dtype=dtype)))
    assert "astype" in caught.value.hint


@pytest.mark.parametrize("shape", [(1, 4), (3, 1), (1, 1, 3), (0, 3), ()])
def test_another_shape_is_refused_with_the_file(tmp_path: Path, shape: tuple[int, ...]) -> None:
    np.savez(tmp_path / "wrong.npz", x=np.zeros(shape, np.float32))
    with pytest.raises(IrbenchError, match=r"wrong\.npz has the shape .* takes batch x 3"):
        read_files(tmp_path, target(X))


def test_a_misspelt_input_is_refused_with_the_nearest(tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz", imge=np.zeros((1, 3)))
    with pytest.raises(IrbenchError, match="'imge'") as caught:
        read_files(tmp_path, target(tensor("image", "batch", 3)))
    assert "Did you mean image?" in caught.value.hint


def test_samples_of_different_inputs_are_refused(tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz", x=np.zeros((1, 3)), sr=np.int64(1))
    np.savez(tmp_path / "b.npz", x=np.zeros((1, 3)))
    with pytest.raises(IrbenchError, match=r"b\.npz has no array for the input sr"):
        read_files(tmp_path, target(X, SR))


def test_samples_of_several_kinds_are_refused(tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz", x=np.zeros((1, 3)))
    np.save(tmp_path / "b.npy", np.zeros((1, 3)))
    with pytest.raises(IrbenchError, match="several kinds"):
        read_files(tmp_path, target(X))


def test_nothing_to_read_is_refused(tmp_path: Path) -> None:
    with pytest.raises(IrbenchError, match="contains no samples"):
        read_files(tmp_path, target(X))
    with pytest.raises(IrbenchError, match="There is no file"):
        read_files(tmp_path / "missing", target(X))
    with pytest.raises(IrbenchError, match="no sample"):
        match_arrays([], target(X))


def test_too_many_samples_are_refused(tmp_path: Path) -> None:
    for number in range(MOST_SAMPLES + 1):
        (tmp_path / f"{number}.npy").touch()
    with pytest.raises(IrbenchError, match="at most 1000"):
        read_files(tmp_path, target(X))


def test_arrays_in_fortran_order_are_read_as_they_are(tmp_path: Path) -> None:
    given = np.array(np.arange(6, dtype=np.float32).reshape(2, 3), order="F")
    np.save(tmp_path / "a.npy", given)
    assert arrays(read_files(tmp_path, target(X)), "x") == [given.tolist()]


def test_a_name_that_no_file_can_have_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(IrbenchError, match="There is no file or folder"):
        read_files(tmp_path / ("a" * 300), target(X))


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


IMAGE = tensor("image", "batch", 3, 4, 5)


def write_images(folder: Path, *names: str) -> None:
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        Image.new("RGB", (5, 4)).save(folder / name)


def test_a_folder_of_images_for_each_class_are_labelled_samples(tmp_path: Path) -> None:
    write_images(tmp_path, *(f"{name}/{number}.png" for name in ("dog", "cat", ".trash") for number in (10, 9, 1)))
    write_images(tmp_path, "dog/11.jpg", "dog/12.jpg")
    (tmp_path / "README.txt").touch()
    samples = read_files(tmp_path, target(IMAGE))
    names = ["cat/1", "cat/9", "dog/1", "dog/9", "cat/10", "dog/10", "dog/11", "dog/12"]
    assert [str(Path(sample.place).relative_to(tmp_path).with_suffix("")) for sample in samples] == names
    assert [sample.label for sample in samples] == [("cat", "dog").index(name[:3]) for name in names]
    assert samples[0].arrays["image"].shape == (1, 3, 4, 5)


def test_the_first_images_and_every_other_one_are_of_all_classes(tmp_path: Path) -> None:
    classes = [f"{letter}/{number}.png" for letter in "abc" for number in range(8)]
    for file in classes:
        (tmp_path / file).parent.mkdir(exist_ok=True)
        (tmp_path / file).touch()
    labels = find_samples(tmp_path).labels
    for chosen in (labels[:12], labels[::2], labels[1::2]):
        assert [chosen.count(label) for label in range(3)] == [4, 4, 4]


def test_images_beside_folders_of_images_are_refused_and_one_folder_of_others_is_ignored(tmp_path: Path) -> None:
    write_images(tmp_path, "cover.png", "small/a.png")
    (sample,) = read_files(tmp_path, target(IMAGE))
    assert (Path(sample.place).name, sample.label) == ("cover.png", None)
    write_images(tmp_path, "large/a.png")
    with pytest.raises(IrbenchError, match=r"images and folders of images: cover\.png and large"):
        find_samples(tmp_path)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.npz", b"PK\x05\x06" + bytes(18) + b"more"),
        ("a.npz", b"no archive"),
        ("a.npy", b"\x93NUMPY\x01\x00\x08\x00{'a': 1"),
        ("cat/a.png", b"no image"),
        ("a.jpg", b""),
    ],
)
def test_a_file_that_is_not_what_its_name_says_is_refused_without_a_model(
    tmp_path: Path, name: str, content: bytes
) -> None:
    (tmp_path / name).parent.mkdir(exist_ok=True)
    (tmp_path / name).write_bytes(content)
    with pytest.raises(IrbenchError, match=rf"{name}"):
        require_headers(find_samples(tmp_path), 1 << 30)


def test_headers_of_sound_samples_are_accepted_and_those_of_too_large_ones_are_not(tmp_path: Path) -> None:
    write_images(tmp_path / "images", "cat/a.png")
    for kind in ("arrays", "archives"):
        (tmp_path / kind).mkdir()
    np.save(tmp_path / "arrays" / "a.npy", np.zeros((2, 3)))
    np.savez(tmp_path / "archives" / "a.npz", x=np.zeros((2, 3)))
    for kind in ("images", "arrays", "archives"):
        require_headers(find_samples(tmp_path / kind), 48)
    for kind in ("arrays", "archives"):
        with pytest.raises(IrbenchError, match=r"needs 0\.0 GB"):
            require_headers(find_samples(tmp_path / kind), 47)
