"""The signature of a model: what its inputs and outputs are called, their types and sizes."""

from __future__ import annotations

import onnx

Entry = tuple[str, int, tuple[int | str, ...] | None]


def signature(model: onnx.ModelProto) -> list[Entry]:
    """Return name, type and sizes of inputs that are no weights, and of outputs; no sizes where the rank is unknown."""
    weights = {tensor.name for tensor in model.graph.initializer}
    fed = [value for value in model.graph.input if value.name not in weights]
    return [(value.name, value.type.tensor_type.elem_type, _sizes(value)) for value in (*fed, *model.graph.output)]


def keeps(before: list[Entry], after: list[Entry], *, may_fix: bool = False) -> bool:
    """Whether a signature says all that another one did; sizes that were open may be known since.

    Args:
        before: The signature before.
        after: The one after.
        may_fix: Whether a dimension with a name may have become a number, as in what ONNX's converter infers.
    """
    return len(before) == len(after) and all(_keeps(*pair, may_fix) for pair in zip(before, after, strict=True))


def _keeps(before: Entry, after: Entry, may_fix: bool) -> bool:
    if before[:2] != after[:2] or before[2] is None or after[2] is None or len(before[2]) != len(after[2]):
        return before == after
    pairs = zip(before[2], after[2], strict=True)
    return all(old in ("", new) or (may_fix and not isinstance(old, int)) for old, new in pairs)


def fits(entry: Entry, shape: tuple[int, ...]) -> bool:
    """Whether a tensor of this shape is what the signature states."""
    sizes = entry[2]
    if sizes is None or len(sizes) != len(shape):
        return sizes is None
    numbers = zip(sizes, shape, strict=True)
    return all(size == actual for size, actual in numbers if isinstance(size, int))


def changes(before: list[Entry], after: list[Entry]) -> str:
    """Return what is in one signature alone."""
    lost, new = ([entry for entry in one if entry not in other] for one, other in ((before, after), (after, before)))
    return f"{lost} became {new}"


def _sizes(value: onnx.ValueInfoProto) -> tuple[int | str, ...] | None:
    tensor = value.type.tensor_type
    if not tensor.HasField("shape"):
        return None
    named = (dim.dim_value or dim.dim_param for dim in tensor.shape.dim)
    return tuple(
        "" if str(size).startswith("unk__") else size for size in named
    )  # names that ONNX's inference makes up
