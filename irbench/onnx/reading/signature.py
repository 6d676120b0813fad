"""The signature of an ONNX file: inputs, outputs and operator set, read without its weights.

The file may be hostile: it is mapped, not loaded, and every field is checked.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from irbench.errors import IrbenchError
from irbench.onnx.reading.element_types import spec_dtype
from irbench.onnx.reading.protobuf import DAMAGED, Field, GraphField, Malformed, Model, Tensor, fields, mapped, text
from irbench.spec import BATCH, TensorSpec, names_in, renamed

if TYPE_CHECKING:
    import onnx

_NO_NAME = re.compile(r"\W*|[+-]?\d+|None|none|null|nan")
"""What exporters write where they know neither size nor name; it may occur twice and mean two sizes."""
_TF2ONNX = "unk__"
"""How the names begin that tf2onnx numbers, a new one for each tensor."""
_BATCH_LIKE = re.compile(r"\w*batch\w*", re.IGNORECASE)
_LEADING_BATCH_LIKE = re.compile(r"\w*batch\w*|n|b|bs", re.IGNORECASE)
_NUMBERED = re.compile(r"(unk__|s|u|dim_?|\w*dynamic_axes_|DynamicDimension\W)\d+")
"""How exporters number dimensions that nobody named: those of tf2onnx, PyTorch and PaddlePaddle."""


def is_chosen(name: str) -> bool:
    """Whether somebody called a dimension so: ``?``, ``-1`` and an empty text say that the size is unknown."""
    return _NO_NAME.fullmatch(name) is None


def may_be_batch(name: str) -> bool:
    """Whether a first dimension of that name counts samples; ``length`` or ``num_points`` is the size of one sample."""
    return not is_chosen(name) or any(names.fullmatch(name) for names in (_NUMBERED, _LEADING_BATCH_LIKE))


class DimensionNames:
    """Names for dimensions that have none: those of one file.

    Args:
        chosen: The names that the file gives, which are not given again.
    """

    def __init__(self, chosen: Iterable[str]) -> None:
        self._taken = set(chosen)
        self._generated: dict[tuple[str, int], str] = {}

    def name(self, tensor: str, axis: int) -> str:
        """Return a name that no other axis has: ``<tensor>_<axis>``, with anything but letters and digits as ``_``."""
        if (tensor, axis) not in self._generated:
            name = re.sub(r"\W", "_", tensor) + f"_{axis}"
            while name in self._taken:
                name += "_"
            self._taken.add(name)
            self._generated[tensor, axis] = name
        return self._generated[tensor, axis]

    def batch_names(self, inputs: Sequence[TensorSpec]) -> frozenset[str]:
        """Return what the file calls the batch; several names where it gives each tensor one of its own."""
        leading = {spec.shape[0] for spec in inputs if spec.shape}
        names = {size for size in leading if _is_name(size)}
        chosen = {name for name in names if not self._is_generated(name)}
        others = {size for spec in inputs for size in spec.shape} - names
        if names == leading and BATCH not in others and (not chosen or _are_one_batch(chosen, names)):
            return frozenset(map(str, names))
        alike = {name for name in names if _LEADING_BATCH_LIKE.fullmatch(str(name))}
        alike |= {size for size in others if _is_name(size) and _BATCH_LIKE.fullmatch(str(size))}
        return frozenset(map(str, alike)) if len(alike) == 1 else frozenset()

    def _is_generated(self, name: int | str) -> bool:
        """Whether nobody chose the name: the file gave none, or tf2onnx numbered it."""
        return name in self._generated.values() or str(name).startswith(_TF2ONNX)


def _with_batch(tensors: Iterable[TensorSpec], names: Collection[str]) -> tuple[TensorSpec, ...]:
    """Return the tensors with ``batch`` in place of each of the names, also where it stands in arithmetic."""
    new: Mapping[str, str] = dict.fromkeys(names, BATCH)
    return tuple(
        TensorSpec(spec.name, spec.dtype, tuple(renamed(size, new) for size in spec.shape)) for spec in tensors
    )


def _are_one_batch(chosen: Collection[int | str], names: Collection[int | str]) -> bool:
    """Whether names of first dimensions mean the same one; where some have none, the chosen name must say so."""
    return len(chosen) == 1 and (len(names) == 1 or all(_LEADING_BATCH_LIKE.fullmatch(str(name)) for name in chosen))


def _is_name(size: int | str) -> bool:
    return isinstance(size, str) and names_in(size) == (size,)


_MAX_AXIS = 2**31 - 1
_MAX_RANK = 32
_MAX_SIGNATURE_BYTES = 1 << 20
_Message = TypeVar("_Message", "onnx.OperatorSetIdProto", "onnx.ValueInfoProto")


@dataclass(frozen=True)
class Signature:
    """Inputs and outputs in the file's order, without inputs that only name weights.

    Attributes:
        inputs: A dynamic first axis that all inputs with axes share is called ``batch`` whatever the file calls it;
            where they share none, a dimension with ``batch`` in its name is. A dynamic axis without a name, or
            called ``?``, is called ``<tensor>_<axis>``.
        outputs: Likewise; an axis without a name is never taken for the batch, for it may depend on the data.
        opset: Version of ONNX's own operator set; ``None`` where the model uses other sets only.
        batch_in_file: What the file calls the dimension ``batch``; empty where it gives no name.
    """

    inputs: tuple[TensorSpec, ...]
    outputs: tuple[TensorSpec, ...]
    opset: int | None
    nodes: int
    batch_in_file: str = ""


def read(path: Path, every_output: bool = True) -> Signature:
    """Read the signature of an ONNX file.

    The standard lets an output leave out its shape: it is inferred then. ONNX's own code does that; call this in a
    worker where the file is of unknown origin.

    Outputs of unknown rank are refused, or left out unless ``every_output``.
    """
    with mapped(path) as data:
        opsets, graph = _opsets_and_graph(data)
        if graph is None or not opsets or min(opsets.values()) < 1:
            raise IrbenchError(f"{path} is not an ONNX model, or is damaged.", hint=DAMAGED)
        outside = _outside(data, graph)
    inputs, outputs = outside.inputs, with_inferred_shapes(path, outside.outputs)
    if not every_output:
        outputs = [value for value in outputs if not lacks_shape(value)]
    if any(isinstance(value.name, bytes) for value in (*inputs, *outputs)):
        raise IrbenchError(f"An input or output of {path} has a name that is not valid UTF-8.", hint=DAMAGED)
    inputs = [value for value in inputs if value.name not in outside.weights]
    names = DimensionNames(_chosen_names((*inputs, *outputs)))
    fed, results = ([_spec(value, names, path) for value in values] for values in (inputs, outputs))
    _require_usable(fed, outside.outputs, path)
    batch = names.batch_names(fed)
    chosen = next(iter(batch & set(_chosen_names(inputs))), "")
    return Signature(
        _with_batch(fed, batch),
        _with_batch(results, batch),
        opset=opsets.get(""),
        nodes=outside.nodes,
        batch_in_file=chosen,
    )


@dataclass
class _Outside:
    """What a graph shows: inputs and outputs as they stand, names of its weights, and how many nodes it has."""

    inputs: list[onnx.ValueInfoProto]
    outputs: list[onnx.ValueInfoProto]
    weights: set[str]
    nodes: int = 0


def _outside(data: memoryview, graph: Field) -> _Outside:
    import onnx

    outside = _Outside([], [], set())
    for part in fields(data, graph.start, graph.end):
        if part.number == GraphField.NODE:
            outside.nodes += 1
        elif part.number == GraphField.INITIALIZER:
            outside.weights.add(_initializer_name(data, part))
        elif part.number in (GraphField.INPUT, GraphField.OUTPUT):
            values = outside.inputs if part.number == GraphField.INPUT else outside.outputs
            values.append(_parsed(onnx.ValueInfoProto, data, part))
    return outside


def _chosen_names(values: Iterable[onnx.ValueInfoProto]) -> Iterator[str]:
    dimensions = (dimension for value in values for dimension in value.type.tensor_type.shape.dim)
    return (dimension.dim_param.strip() for dimension in dimensions)


def _opsets_and_graph(data: memoryview) -> tuple[dict[str, int], Field | None]:
    """Return the version of each operator set by its domain, ONNX's own under "", and where the graph lies."""
    import onnx

    opsets: dict[str, int] = {}
    graph: Field | None = None
    for field in fields(data):
        if field.number == Model.OPSET_IMPORT:
            imported = _parsed(onnx.OperatorSetIdProto, data, field)
            domain = "" if imported.domain == "ai.onnx" else imported.domain
            opsets[domain] = max(opsets.get(domain, 0), imported.version)
        elif field.number == Model.GRAPH:
            graph = field
    return opsets, graph


def with_inferred_shapes(path: Path, outputs: Sequence[onnx.ValueInfoProto]) -> list[onnx.ValueInfoProto]:
    """Return the outputs of a file with the types that follow for those without a shape, as far as ONNX finds them."""
    if not any(map(lacks_shape, outputs)):
        return list(outputs)
    from onnx import checker, shape_inference

    from irbench.onnx.reading.external_data import read_outline
    from irbench.onnx.reading.value_shapes import inferred_at

    try:
        inferred = inferred_at(read_outline(path), ()).graph
    except (shape_inference.InferenceError, checker.ValidationError, RuntimeError, UnicodeDecodeError):
        return list(outputs)  # the caller says which output lacks what
    described = {value.name: value for value in inferred.output}
    named = set(_chosen_names(inferred.input))
    for value in described.values():
        for dimension in value.type.tensor_type.shape.dim:
            if dimension.HasField("dim_param") and not named.issuperset(names_in(dimension.dim_param)):
                dimension.ClearField("dim_param")  # numbered by ONNX, and dynamic for all that is known
    return [described.get(value.name, value) if lacks_shape(value) else value for value in outputs]


def lacks_shape(value: onnx.ValueInfoProto) -> bool:
    """Return whether nothing is said of a tensor's rank; other types have none."""
    kind = value.type.WhichOneof("value")
    return kind is None or (kind == "tensor_type" and not value.type.tensor_type.HasField("shape"))


def _require_usable(fed: Sequence[TensorSpec], results: Sequence[onnx.ValueInfoProto], path: Path) -> None:
    """Refuse a graph that cannot be fed, answers nothing, or contradicts itself."""
    if not fed:
        raise IrbenchError(
            f"{path} has no inputs: its outputs are always the same, and runtimes compute them when they load it.",
            hint="Make what varies an input of the graph, and export it again.",
        )
    if not results:
        raise IrbenchError(f"{path} has no outputs.", hint="Export it again with the tensors that it should compute.")
    if len({spec.name for spec in fed}) < len(fed):
        raise IrbenchError(f"{path} has two inputs with the same name.", hint=DAMAGED)


def _spec(value: onnx.ValueInfoProto, names: DimensionNames, path: Path) -> TensorSpec:
    dtype, tensor = _element_type(value, path), value.type.tensor_type
    if not tensor.HasField("shape") or len(tensor.shape.dim) > _MAX_RANK:
        raise IrbenchError(
            f"'{value.name}' of {path} has no known rank.",
            hint="Run onnx.shape_inference on it, or export it with shapes.",
        )
    if any(isinstance(dimension.dim_param, bytes) for dimension in tensor.shape.dim):
        raise IrbenchError(f"'{value.name}' of {path} has a dimension whose name is not valid text.", hint=DAMAGED)
    sizes = enumerate(map(_size, tensor.shape.dim))
    shape = tuple(names.name(value.name, axis) if size is None else size for axis, size in sizes)
    _require_possible(shape, value.name, path)
    return TensorSpec(value.name, dtype, shape)


def _element_type(value: onnx.ValueInfoProto, path: Path) -> str:
    if value.type.WhichOneof("value") != "tensor_type":
        kind = str(value.type.WhichOneof("value") or "").removesuffix("_type").replace("_", " ")
        if not kind:
            raise IrbenchError(f"'{value.name}' of {path} has no type.", hint=DAMAGED)
        raise IrbenchError(
            f"'{value.name}' of {path} is {_with_article(kind)}, and irbench supports tensors only.",
            hint=_how_to_get_tensors(value),
        )
    try:
        dtype = spec_dtype(value.type.tensor_type.elem_type)
    except KeyError as error:
        raise IrbenchError(f"'{value.name}' of {path} has an unknown type.", hint=DAMAGED) from error
    if dtype.startswith("complex"):
        raise IrbenchError(
            f"'{value.name}' of {path} is a tensor of complex numbers, and irbench supports real numbers and strings "
            "only.",
            hint="Export only the part of the model that works with real numbers.",
        )
    return dtype


def _how_to_get_tensors(value: onnx.ValueInfoProto) -> str:
    if value.type.sequence_type.elem_type.HasField("map_type"):  # what ZipMap makes of a classifier's probabilities
        return "Export it with skl2onnx.to_onnx(..., options={'zipmap': False}): probabilities are a tensor then."
    return "Export only the part of the model that works with tensors."


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
