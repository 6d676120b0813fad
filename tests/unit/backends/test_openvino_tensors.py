"""What OpenVINO is given: arrays of every type, and only the inputs that it kept."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from irbench.measure.kernel_evidence import PhaseLog
from irbench.onnx.reading.element_types import numpy_dtype
from irbench.spec import Artifact, Io, Load, TensorSpec
from irbench.spi import Array
from irbench_openvino import backend
from irbench_openvino.session import input_indices, to_array, to_tensor


class Port:
    def __init__(self, name: str) -> None:
        self._name = name

    def get_names(self) -> set[str]:
        return {self._name}


def specs(*names: str) -> list[TensorSpec]:
    return [TensorSpec(name, "float32", (1,)) for name in names]


def test_an_input_that_openvino_dropped_gets_no_port_of_another():
    assert input_indices([Port("b")], specs("a", "b")) == (None, 0)


def test_inputs_are_found_by_name_and_else_by_their_place():
    assert input_indices([Port("b"), Port("a")], specs("a", "b")) == (1, 0)
    assert input_indices([Port("x"), Port("b")], specs("a", "b")) == (0, 1)


EIGHT_BITS = (ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2)
FOUR_BITS = (ml_dtypes.int4, ml_dtypes.uint4, ml_dtypes.float4_e2m1fn)


@pytest.mark.parametrize("dtype", [np.float32, np.int8, ml_dtypes.bfloat16, *EIGHT_BITS, *FOUR_BITS])
@pytest.mark.parametrize("shape", [(2, 3), (5,), (), (0, 3)])
def test_an_array_of_any_type_comes_back_as_it_was(dtype: Any, shape: tuple[int, ...]):
    array = np.array([1, 2, 3, 0, 4, 6][: int(np.prod(shape))], dtype).reshape(shape)
    tensor = to_tensor(array)
    back = to_array(tensor)
    assert tuple(tensor.shape) == shape
    assert back.dtype == array.dtype
    assert back.shape == shape
    assert back.tobytes() == array.tobytes()


@pytest.mark.parametrize("shape", [(2, 3), (), (0, 3), (0,)])
def test_texts_come_back_as_they_were(shape: tuple[int, ...]):
    texts = np.array(["a", "bc", "", "é", "e", "f"][: int(np.prod(shape))], object).reshape(shape)
    back = to_array(to_tensor(texts))
    assert (back.dtype, back.shape) == (texts.dtype, shape)
    assert back.tolist() == texts.tolist()


def test_numbers_below_zero_of_four_bits_stay_so():
    array = np.array([-8, -1, 7], ml_dtypes.int4)
    assert to_array(to_tensor(array)).astype(int).tolist() == [-8, -1, 7]


def test_plain_arrays_are_shared_and_texts_are_copied():
    array = np.zeros(3, np.float32)
    to_tensor(array).data[0] = 7
    assert array[0] == 7
    assert list(to_tensor(np.array(["a", "bc"], object)).str_data) == ["a", "bc"]


@pytest.mark.parametrize("dtype", [ml_dtypes.bfloat16, *EIGHT_BITS])
def test_arrays_of_extended_types_are_shared_too(dtype: Any):
    array = np.ones((2, 3), dtype)
    tensor = to_tensor(array)
    array[1, 2] = 4
    assert to_array(tensor)[1, 2] == 4


def answer(path: Path, given: list[TensorSpec], feed: tuple[Array, ...], made: str, io: Io = "copy") -> Array:
    artifact = Artifact("onnx", path, tuple(given), tuple(specs(made)))
    backend.import_runtime(Load(), "cpu")
    session = backend.compile(artifact, Load(), "cpu", PhaseLog())
    (slot,) = session.open_slots(1, io)
    slot.stage(feed)
    slot.run()
    (found,) = slot.fetch()
    session.close()
    return found


def saved(nodes: list[Any], inputs: list[Any], outputs: list[Any], opset: int, path: Path) -> Path:
    graph = helper.make_graph(nodes, "g", inputs, outputs)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8), path)
    return path


@pytest.mark.parametrize("io", ["first", "last"])
def test_an_unused_input_takes_no_other_inputs_place(io: str, tmp_path: Path):
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [2])
    unused = helper.make_tensor_value_info("unused", TensorProto.INT64, [3])
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, [2])
    inputs = [unused, x] if io == "first" else [x, unused]
    path = saved([helper.make_node("Neg", ["x"], ["y"])], inputs, [y], 17, tmp_path / "model.onnx")
    arrays = {"x": np.array([1, 2], np.float32), "unused": np.arange(3)}
    feed = tuple(arrays[tensor.name] for tensor in inputs)
    assert answer(path, specs(*(tensor.name for tensor in inputs)), feed, "y").tolist() == [-1, -2]


def test_what_only_the_reader_of_bytes_knows_is_read_too(tmp_path: Path):
    scores = helper.make_tensor_value_info("scores", TensorProto.FLOAT, [3, 5, 2])
    target = helper.make_tensor_value_info("target", TensorProto.INT64, [3, 2])
    loss = helper.make_tensor_value_info("loss", TensorProto.FLOAT, [])
    node = helper.make_node("NegativeLogLikelihoodLoss", ["scores", "target"], ["loss"], ignore_index=1)
    path = saved([node], [scores, target], [loss], 13, tmp_path / "model.onnx")
    feed = (np.full((3, 5, 2), -0.5, np.float32), np.zeros((3, 2), np.int64))
    assert answer(path, specs("scores", "target"), feed, "loss") == pytest.approx(0.5)


@pytest.mark.parametrize("io", ["copy", "bound"])
@pytest.mark.parametrize(("element", "dtype"), [(1, "float32"), (7, "int64"), (9, "bool"), (16, "bfloat16")])
def test_a_scalar_stays_a_scalar(element: int, dtype: str, io: Io, tmp_path: Path):
    x, y = (helper.make_tensor_value_info(name, element, []) for name in "xy")
    path = saved([helper.make_node("Identity", ["x"], ["y"])], [x], [y], 17, tmp_path / "model.onnx")
    found = answer(path, [TensorSpec("x", dtype, ())], (np.array(1, numpy_dtype(dtype)),), "y", io)
    assert (found.shape, float(found)) == ((), 1.0)


@pytest.mark.parametrize("io", ["copy", "bound"])
def test_bfloat16_keeps_its_values_on_the_way_in_and_out(io: Io, tmp_path: Path):
    x, y = (helper.make_tensor_value_info(name, TensorProto.BFLOAT16, [3]) for name in "xy")
    path = saved([helper.make_node("Identity", ["x"], ["y"])], [x], [y], 17, tmp_path / "model.onnx")
    given = np.array([1.5, -3, 1e30], ml_dtypes.bfloat16)
    found = answer(path, [TensorSpec("x", "bfloat16", (3,))], (given,), "y", io)
    assert found.dtype == given.dtype
    assert (found == given).all()
