"""ONNX Runtime takes and gives arrays of types that NumPy knows by extension only."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from irbench.measure.phases import PhaseLog
from irbench.spec import Artifact, Load, TensorSpec
from irbench_ort import backend
from irbench_ort.values import holds_extensions, to_array, to_value


@pytest.mark.parametrize("dtype", [ml_dtypes.bfloat16, ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2, np.float32])
@pytest.mark.parametrize("shape", [(2, 2), (), (0, 3)])
def test_an_array_comes_back_bit_by_bit(dtype: Any, shape: tuple[int, ...]):
    array = np.array([1, 0.5, -3, 4][: int(np.prod(shape))], dtype).reshape(shape)
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
