"""Which outputs of an ONNX graph hold scores of classes, as far as the operators that compute them show it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from irbench.onnx.reading.external_data import read_outline

if TYPE_CHECKING:
    import onnx

_SAME_AXES = frozenset({"Identity", "Cast", "Dropout", "QuantizeLinear", "DequantizeLinear", "Normalizer"})
_SAME_VALUES = _SAME_AXES | {"Reshape", "Flatten", "Squeeze", "Unsqueeze"}
_OF_SCORES = frozenset({"ArgMax", "TopK", "ReduceMax"})
"""What reads scores besides the caller; weights of attention and of experts are multiplied with something."""
_PROBABILITIES = frozenset({"Softmax", "LogSoftmax"})
_CLASSIFIERS = frozenset({"LinearClassifier", "SVMClassifier", "TreeEnsembleClassifier"})
"""Of ONNX's domain for machine learning; the second output has a score for each class."""
_OTHERS = frozenset(
    {
        *("Sigmoid", "HardSigmoid", "Tanh", "Relu", "LeakyRelu", "PRelu", "Elu", "Selu", "Softplus", "Softsign"),
        *("Gelu", "Clip", "Exp", "Sqrt", "Abs", "Sin", "Cos", "Round", "Floor"),
    }
)
"""What regressions, embeddings and answers to several questions end in; scores of one class among several do not."""
_FLOATS = frozenset({1, 10, 11, 16})  # of onnx.TensorProto: FLOAT, FLOAT16, DOUBLE, BFLOAT16


def class_scores_of_file(path: Path) -> tuple[bool | None, ...]:
    """Return what :func:`class_scores` does of a file that ONNX's checker accepts."""
    return class_scores(read_outline(path))


def class_scores(model: onnx.ModelProto) -> tuple[bool | None, ...]:
    """Return for each output whether it holds scores of classes along its last axis.

    It does where a softmax computes it and nothing else of the graph computes with it. It does not where it has no
    such axis, holds no floating-point numbers, or ends in another activation. ``None`` where its operators do not show
    it: logits look like the values of a regression.
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
            for name in node.input:
                self._readers[name].append(node)
        self._opset = next((each.version for each in model.opset_import if each.domain in ("", "ai.onnx")), 0)

    def has_classes(self, value: onnx.ValueInfoProto) -> bool | None:
        if not value.type.HasField("tensor_type") or value.type.tensor_type.elem_type not in _FLOATS:
            return False
        shape = value.type.tensor_type.shape.dim if value.type.tensor_type.HasField("shape") else None
        if shape is not None and (len(shape) < 2 or shape[-1].dim_value == 1):
            return False
        name, keeps_axes = value.name, True
        seen: set[str] = set()
        while (node := self._makers.get(name)) is not None and node.op_type in _SAME_VALUES and node.input:
            if name in seen:
                return None
            seen.add(name)
            keeps_axes = keeps_axes and node.op_type in _SAME_AXES
            name = node.input[0]
        if node is None:
            return None
        if node.op_type in _OTHERS:
            return False
        if node.domain == "ai.onnx.ml" and node.op_type in _CLASSIFIERS:
            return name in node.output[1:2]
        if node.op_type not in _PROBABILITIES:
            return None
        rank = len(shape) if shape is not None else None
        return self._is_along_last_axis(node, rank if keeps_axes else None) and self._is_last(name, frozenset())

    def _is_along_last_axis(self, node: onnx.NodeProto, rank: int | None) -> bool:
        """Whether a softmax is along the last axis; one whose rank is not known is taken to be."""
        usual = -1 if self._opset >= 13 else 1  # that operator set changed it
        axis = next((attribute.i for attribute in node.attribute if attribute.name == "axis"), usual)
        return rank is None or axis in (-1, rank - 1)

    def _is_last(self, name: str, seen: frozenset[str]) -> bool:
        """Whether nothing computes with a value any further."""
        return name not in seen and all(
            node.op_type in _OF_SCORES
            or (node.op_type in _SAME_VALUES and all(self._is_last(output, seen | {name}) for output in node.output))
            for node in self._readers[name]
        )
