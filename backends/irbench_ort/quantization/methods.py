"""Which operators each method quantises, and which method suits a graph."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING

from irbench.onnx.rewriting.unique_names import take_name
from irbench.spi import QuantizationMethod

if TYPE_CHECKING:
    import onnx

__all__ = ["DYNAMIC", "STATIC", "name_namesakes", "suitable_method"]

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
    constants = {initializer.name for initializer in graph.initializer}
    constants.update(*(node.output for node in graph.node if node.op_type == "Constant"))
    weighted = [node.op_type for node in graph.node if constants.intersection(node.input) and not _is_namesake(node)]
    convolutions = weighted.count("Conv")
    others = sum(weighted.count(op_type) for op_type in DYNAMIC)
    if not convolutions + others:
        return None
    return "static" if convolutions >= others else "dynamic"


def name_namesakes(model: onnx.ModelProto, operators: Collection[str]) -> list[str]:
    """Return the names of nodes that only share the name of an operator: the tool does not look at domains.

    Args:
        model: Its main graph; such nodes get names of their own, in place.
        operators: Those that are quantised.
    """
    found = [node for node in model.graph.node if node.op_type in operators and _is_namesake(node)]
    taken = {node.name for node in model.graph.node}
    for node in found:
        node.name = take_name(f"{node.op_type}_that_stays", taken)
    return [node.name for node in found]


def _is_namesake(node: onnx.NodeProto) -> bool:
    """Whether a node is of another domain than the operator of its name that the tool quantises."""
    return (node.domain or "ai.onnx") != _CONTRIBUTED.get(node.op_type, "ai.onnx")
