"""Which outputs of an ONNX graph hold scores of classes, as far as the operators that compute them show it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from irbench.onnx.reading.external_data import read_outline

if TYPE_CHECKING:
    import onnx

_SAME_AXES = frozenset(
    {
        *("Identity", "Cast", "Dropout", "QuantizeLinear", "DequantizeLinear"),
        *("com.microsoft:QuantizeLinear", "com.microsoft:DequantizeLinear", "ai.onnx.ml:Normalizer"),
    }
)
_INCREASING = frozenset({"Exp", "Log", "Sqrt", "Clip"})
"""Functions of probabilities, or of their logarithms, whose largest value is that of the same class."""
_SAME_ORDER = _SAME_AXES | _INCREASING | {"Reshape", "Flatten", "Squeeze", "Unsqueeze"}
_OF_SCORES = frozenset({"ArgMax", "TopK", "ReduceMax"})
"""What reads scores besides the caller; weights of attention and of experts are multiplied with something."""
_PROBABILITIES = frozenset({"Softmax", "LogSoftmax", "com.microsoft:QLinearSoftmax"})
_CLASSIFIERS = frozenset(
    {"ai.onnx.ml:LinearClassifier", "ai.onnx.ml:SVMClassifier", "ai.onnx.ml:TreeEnsembleClassifier"}
)
"""The second output has a score for each class."""
_OTHERS = frozenset(
    {
        *("Sigmoid", "HardSigmoid", "Tanh", "Relu", "LeakyRelu", "PRelu", "Elu", "Selu", "Softplus", "Softsign"),
        *("Gelu", "Clip", "Exp", "Sqrt", "Abs", "Sin", "Cos", "Round", "Floor"),
    }
)
"""What regressions, embeddings and answers to several questions end in; scores of one class among several do not."""
_FLOATS = frozenset({1, 10, 11, 16})  # of onnx.TensorProto: FLOAT, FLOAT16, DOUBLE, BFLOAT16
_QUANTIZED = frozenset({2, 3, 4, 5})  # UINT8, INT8, UINT16, INT16


def class_scores_of_file(path: Path) -> tuple[bool | None, ...]:
    """Return what :func:`class_scores` does of a file that ONNX's checker accepts."""
    return class_scores(read_outline(path))


def class_scores(model: onnx.ModelProto) -> tuple[bool | None, ...]:
    """Return for each output whether it holds scores of classes along its last axis.

    It does where a softmax computes it and nothing else of the graph computes with it, quantised or not. It does not
    where it has no such axis, holds numbers that are neither floating-point nor quantised, or ends in another
    activation. ``None`` where its operators do not show it: logits look like the values of a regression, weights of
    attention like scores that the graph computes with further, and operators of other domains may compute anything.
    """
    return tuple(_Graph(model).has_classes(value) for value in model.graph.output)


def known_class_outputs(evidence: Sequence[bool | None]) -> tuple[int, ...] | None:
    """Return the places of outputs that hold scores of classes; ``None`` where none does for sure and one may."""
    places = tuple(place for place, has_classes in enumerate(evidence) if has_classes)
    return places or (None if None in evidence else ())


class _Graph:
    def __init__(self, model: onnx.ModelProto) -> None:
        graph = model.graph
        self._makers: Mapping[str, onnx.NodeProto] = {name: node for node in graph.node for name in node.output if name}
        self._readers: dict[str, list[onnx.NodeProto]] = defaultdict(list)
        for node in graph.node:
            for name in _names_read(node):
                self._readers[name].append(node)
        self._opset = next((each.version for each in model.opset_import if each.domain in ("", "ai.onnx")), 0)

    def has_classes(self, value: onnx.ValueInfoProto) -> bool | None:
        tensor = value.type.tensor_type
        if not value.type.HasField("tensor_type") or tensor.elem_type not in _FLOATS | _QUANTIZED:
            return False
        shape = tensor.shape.dim if tensor.HasField("shape") else None
        if shape is not None and (len(shape) < 2 or shape[-1].dim_value == 1):
            return False
        name, keeps_axes, ends_otherwise = value.name, True, False
        seen: set[str] = set()
        while (node := self._makers.get(name)) is not None and _operator(node) in _SAME_ORDER and node.input:
            if name in seen:
                return None
            if _operator(node) == "Cast" and _attribute(node, "to", 0) not in _FLOATS:
                return False
            seen.add(name)
            keeps_axes = keeps_axes and _operator(node) in _SAME_AXES | _INCREASING
            ends_otherwise = ends_otherwise or _operator(node) in _OTHERS
            name = node.input[0]
        operator = "" if node is None else _operator(node)
        if node is not None and operator in _PROBABILITIES:
            rank = len(shape) if shape is not None and keeps_axes else None
            if not self._is_along_last_axis(node, rank):
                return False
            return True if self._is_last(name, frozenset()) else None
        if node is not None and operator in _CLASSIFIERS:
            return name in node.output[1:2]
        return False if ends_otherwise or operator in _OTHERS else None

    def _is_along_last_axis(self, node: onnx.NodeProto, rank: int | None) -> bool:
        """Whether a softmax is along the last axis; one whose rank is not known is taken to be."""
        usual = -1 if self._opset >= 13 or node.op_type == "QLinearSoftmax" else 1  # that operator set changed it
        axis = _attribute(node, "axis", usual)
        return rank is None or axis in (-1, rank - 1)

    def _is_last(self, name: str, seen: frozenset[str]) -> bool:
        """Whether nothing computes with a value any further."""
        return name not in seen and all(
            _operator(node) in _OF_SCORES
            or (_operator(node) in _SAME_ORDER and all(self._is_last(output, seen | {name}) for output in node.output))
            for node in self._readers[name]
        )


def _operator(node: onnx.NodeProto) -> str:
    """Return what a node computes: the name of an operator of ONNX, and before that of another domain the domain."""
    return node.op_type if node.domain in ("", "ai.onnx") else f"{node.domain}:{node.op_type}"


def _attribute(node: onnx.NodeProto, name: str, usual: int) -> int:
    return next((attribute.i for attribute in node.attribute if attribute.name == name), usual)


def _names_read(node: onnx.NodeProto) -> Iterator[str]:
    """Yield the names that a node reads, and those that the bodies in it do, of which some may be its graph's."""
    yield from node.input
    for attribute in node.attribute:
        for body in (attribute.g, *attribute.graphs):
            for inner in body.node:
                yield from _names_read(inner)
            yield from (value.name for value in body.output)
