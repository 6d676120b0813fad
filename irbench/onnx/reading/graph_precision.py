"""The precision in which an ONNX graph is to be computed, read from the file alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from irbench.onnx.reading.inventory import NodeEntry, take_inventory

_FLOATS = {"bfloat16": "bf16", "float16": "fp16", "float32": "fp32", "float64": "fp64"}
_FLOATS |= dict.fromkeys(("float8e4m3fn", "float8e4m3fnuz", "float8e5m2", "float8e5m2fnuz"), "fp8")
"""What a graph can compute in, by the type of its tensors."""

_NARROWEST_FIRST = ("fp8", "bf16", "fp16", "fp32", "fp64")

_INTEGER_OPS = {
    "ConvInteger", "DynamicQuantizeLSTM", "DynamicQuantizeMatMul", "MatMulInteger", "MatMulIntegerToFloat",
    "MatMulNBits", "QAttention", "QGemm", "QLinearConv", "QLinearMatMul",
}  # fmt: skip
_QUANTISED_OPS = {*_INTEGER_OPS, "DequantizeLinear", "DynamicQuantizeLinear", "QuantizeLinear"}


@dataclass(frozen=True)
class GraphPrecision:
    """The floating types a graph holds.

    Attributes:
        weights: Elements of its initialisers and constants by precision, without those that a Cast widens or narrows
            before anything reads them: such weights are only stored so.
        multiplies_integers: Whether operations on them do its arithmetic, instead of floating-point ones between
            quantisers.
    """

    weights: Mapping[str, int]
    others: frozenset[str]
    quantised: bool
    multiplies_integers: bool = False

    @property
    def narrowest(self) -> str:
        """The narrowest precision found anywhere: ``int8`` for a quantised graph, ``fp32`` where nothing floats."""
        if self.quantised:
            return "int8"
        precisions = self.others | self.weights.keys()
        return next((precision for precision in _NARROWEST_FIRST if precision in precisions), "fp32")

    @property
    def dominant(self) -> str:
        """The precision most weights have; the narrowest found where there are no weights."""
        if self.quantised or not self.weights:
            return self.narrowest
        return max(self.weights, key=lambda precision: self.weights[precision])


def read_precision(path: Path) -> GraphPrecision:
    """Read what a model file's graph, its subgraphs and functions hold, without reading its weights."""
    inventory = take_inventory(path)
    stored_only = _read_by_casts_alone(inventory.nodes)
    weights: Counter[str] = Counter()
    for weight in inventory.weights:
        if weight.dtype in _FLOATS and weight.name not in stored_only:
            weights[_FLOATS[weight.dtype]] += weight.elements
    operations = {node.op_type for node in inventory.nodes}
    return GraphPrecision(
        dict(weights),
        frozenset(_FLOATS[other] for other in inventory.others if other in _FLOATS),
        quantised=any(operation in _QUANTISED_OPS or operation.startswith("QLinear") for operation in operations),
        multiplies_integers=not operations.isdisjoint(_INTEGER_OPS),
    )


def _read_by_casts_alone(nodes: Iterable[NodeEntry]) -> set[str]:
    casts: set[str] = set()
    others: set[str] = set()
    for node in nodes:
        (casts if node.op_type == "Cast" else others).update(node.inputs)
    return casts - others
