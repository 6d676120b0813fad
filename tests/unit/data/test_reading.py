"""Samples from files: every form, matched with the inputs of a model, and every misfit refused with its file."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from model_data import SR, X, target, tensor
from onnx import numpy_helper

from irbench.data.model_inputs import model_inputs
from irbench.data.reading import MOST_SAMPLES, DataTarget, match_arrays, read_files
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
    given = np.asfortranarray(np.arange(6, dtype=np.float32).reshape(2, 3))
    np.save(tmp_path / "a.npy", given)
    assert arrays(read_files(tmp_path, target(X)), "x") == [given.tolist()]


def test_a_name_that_no_file_can_have_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(IrbenchError, match="There is no file or folder"):
        read_files(tmp_path / ("a" * 300), target(X))
