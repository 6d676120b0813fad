"""The signature of a model: what its inputs and outputs are called, their types and sizes."""

from __future__ import annotations

import onnx

__all__ = ["changes", "signature"]

Entry = tuple[str, int, tuple[int | str, ...] | None]


def signature(model: onnx.ModelProto) -> list[Entry]:
    """Return name, type and sizes of inputs that are no weights, and of outputs; no sizes where the rank is unknown."""
    weights = {tensor.name for tensor in model.graph.initializer}
    fed = [value for value in model.graph.input if value.name not in weights]
    return [(value.name, value.type.tensor_type.elem_type, _sizes(value)) for value in (*fed, *model.graph.output)]


def changes(before: list[Entry], after: list[Entry]) -> str:
    """Return what is in one signature alone."""
    lost, new = ([entry for entry in one if entry not in other] for one, other in ((before, after), (after, before)))
    return f"{lost} became {new}"


def _sizes(value: onnx.ValueInfoProto) -> tuple[int | str, ...] | None:
    tensor = value.type.tensor_type
    if not tensor.HasField("shape"):
        return None
    return tuple(dim.dim_value or dim.dim_param for dim in tensor.shape.dim)
