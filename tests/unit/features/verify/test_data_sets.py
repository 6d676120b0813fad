"""Data sets: every one is read, in order, and what cannot be read is refused by name."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from data_sets import write_set
from onnx import TensorProto, helper, numpy_helper

from irbench.errors import IrbenchError
from irbench.features.verify.data_sets import kind_of, read_for_model, read_sets

ONE = np.ones((2, 3), np.float32)
_ROOM = 1 << 20


def test_data_sets_come_in_the_order_of_their_numbers(tmp_path: Path):
    for number in (10, 9, 0):
        write_set(tmp_path, number, [ONE * number], [ONE])
    sets = read_for_model(tmp_path, 1, 1, _ROOM)
    assert [set_.name for set_ in sets] == ["test_data_set_0", "test_data_set_9", "test_data_set_10"]
    assert [float(set_.inputs[0][0, 0]) for set_ in sets] == [0, 9, 10]


def test_a_single_data_set_is_read_by_its_own_folder(tmp_path: Path):
    for number in (0, 1):
        write_set(tmp_path, number, [ONE * number], [ONE])
    (found,) = read_for_model(tmp_path / "test_data_set_1", 1, 1, _ROOM)
    assert found.name == "test_data_set_1"
    assert found.inputs[0][0, 0] == 1


def test_inputs_come_in_the_order_of_their_numbers(tmp_path: Path):
    write_set(tmp_path, 0, [np.array(number, np.int64) for number in range(12)], [ONE])
    (found,) = read_for_model(tmp_path, 12, 1, _ROOM)
    assert [int(tensor) for tensor in found.inputs] == list(range(12))


def test_arrays_can_be_written_to_because_runtimes_share_them(tmp_path: Path):
    write_set(tmp_path, 0, [ONE], [ONE])
    (found,) = read_for_model(tmp_path, 1, 1, _ROOM)
    assert found.inputs[0].flags.writeable
    assert found.inputs[0].flags.c_contiguous


@pytest.mark.parametrize("array", [np.array(3.5), np.zeros((0, 4), np.float32), np.array(["a", "b"], object)])
def test_scalars_empty_tensors_and_texts_are_read_as_they_are(array: np.ndarray, tmp_path: Path):
    write_set(tmp_path, 0, [array], [ONE])
    (found,) = read_for_model(tmp_path, 1, 1, _ROOM)
    assert found.inputs[0].dtype == array.dtype
    assert found.inputs[0].shape == array.shape
    assert (found.inputs[0] == array).all()


def test_a_sequence_is_read_as_a_list(tmp_path: Path):
    place = write_set(tmp_path, 0, [ONE], [])
    (place / "output_0.pb").write_bytes(numpy_helper.from_list([ONE, ONE * 2]).SerializeToString())
    (found,) = read_sets(tmp_path, ["tensor_type"], ["sequence_type"])
    assert [float(tensor[0, 0]) for tensor in found.outputs[0]] == [1, 2]


def test_a_folder_without_data_sets_is_refused_with_how_one_looks(tmp_path: Path):
    with pytest.raises(IrbenchError, match="contains no data set") as caught:
        read_for_model(tmp_path, 1, 1, _ROOM)
    assert "test_data_set_0/input_0.pb" in caught.value.hint


def test_an_incomplete_data_set_is_refused_with_what_the_model_has(tmp_path: Path):
    write_set(tmp_path, 0, [ONE], [ONE])
    with pytest.raises(IrbenchError, match=r"1 inputs\b.* 2\b"):
        read_for_model(tmp_path, 2, 1, _ROOM)


def test_a_damaged_file_is_refused_by_its_path(tmp_path: Path):
    place = write_set(tmp_path, 0, [ONE], [ONE])
    (place / "input_0.pb").write_bytes(b"\xff\xff\xff")
    with pytest.raises(IrbenchError, match=r"input_0\.pb"):
        read_for_model(tmp_path, 1, 1, _ROOM)


def test_values_in_another_file_are_refused(tmp_path: Path):
    place = write_set(tmp_path, 0, [ONE], [ONE])
    tensor = TensorProto(data_type=TensorProto.FLOAT, dims=[2], data_location=TensorProto.EXTERNAL)
    tensor.external_data.add(key="location", value="../secret")
    (place / "input_0.pb").write_bytes(tensor.SerializeToString())
    with pytest.raises(IrbenchError, match="another file"):
        read_for_model(tmp_path, 1, 1, _ROOM)


def test_an_optional_counts_as_what_is_in_it():
    tensor = helper.make_tensor_type_proto(TensorProto.FLOAT, [2])
    kinds = (tensor, helper.make_sequence_type_proto(tensor), helper.make_optional_type_proto(tensor))
    values = [helper.make_value_info("x", kind) for kind in kinds]
    assert [kind_of(value) for value in values] == ["tensor_type", "sequence_type", "tensor_type"]
    assert isinstance(values[0], onnx.ValueInfoProto)


def test_data_sets_that_memory_has_no_room_for_are_refused_before_they_are_read(tmp_path: Path):
    place = write_set(tmp_path, 0, [ONE], [ONE])
    with (place / "input_0.pb").open("r+b") as file:
        file.truncate(1 << 40)
    with pytest.raises(IrbenchError, match=r"1099\.5 GB\b.* 0\.0 GB") as caught:
        read_for_model(tmp_path, 1, 1, _ROOM)
    assert "fewer" in caught.value.hint
