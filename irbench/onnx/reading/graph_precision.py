"""The precision in which an ONNX graph is to be computed, read from the file alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
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
        weights: Elements of its initialisers and constants by precision; of those that a Cast widens or narrows before
            anything reads them, by the one that it gives: such weights are only stored in another.
        multiplies_integers: Whether operations on them do its arithmetic, instead of floating-point ones between
            quantisers.
        moved: Those of the weights that no arithmetic reads, as tables that rows are gathered from.
    """

    weights: Mapping[str, int]
    others: frozenset[str]
    quantised: bool
    multiplies_integers: bool = False
    moved: Mapping[str, int] = field(default_factory=dict[str, int])

    @property
    def narrowest(self) -> str:
        """The narrowest precision found anywhere: ``int8`` for a quantised graph, ``fp32`` where nothing floats."""
        if self.quantised:
            return "int8"
        precisions = self.others | self.weights.keys()
        return next((precision for precision in _NARROWEST_FIRST if precision in precisions), "fp32")

    @property
    def dominant(self) -> str:
        """The precision most weights of its arithmetic have; the narrowest found where there are no weights."""
        if self.quantised or not self.weights:
            return self.narrowest
        computing = {precision: count - self.moved.get(precision, 0) for precision, count in self.weights.items()}
        counted = computing if any(computing.values()) else self.weights
        return max(counted, key=lambda precision: counted[precision])


def read_precision(path: Path) -> GraphPrecision:
    """Read what a model file's graph, its subgraphs and functions hold, without reading its weights."""
    inventory = take_inventory(path)
    cast_to = _casts_alone(inventory.nodes)
    computing = {name for node in inventory.nodes if node.op_type not in _MOVING for name in node.inputs}
    weights: Counter[str] = Counter()
    moved: Counter[str] = Counter()
    for weight in inventory.weights:
        precision = _FLOATS.get(cast_to.get(weight.name, weight.dtype))
        if weight.dtype in _FLOATS and precision is not None:
            weights[precision] += weight.elements
            moved[precision] += weight.elements * (bool(weight.name) and weight.name not in computing)
    operations = {node.op_type for node in inventory.nodes}
    return GraphPrecision(
        dict(weights),
        frozenset(_FLOATS[other] for other in inventory.others if other in _FLOATS),
        quantised=any(operation in _QUANTISED_OPS or operation.startswith("QLinear") for operation in operations),
        multiplies_integers=not operations.isdisjoint(_INTEGER_OPS),
        moved={precision: count for precision, count in moved.items() if count},
    )


_MOVING = frozenset({"Gather", "GatherElements", "GatherND", "Pad"})
"""What takes values from where they are, and computes none."""


def _casts_alone(nodes: Sequence[NodeEntry]) -> dict[str, str]:
    """Return the element types that values are cast to which nothing else reads, by name."""
    others = {name for node in nodes if node.op_type != "Cast" for name in node.inputs}
    return {
        name: node.cast_to for node in nodes if node.op_type == "Cast" for name in node.inputs if name not in others
    }
