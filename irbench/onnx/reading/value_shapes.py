"""The shapes of all values of a graph whose inputs have sizes, as ONNX infers them; weights are not read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from irbench.onnx.contributed import contributed_schemas
from irbench.onnx.contributed.attention import mark_shared_buffers
from irbench.onnx.reading.external_data import read_outline
from irbench.onnx.reading.small_values import SmallValues, has_body, known_sizes, propagate_sizes
from irbench.spec import Shape, TensorSpec

if TYPE_CHECKING:
    import onnx

UNKNOWN_SIZE = "?"
_MOST_ROUNDS = 10
"""As many loops may lie one behind the other whose sizes follow from those before."""
MOST_COPIES = 100_000_000
"""ONNX copies what it knows of a graph for each body of its nodes, some ten million values a second."""


@dataclass(frozen=True)
class ValueShape:
    """What a node computes.

    Attributes:
        dtype: A NumPy dtype name; empty where it is unknown.
        shape: A size per axis; ``?`` for one that is unknown, and a name for one that stays dynamic.
    """

    name: str
    operator: str
    dtype: str
    shape: Shape


def shapes_of_file(path: Path, inputs: Sequence[TensorSpec]) -> tuple[ValueShape, ...]:
    """Return the values of the main graph whose rank is known, in the order of the nodes.

    ONNX's own code reads what is in the file: call this in a worker where the file is of unknown origin.
    """
    graph = inferred_at(read_outline(path), inputs).graph
    makers = {name: node.op_type for node in graph.node for name in node.output}
    described = {value.name: value for value in (*graph.value_info, *graph.output)}
    values = (described[name] for name in makers if name in described)
    return tuple(
        ValueShape(value.name, makers[value.name], dtype_of(value), shape_of(value))
        for value in values
        if value.type.tensor_type.HasField("shape")
    )


def inferred_at(model: onnx.ModelProto, inputs: Sequence[TensorSpec]) -> onnx.ModelProto:
    """Return the model with all shapes that follow from those of its inputs; ``model`` is left as it is."""
    return inferred_with_values(model, inputs)[0]


def inferred_with_values(model: onnx.ModelProto, inputs: Sequence[TensorSpec]) -> tuple[onnx.ModelProto, SmallValues]:
    """Return the model with all shapes, and the contents of small tensors that its main graph computes from shapes."""
    from onnx import inliner, shape_inference

    bound = _bound(model, inputs)
    if bound.functions:
        bound = inliner.inline_local_functions(bound)
    _require_few_copies(bound.graph)
    with contributed_schemas(bound):
        if _has_sizes(bound.graph):
            return _inferred_by_values(bound)
        if find_spec("onnx_ir") is not None:  # our own inference follows names that ONNX's gives up on
            bound = _with_computed_sizes(bound)
        return shape_inference.infer_shapes(bound, data_prop=True), {}


def _require_few_copies(graph: onnx.GraphProto) -> None:
    """Refuse a graph of so many values and bodies that ONNX would be copying for minutes."""
    from onnx import shape_inference

    bodies = sum(len(attribute.graphs) + attribute.HasField("g") for node in graph.node for attribute in node.attribute)
    if bodies * len(graph.node) > MOST_COPIES:
        raise shape_inference.InferenceError(
            f"{bodies:,} bodies in a graph of {len(graph.node):,} nodes would take minutes."
        )


def _has_sizes(graph: onnx.GraphProto) -> bool:
    return all(known_sizes(value.type) is not None for value in graph.input if value.type.HasField("tensor_type"))


def _inferred_by_values(model: onnx.ModelProto) -> tuple[onnx.ModelProto, SmallValues]:
    """Infer shapes, compute what follows from them, and infer the bodies of nodes with that, until nothing is new."""
    from onnx import shape_inference

    inferred = shape_inference.infer_shapes(model, data_prop=True)
    values, has_learned = propagate_sizes(inferred)
    for _ in range(_MOST_ROUNDS if any(map(has_body, model.graph.node)) else 0):
        if not has_learned:
            break
        inferred = shape_inference.infer_shapes(inferred, data_prop=True)
        values, has_learned = propagate_sizes(inferred)
    return inferred, values


def _with_computed_sizes(model: onnx.ModelProto) -> onnx.ModelProto:
    """Return the model with shapes by our own inference, which follows sizes that ONNX's gives up on."""
    import onnx_ir as ir

    from irbench.onnx.shapes import infer

    described = ir.from_proto(model)
    infer(described, names_unknown=False, keeps_outputs=True)
    return ir.to_proto(described)


def _bound(model: onnx.ModelProto, inputs: Sequence[TensorSpec]) -> onnx.ModelProto:
    import onnx

    bound = onnx.ModelProto()
    bound.CopyFrom(model)
    mark_shared_buffers(bound.graph)
    sizes = {spec.name: spec.shape for spec in inputs}
    for value in bound.graph.input:
        for dimension, size in zip(value.type.tensor_type.shape.dim, sizes.get(value.name, ()), strict=False):
            if isinstance(size, int):
                dimension.dim_value = size
            else:  # the file may call two of them by one name, or -1
                dimension.dim_param = size
    for value in bound.graph.output:  # what it says holds for any batch
        value.type.tensor_type.ClearField("shape")
    del bound.graph.value_info[:]
    return bound


def dtype_of(value: onnx.ValueInfoProto) -> str:
    """Return the NumPy name of a tensor's element type; empty where it is unknown."""
    from onnx import helper

    try:
        return str(helper.tensor_dtype_to_np_dtype(value.type.tensor_type.elem_type).name)
    except KeyError:
        return ""


def shape_of(value: onnx.ValueInfoProto) -> Shape:
    """Return a size for each axis of a tensor whose rank is known; a name or ``?`` where it is unknown."""
    dimensions = value.type.tensor_type.shape.dim
    return tuple(
        size.dim_value if size.HasField("dim_value") else size.dim_param or UNKNOWN_SIZE for size in dimensions
    )
