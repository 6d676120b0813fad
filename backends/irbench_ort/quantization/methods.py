"""Which operators each method quantises, and which method suits a graph."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from irbench.onnx.rewriting.unique_names import take_name
from irbench.spi import QuantizationMethod

if TYPE_CHECKING:
    import onnx

STATIC = ("Conv", "Gemm", "MatMul", "Relu", "Clip")
"""A Relu or Clip behind one of the others becomes a part of its quantiser."""

DYNAMIC = ("Attention", "Gemm", "LSTM", "MatMul")
"""``Attention`` is that of the runtime, which holds the weights of its projections."""

_CONTRIBUTED = {"Attention": "com.microsoft"}
"""The domain of an operator that is not ONNX's own."""


def suitable_method(source: Path) -> QuantizationMethod | None:
    """Return which method suits a graph: static where most operators that have weights are convolutions.

    ``None`` where no operator has any, so that nothing can be quantised.
    """
    import onnx

    graph = onnx.load(source, load_external_data=False).graph
    axes = _axes_of_constants(graph)
    weighted = [node.op_type for node in graph.node if axes.keys() & set(node.input) and not _is_excluded(node, axes)]
    convolutions = weighted.count("Conv")
    others = sum(weighted.count(op_type) for op_type in DYNAMIC)
    if not convolutions + others:
        return None
    return "static" if convolutions >= others else "dynamic"


def name_excluded(model: onnx.ModelProto, operators: Collection[str]) -> list[str]:
    """Return the names of nodes that the tool would quantise and must not."""
    axes, taken = _axes_of_constants(model.graph), {node.name for node in model.graph.node}
    excluded = [node for node in model.graph.node if node.op_type in operators and _is_excluded(node, axes)]
    for node in excluded:
        node.name = take_name(f"{node.op_type}_in_fp32", taken)
    return [node.name for node in excluded]


def _is_excluded(node: onnx.NodeProto, axes: Mapping[str, int]) -> bool:
    """Whether a node has only the name of an operator that is quantised, or weights that no kernel takes.

    The tool does not look at domains. Where the weights of a MatMul are no matrix, it gives them scales along an axis
    that the runtime's kernels refuse.
    """
    if (node.domain or "ai.onnx") != _CONTRIBUTED.get(node.op_type, "ai.onnx"):
        return True
    return node.op_type == "MatMul" and axes.get(node.input[1], 2) != 2


def _axes_of_constants(graph: onnx.GraphProto) -> dict[str, int]:
    axes = {initializer.name: len(initializer.dims) for initializer in graph.initializer}
    for node in graph.node:
        if node.op_type == "Constant":
            axes[node.output[0]] = sum(len(attribute.t.dims) for attribute in node.attribute)
    return axes
