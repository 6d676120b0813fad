"""The signature of an ONNX file: inputs, outputs and operator set, read without its weights.

The file may be hostile: it is mapped, not loaded, and every field is checked.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from irbench.errors import IrbenchError
from irbench.onnx.reading.dimension_names import DimensionNames, is_chosen, with_batch
from irbench.onnx.reading.protobuf import DAMAGED, Field, Graph, Malformed, Model, Tensor, fields, mapped, text
from irbench.spec import TensorSpec

if TYPE_CHECKING:
    import numpy as np
    import onnx

__all__ = ["Signature", "read"]

_MAX_AXIS = 2**31 - 1
_MAX_RANK = 32
_MAX_SIGNATURE_BYTES = 1 << 20
_ELEMENTS = {"O": "strings", "c": "complex numbers"}
_Message = TypeVar("_Message", "onnx.OperatorSetIdProto", "onnx.ValueInfoProto")


@dataclass(frozen=True)
class Signature:
    """Inputs and outputs in the file's order, without inputs that only name weights.

    Attributes:
        inputs: A dynamic first axis that all inputs with axes share is called ``batch`` whatever the file calls it;
            where they share none, a dimension with ``batch`` in its name is. A dynamic axis without a name, or
            called ``?``, is called ``<tensor>_<axis>``.
        outputs: Likewise; an axis without a name is never taken for the batch, for it may depend on the data.
        opset: Version of ONNX's own operator set.
        nodes: Number of nodes at the top level.
        batch_in_file: What the file calls the dimension ``batch``; empty where it gives no name.
    """

    inputs: tuple[TensorSpec, ...]
    outputs: tuple[TensorSpec, ...]
    opset: int
    nodes: int
    batch_in_file: str = ""


def read(path: Path) -> Signature:
    """Read the signature of an ONNX file.

    Raises:
        IrbenchError: The file is missing, is no ONNX model, or has an input or output that is no tensor of
            numbers with a known rank.
    """
    import onnx

    with mapped(path) as data:
        opset, graph = _opset_and_graph(data)
        if graph is None or opset < 1:
            raise IrbenchError(f"{path} is not an ONNX model, or is damaged.", hint=DAMAGED)
        parts = list(fields(data, graph.start, graph.end))
        weights = {_initializer_name(data, part) for part in parts if part.number == Graph.INITIALIZER}
        inputs = [_parsed(onnx.ValueInfoProto, data, part) for part in parts if part.number == Graph.INPUT]
        outputs = [_parsed(onnx.ValueInfoProto, data, part) for part in parts if part.number == Graph.OUTPUT]
        nodes = sum(part.number == Graph.NODE for part in parts)
    inputs = [value for value in inputs if value.name not in weights]
    names = DimensionNames(_chosen_names((*inputs, *outputs)))
    fed, made = ([_spec(value, names, path) for value in values] for values in (inputs, outputs))
    _require_usable(fed, made, path)
    batch = names.batch_names(fed)
    chosen = next(iter(batch & set(_chosen_names(inputs))), "")
    return Signature(with_batch(fed, batch), with_batch(made, batch), opset=opset, nodes=nodes, batch_in_file=chosen)


def _chosen_names(values: Iterable[onnx.ValueInfoProto]) -> Iterator[str]:
    dimensions = (dimension for value in values for dimension in value.type.tensor_type.shape.dim)
    return (dimension.dim_param.strip() for dimension in dimensions)


def _opset_and_graph(data: memoryview) -> tuple[int, Field | None]:
    """Return the version of ONNX's own operator set, 0 where there is none, and where the graph lies."""
    import onnx

    opset = 0
    graph: Field | None = None
    for field in fields(data):
        if field.number == Model.OPSET_IMPORT:
            imported = _parsed(onnx.OperatorSetIdProto, data, field)
            opset = max(opset, imported.version) if imported.domain in ("", "ai.onnx") else opset
        elif field.number == Model.GRAPH:
            graph = field
    return opset, graph


def _require_usable(fed: Sequence[TensorSpec], made: Sequence[TensorSpec], path: Path) -> None:
    """Refuse a graph that cannot be fed, answers nothing, or contradicts itself."""
    if not fed:
        raise IrbenchError(
            f"{path} has no inputs: its outputs are always the same, and runtimes compute them when they load it.",
            hint="Make what varies an input of the graph, and export it again.",
        )
    if not made:
        raise IrbenchError(f"{path} has no outputs.", hint="Export it again with the tensors that it should compute.")
    if len({spec.name for spec in fed}) < len(fed):
        raise IrbenchError(f"{path} has two inputs with the same name.", hint=DAMAGED)


def _spec(value: onnx.ValueInfoProto, names: DimensionNames, path: Path) -> TensorSpec:
    dtype, tensor = _number_type(value, path), value.type.tensor_type
    if not tensor.HasField("shape") or len(tensor.shape.dim) > _MAX_RANK:
        raise IrbenchError(
            f"'{value.name}' of {path} has no known rank.",
            hint="Run onnx.shape_inference on it, or export it with shapes.",
        )
    sizes = enumerate(map(_size, tensor.shape.dim))
    shape = tuple(names.name(value.name, axis) if size is None else size for axis, size in sizes)
    _require_possible(shape, value.name, path)
    return TensorSpec(value.name, dtype.name, shape)


def _number_type(value: onnx.ValueInfoProto, path: Path) -> np.dtype[Any]:
    """Return the type of a tensor's elements; refuse what is no tensor of numbers."""
    from onnx import helper

    if value.type.WhichOneof("value") != "tensor_type":
        kind = str(value.type.WhichOneof("value") or "").removesuffix("_type").replace("_", " ")
        if not kind:
            raise IrbenchError(f"'{value.name}' of {path} has no type.", hint=DAMAGED)
        raise IrbenchError(
            f"'{value.name}' of {path} is {_with_article(kind)}, and irbench supports tensors of numbers only.",
            hint="Export only the part of the model that works with numbers.",
        )
    try:
        dtype = helper.tensor_dtype_to_np_dtype(value.type.tensor_type.elem_type)
    except KeyError as error:
        raise IrbenchError(f"'{value.name}' of {path} has an unknown type.", hint=DAMAGED) from error
    if dtype.kind not in "biuf" and dtype.name != "bfloat16":
        raise IrbenchError(
            f"'{value.name}' of {path} is a tensor of {_ELEMENTS.get(dtype.kind, dtype.name)}, "
            "and irbench supports real numbers only.",
            hint="Export only the part of the model that works with numbers.",
        )
    return dtype


def _with_article(kind: str) -> str:
    return f"an {kind}" if kind[0] in "aeiou" else f"a {kind}"


def _size(dimension: onnx.TensorShapeProto.Dimension) -> int | str | None:
    """Return what the file says of a dimension; ``None`` where it says nothing: some write 0 or -1 for that."""
    if dimension.WhichOneof("value") == "dim_value":
        return int(dimension.dim_value) if dimension.dim_value > 0 else None
    name = dimension.dim_param.strip()
    return name if is_chosen(name) else None


def _require_possible(shape: Sequence[int | str], name: str, path: Path) -> None:
    for axis, size in enumerate(shape):
        if isinstance(size, int) and size > _MAX_AXIS:
            raise IrbenchError(f"Axis {axis} of '{name}' in {path} has the invalid size {size}.", hint=DAMAGED)


def _initializer_name(data: memoryview, tensor: Field) -> str:
    names = (field for field in fields(data, tensor.start, tensor.end) if field.number == Tensor.NAME)
    return next((text(data, name) for name in names), "")


def _parsed(kind: type[_Message], data: memoryview, field: Field) -> _Message:
    if field.end - field.start > _MAX_SIGNATURE_BYTES:
        raise Malformed
    message = kind()
    try:
        message.ParseFromString(bytes(data[field.start : field.end]))
    except Exception as error:
        raise Malformed from error
    return message
