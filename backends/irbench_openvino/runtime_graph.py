"""What OpenVINO's runtime graph says of each operator: which ONNX nodes it is made of, and its tensors."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from irbench.onnx.reading.contained_nodes import ContainedNodes
from irbench.onnx.reading.inventory import Inventory, take_inventory
from irbench.spi import TensorShape

_LAYOUT_OF = {"Convert": "Cast", "Reorder": "", "Transpose": "Transpose"}
"""Operators that OpenVINO inserts or moves about, with the ONNX operator that they may stand for."""
_NO_WORK = frozenset({"Const", "Input", "Output"})
# fmt: off
_TAKEN_APART = frozenset({
    "Attention", "BiasGelu", "FastGelu", "GRU", "Gelu", "GroupNormalization", "GroupQueryAttention",
    "InstanceNormalization", "LSTM", "LayerNormalization", "LpNormalization", "MeanVarianceNormalization",
    "MultiHeadAttention", "QuickGelu", "RMSNormalization", "RNN", "RotaryEmbedding", "SimplifiedLayerNormalization",
    "SkipLayerNormalization", "SkipSimplifiedLayerNormalization",
})
# fmt: on
"""ONNX operators that OpenVINO makes several of; the last one keeps the name."""
_NOT_EXECUTED = "not_executed"
_WITHOUT_BIASES = "/WithoutBiases"
"""What OpenVINO appends to the name of a product whose bias it split off."""
_DTYPES = {
    "f16": "float16",
    "f32": "float32",
    "f64": "float64",
    "bf16": "bfloat16",
    "boolean": "bool",
    "string": "string",
    **{f"{sign}{bits}": f"{name}{bits}" for sign, name in (("i", "int"), ("u", "uint")) for bits in (4, 8, 16, 32, 64)},
}


@dataclass(frozen=True)
class RuntimeOperator:
    """One operator of a compiled model.

    Attributes:
        nodes: Labels of the ONNX nodes in it, as far as they are known.
    """

    nodes: tuple[str, ...]
    inputs: tuple[TensorShape, ...]
    outputs: tuple[TensorShape, ...]


def read_graph(runtime_model: Any, original: Path) -> Mapping[str, RuntimeOperator]:
    """Return the operators of a compiled model by their names.

    Args:
        runtime_model: What ``CompiledModel.get_runtime_model`` returned.
        original: The ONNX file that was compiled.
    """
    operators = runtime_model.get_ordered_ops()
    found = _Nodes(take_inventory(original)).of_all(operators)
    return {operator.get_friendly_name(): _described(operator, found) for operator in operators}


class _Nodes:
    """Finds the ONNX nodes in each operator: by the names that OpenVINO kept, then by what lies between those."""

    def __init__(self, original: Inventory) -> None:
        self._inventory = original
        self._graph = ContainedNodes(original.nodes)

    def of_all(self, operators: Sequence[Any]) -> Mapping[str, tuple[str, ...]]:
        """Return the labels of the nodes in each operator, by its name, in the order of execution.

        An operator has those that it names, and those before them that no other one names. If it is fed by an operator
        without a name, that one computes them; or a part of the same nodes, if there are none.
        """
        reported = {
            operator.get_friendly_name(): tuple(dict.fromkeys(self._reported(operator))) for operator in operators
        }
        named = frozenset(label for labels in reported.values() for label in labels)
        weights = (weight.name for weight in self._inventory.weights)
        claims = ContainedNodes(self._inventory.nodes, weights, kept=named)
        found: dict[str, tuple[str, ...]] = dict.fromkeys(reported, ())
        for operator in operators:
            name = operator.get_friendly_name()
            if not reported[name]:
                continue
            outputs = [tensor for label in reported[name] for tensor in self._outputs(label)]
            others = tuple(label for label in claims.claim(outputs) if label not in reported[name])
            nameless = tuple(dict.fromkeys(_nameless_before(operator, reported)))
            found[name] = reported[name] if nameless else (*others, *reported[name])
            if len(nameless) == 1 or not others:  # which of several computes which is unknown
                found.update(dict.fromkeys(nameless, others or self._taken_apart(reported[name])))
        return found

    def _reported(self, operator: Any) -> Iterator[str]:
        """Give the labels of nodes; a name may be that of a node, or of the tensor that it makes."""
        names, kind = _text(operator, "originalLayersNames"), _text(operator, "layerType")
        for name in (names,) if self._graph.node(names) is not None else names.split(","):
            plain = name.removesuffix(_WITHOUT_BIASES)
            if self._graph.node(plain) is not None:
                yield plain
                continue
            maker = self._graph.maker(plain)
            if maker is not None and _LAYOUT_OF.get(kind, maker.op_type) == maker.op_type:
                yield maker.label  # a moved transposition may have the name of the tensor that another node made

    def _taken_apart(self, labels: Sequence[str]) -> tuple[str, ...]:
        nodes = (self._graph.node(label) for label in labels)
        return tuple(node.label for node in nodes if node is not None and node.op_type in _TAKEN_APART)

    def _outputs(self, label: str) -> tuple[str, ...]:
        node = self._graph.node(label)
        return () if node is None else node.outputs


def _nameless_before(operator: Any, reported: Mapping[str, tuple[str, ...]]) -> Iterator[str]:
    """Give the operators that feed one through none that names a node, and that compute."""
    for port in operator.inputs():
        source = port.get_source_output().get_node()
        name, kind = source.get_friendly_name(), _text(source, "layerType")
        if not reported[name] and kind not in _NO_WORK:
            if kind not in _LAYOUT_OF and _text(source, "execTimeMcs") != _NOT_EXECUTED:
                yield name
            yield from _nameless_before(source, reported)


def _described(operator: Any, found: Mapping[str, tuple[str, ...]]) -> RuntimeOperator:
    return RuntimeOperator(
        nodes=found[operator.get_friendly_name()],
        inputs=tuple(_input(port) for port in operator.inputs()),
        outputs=_outputs(operator.outputs(), _text(operator, "outputPrecisions").split(",")),
    )


def _text(operator: Any, key: str) -> str:
    """Return what the runtime graph tells of an operator; empty where it does not."""
    reported = operator.get_rt_info()
    return str(reported[key].astype(str)) if key in reported else ""


def _input(port: Any) -> TensorShape:
    source = port.get_source_output()
    precisions = _text(source.get_node(), "outputPrecisions").split(",")
    return _shape(source, precisions[min(source.get_index(), len(precisions) - 1)])


def _outputs(ports: Sequence[Any], precisions: Sequence[str]) -> tuple[TensorShape, ...]:
    return tuple(_shape(port, precisions[min(place, len(precisions) - 1)]) for place, port in enumerate(ports))


def _shape(port: Any, precision: str) -> TensorShape:
    shape = port.get_partial_shape()
    return TensorShape(_DTYPES.get(precision, precision), tuple(shape.to_shape()) if shape.is_static else None)
