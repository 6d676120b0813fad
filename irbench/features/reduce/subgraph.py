"""Cut some nodes out of a graph: what they read becomes an input or a weight, what nobody reads an output."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from irbench.onnx.rewriting.detached_weights import used_names
from irbench.spi import Array

if TYPE_CHECKING:
    import onnx


@dataclass(frozen=True)
class TensorType:
    """Element type and shape of a value."""

    element: int
    shape: tuple[int, ...]


@dataclass(frozen=True)
class SubgraphBoundary:
    """The signature of a subgraph.

    Attributes:
        inputs: Values of the whole graph that become inputs, by name.
        constants: Values of the whole graph that become weights, by name.
    """

    inputs: Mapping[str, TensorType]
    outputs: Mapping[str, TensorType]
    constants: Mapping[str, Array] = field(default_factory=dict[str, Array])


def names_read(node: onnx.NodeProto) -> Iterator[str]:
    """Yield the names that a node reads, and those that graphs inside it read, each once.

    Names that a graph inside defines are among them; ONNX gives no two values one name, so they are not names of the
    graph around it. ``onnx.utils.Extractor`` overlooks what graphs inside a node read.
    """
    seen = set[str]()
    inner = (graph for attribute in node.attribute for graph in _graphs(attribute))
    for name in (*node.input, *(name for graph in inner for name in used_names(graph))):
        if name and name not in seen:
            seen.add(name)
            yield name


def subgraph(model: onnx.ModelProto, kept: Sequence[int], boundary: SubgraphBoundary) -> onnx.ModelProto:
    """Return a model of some of the nodes of another, which stays as it is."""
    import onnx
    from onnx import helper, numpy_helper

    part = onnx.ModelProto(ir_version=model.ir_version, producer_name="irbench")
    part.opset_import.extend(model.opset_import)
    part.functions.extend(model.functions)
    graph = part.graph
    graph.name = model.graph.name
    graph.node.extend(model.graph.node[place] for place in kept)
    read = {name for node in graph.node for name in names_read(node)}
    graph.initializer.extend(tensor for tensor in model.graph.initializer if tensor.name in read)
    graph.initializer.extend(numpy_helper.from_array(value, name) for name, value in boundary.constants.items())
    graph.sparse_initializer.extend(tensor for tensor in model.graph.sparse_initializer if tensor.values.name in read)
    for target, types in ((graph.input, boundary.inputs), (graph.output, boundary.outputs)):
        target.extend(
            helper.make_tensor_value_info(name, tensor_type.element, tensor_type.shape)
            for name, tensor_type in types.items()
        )
    return part


def _graphs(attribute: onnx.AttributeProto) -> Sequence[onnx.GraphProto]:
    return (attribute.g, *attribute.graphs) if attribute.HasField("g") else tuple(attribute.graphs)
