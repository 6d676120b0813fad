"""Which operators each method quantises, and which method suits a graph."""

from __future__ import annotations

from pathlib import Path

from irbench.spi import QuantizationMethod

__all__ = ["DYNAMIC", "STATIC", "suitable_method"]

STATIC = ("Conv", "Gemm", "MatMul", "Relu", "Clip")
"""A Relu or Clip behind one of the others becomes a part of its quantiser."""

DYNAMIC = ("Attention", "Gemm", "LSTM", "MatMul")


def suitable_method(source: Path) -> QuantizationMethod | None:
    """Return which method suits a graph: static where most operators that have weights are convolutions.

    ``None`` where no operator has any, so that nothing can be quantised.
    """
    import onnx

    graph = onnx.load(source, load_external_data=False).graph
    constants = {initializer.name for initializer in graph.initializer}
    constants.update(*(node.output for node in graph.node if node.op_type == "Constant"))
    weighted = [node.op_type for node in graph.node if constants.intersection(node.input)]
    convolutions = weighted.count("Conv")
    others = sum(weighted.count(op_type) for op_type in DYNAMIC)
    if not convolutions + others:
        return None
    return "static" if convolutions >= others else "dynamic"
