"""Tiny graphs: one of a matrix product, for probing devices and precisions, and one that does nothing."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

from irbench.spec import Artifact, Load, Precision, TensorSpec
from irbench.spi import Backend, Refusal

if TYPE_CHECKING:
    import onnx

_SHAPE = (16, 16)
_OPSET = 17


def matmul(folder: Path, precision: str, shape: tuple[int, ...] = _SHAPE) -> Artifact:
    """Write ``y = x @ w`` with float32 input and output, computed in ``precision`` (``fp32``, ``fp16`` or ``bf16``).

    Returns:
        The artifact; ``x`` and ``y`` are float32 of ``shape``, ``w`` is square.
    """
    from onnx import TensorProto, helper

    element = {"fp32": TensorProto.FLOAT, "fp16": TensorProto.FLOAT16, "bf16": TensorProto.BFLOAT16}[precision]
    side = shape[-1]
    weights = [(row * side + column) % 7 - 3.0 for row in range(side) for column in range(side)]
    graph = helper.make_graph(
        [
            helper.make_node("Cast", ["x"], ["narrow_x"], to=element),
            helper.make_node("MatMul", ["narrow_x", "w"], ["narrow_y"]),
            helper.make_node("Cast", ["narrow_y"], ["y"], to=TensorProto.FLOAT),
        ],
        "matmul",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, shape)],
        [helper.make_tensor("w", element, [side, side], weights)],
    )
    return _written(graph, folder / f"matmul-{precision}.onnx", shape)


def identity(folder: Path) -> Artifact:
    """Write ``y = x`` of one float32 number, and return the artifact."""
    from onnx import TensorProto, helper

    graph = helper.make_graph(
        [helper.make_node("Identity", ["x"], ["y"])],
        "identity",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1])],
    )
    return _written(graph, folder / "identity.onnx", (1,))


def computed_precision(backend: Backend, artifact: Artifact, device: str, precision: Precision) -> str | None:
    """Return the precision that a backend computes an artifact in when asked for one; ``None`` where it refuses."""
    load = Load(precision=precision)
    try:
        backend.import_runtime(load, device)
        session = backend.compile(artifact, load, device, lambda _phase: nullcontext())
    except Refusal:
        return None
    try:
        return str(session.effective["precision"])
    finally:
        session.close()


def _written(graph: onnx.GraphProto, path: Path, shape: tuple[int, ...]) -> Artifact:
    from onnx import helper

    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", _OPSET)], ir_version=8)
    path.write_bytes(model.SerializeToString())
    return Artifact(
        "onnx", path, (TensorSpec("x", "float32", shape),), (TensorSpec("y", "float32", shape),), (), "", _OPSET
    )
