"""A tiny graph of one matrix product, for probing devices and precisions."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path

from irbench.spec import Artifact, Load, Precision, TensorSpec
from irbench.spi import Backend, Refusal

__all__ = ["computed_precision", "matmul"]

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
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", _OPSET)], ir_version=8)
    path = folder / f"matmul-{precision}.onnx"
    path.write_bytes(model.SerializeToString())
    return Artifact(
        "onnx", path, (TensorSpec("x", "float32", shape),), (TensorSpec("y", "float32", shape),), (), "", 17
    )


def computed_precision(backend: Backend, artifact: Artifact, device: str, asked: Precision) -> str | None:
    """Return the precision that a backend computes an artifact in when asked for one; ``None`` where it refuses."""
    load = Load(precision=asked)
    try:
        backend.import_runtime(load, device)
        session = backend.compile(artifact, load, device, lambda _phase: nullcontext())
    except Refusal:
        return None
    try:
        return str(session.effective["precision"])
    finally:
        session.close()
