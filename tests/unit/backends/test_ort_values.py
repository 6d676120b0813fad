"""ONNX Runtime takes and gives arrays of types that NumPy knows by extension only."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from irbench.measure.kernel_evidence import PhaseLog
from irbench.spec import Artifact, Load, TensorSpec
from irbench.spi import Refusal
from irbench_ort import backend
from irbench_ort.session import OrtSession, holds_extensions, to_array, to_value

FOUR_BITS = (ml_dtypes.int4, ml_dtypes.uint4)


@pytest.mark.parametrize(
    "dtype", [ml_dtypes.bfloat16, ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2, np.float32, *FOUR_BITS]
)
@pytest.mark.parametrize("shape", [(2, 2), (3,), (), (0, 3)])
def test_an_array_comes_back_bit_by_bit(dtype: Any, shape: tuple[int, ...]):
    values = [1, 0.5, -3, 4] if dtype not in FOUR_BITS else [1, 7, 0, 4]
    array = np.array(values[: int(np.prod(shape))]).astype(dtype).reshape(shape)
    back = to_array(to_value(array))
    assert back.dtype == array.dtype
    assert back.shape == shape
    assert back.tobytes() == array.tobytes()


def test_a_graph_of_bfloat16_is_fed_and_answers(tmp_path: Path):
    x = helper.make_tensor_value_info("x", TensorProto.BFLOAT16, [2])
    outputs = [helper.make_tensor_value_info(name, kind, [2]) for name, kind in (("y", 1), ("z", 16))]
    nodes = [helper.make_node("Cast", ["x"], ["y"], to=1), helper.make_node("Identity", ["x"], ["z"])]
    graph = helper.make_graph(nodes, "g", [x], outputs)
    path = tmp_path / "model.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
    names = (("y", "float32"), ("z", "bfloat16"))
    artifact = Artifact(
        "onnx", path, (TensorSpec("x", "bfloat16", (2,)),), tuple(TensorSpec(*name, (2,)) for name in names)
    )
    assert holds_extensions(artifact)
    load = Load(precision="native")
    backend.import_runtime(load, "cpu")
    (slot,) = backend.compile(artifact, load, "cpu", PhaseLog()).open_slots(1, "copy")
    slot.stage((np.array([1.5, 2], ml_dtypes.bfloat16),))
    slot.run()
    wide, narrow = slot.fetch()
    assert wide.tolist() == [1.5, 2]
    assert narrow.dtype == ml_dtypes.bfloat16
    assert narrow.astype(np.float32).tolist() == [1.5, 2]


def test_integers_of_four_bits_are_fed(tmp_path: Path):
    x = helper.make_tensor_value_info("x", TensorProto.INT4, [3])
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, [3])
    scale = helper.make_tensor("scale", TensorProto.FLOAT, [], [0.5])
    node = helper.make_node("DequantizeLinear", ["x", "scale"], ["y"])
    path = tmp_path / "model.onnx"
    model = helper.make_model(
        helper.make_graph([node], "g", [x], [y], [scale]), opset_imports=[helper.make_opsetid("", 21)], ir_version=10
    )
    onnx.save(model, path)
    artifact = Artifact("onnx", path, (TensorSpec("x", "int4", (3,)),), (TensorSpec("y", "float32", (3,)),))
    backend.import_runtime(Load(), "cpu")
    (slot,) = backend.compile(artifact, Load(precision="native"), "cpu", PhaseLog()).open_slots(1, "copy")
    slot.stage((np.array([-8, 7, 1], ml_dtypes.int4),))
    slot.run()
    assert slot.fetch()[0].tolist() == [-4, 3.5, 0.5]


@pytest.mark.parametrize("dtype", ["bfloat16", "string"])
def test_what_python_cannot_bind_is_refused_with_a_way_out(dtype: str):
    specs = (TensorSpec("x", dtype, (2,)),)
    session = OrtSession(None, Artifact("onnx", Path("m.onnx"), specs, specs), "cpu", {})
    with pytest.raises(Refusal) as caught:
        session.open_slots(1, "bound")
    assert "--io copy" in caught.value.hint


class CopyingBinding:
    """Copies an input when it is bound, as ONNX Runtime does if a node on another device reads it.

    Copies have arrived once the inputs are synchronised.
    """

    def __init__(self) -> None:
        self._copies: dict[str, Any] = {}
        self.arrived: dict[str, Any] = {}
        self.outputs: dict[str, Any] = {}

    def bind_ortvalue_input(self, name: str, value: Any) -> None:
        self._copies[name] = np.array(value.numpy(), copy=True)

    def synchronize_inputs(self) -> None:
        self.arrived |= self._copies

    def bind_ortvalue_output(self, name: str, value: Any) -> None:
        self.outputs[name] = value

    def synchronize_outputs(self) -> None: ...

    def get_outputs(self) -> list[Any]:
        return list(self.outputs.values())


class CopyingSession:
    """Adds one to its input ``k``."""

    def io_binding(self) -> CopyingBinding:
        return CopyingBinding()

    def run_with_iobinding(self, binding: CopyingBinding) -> None:
        binding.outputs["y"].update_inplace(binding.arrived["k"] + 1)


def test_a_bound_input_that_was_copied_when_it_was_bound_follows_each_staging():
    inputs, outputs = ((TensorSpec(name, "int64", (1,)),) for name in ("k", "y"))
    session = OrtSession(CopyingSession(), Artifact("onnx", Path(), inputs, outputs), "cpu", {})
    (slot,) = session.open_slots(1, "bound")
    answers = []
    for number in (41, 7):
        slot.stage((np.array([number]),))
        slot.run()
        answers.append(slot.fetch()[0].tolist())
    assert answers == [[42], [8]]
