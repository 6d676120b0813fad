"""The shapes of all values of a graph whose inputs have sizes, as ONNX infers them; weights are not read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from irbench.onnx.contributed import contributed_schemas
from irbench.onnx.reading.weightless import read_outline
from irbench.spec import Shape, TensorSpec

if TYPE_CHECKING:
    import onnx

__all__ = ["ValueShape", "inferred_at", "shapes_of_file"]


@dataclass(frozen=True)
class ValueShape:
    """What a node computes.

    Attributes:
        name: The value.
        operator: Of the node.
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

    Args:
        path: An ONNX file.
        inputs: Its inputs with the sizes to infer for.

    Raises:
        IrbenchError: The file is missing or not an ONNX model.
    """
    graph = inferred_at(read_outline(path), inputs).graph
    makers = {name: node.op_type for node in graph.node for name in node.output}
    described = {value.name: value for value in (*graph.value_info, *graph.output)}
    values = (described[name] for name in makers if name in described)
    return tuple(
        ValueShape(value.name, makers[value.name], _dtype(value), _shape(value))
        for value in values
        if value.type.tensor_type.HasField("shape")
    )


def inferred_at(model: onnx.ModelProto, inputs: Sequence[TensorSpec]) -> onnx.ModelProto:
    """Return the model with all shapes that follow from those of its inputs; ``model`` is left as it is."""
    from onnx import inliner, shape_inference

    bound = _bound(model, inputs)
    if bound.functions:
        bound = inliner.inline_local_functions(bound)
    with contributed_schemas(bound):
        inferred = shape_inference.infer_shapes(bound, data_prop=True)
        if _is_complete(inferred.graph) or find_spec("onnx_ir") is None:
            return inferred
        return shape_inference.infer_shapes(_with_computed_sizes(bound), data_prop=True)


def _is_complete(graph: onnx.GraphProto) -> bool:
    """Whether every value of the main graph has a shape of numbers."""
    known = {value.name for value in (*graph.value_info, *graph.output) if _is_known(value)}
    return all(name in known for node in graph.node for name in node.output if name)


def _is_known(value: onnx.ValueInfoProto) -> bool:
    return value.type.tensor_type.HasField("shape") and all(isinstance(size, int) for size in _shape(value))


def _with_computed_sizes(model: onnx.ModelProto) -> onnx.ModelProto:
    """Return the model with shapes by our own inference, which follows sizes that ONNX's gives up on."""
    import onnx_ir as ir

    from irbench.onnx.shapes import infer

    described = ir.from_proto(model)
    infer(described)
    return ir.to_proto(described)


def _bound(model: onnx.ModelProto, inputs: Sequence[TensorSpec]) -> onnx.ModelProto:
    import onnx

    bound = onnx.ModelProto()
    bound.CopyFrom(model)
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


def _dtype(value: onnx.ValueInfoProto) -> str:
    from onnx import helper

    try:
        return str(helper.tensor_dtype_to_np_dtype(value.type.tensor_type.elem_type).name)
    except KeyError:
        return ""


def _shape(value: onnx.ValueInfoProto) -> Shape:
    dimensions = value.type.tensor_type.shape.dim
    return tuple(size.dim_value if size.HasField("dim_value") else size.dim_param or "?" for size in dimensions)
