"""Which outputs of an ONNX graph hold scores of classes, as far as the operators that compute them show it."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from irbench.onnx.reading.external_data import graphs_in, read_outline
from irbench.onnx.reading.signature import lacks_shape
from irbench.onnx.reading.value_shapes import UNKNOWN_SIZE, inferred_at, shape_of
from irbench.spec import Shape, only_axis

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
_RESHAPING = frozenset({"Reshape", "Flatten", "Squeeze", "Unsqueeze"})
_RESIZING = frozenset({"Resize", "Upsample"})
_SAME_ORDER = _SAME_AXES | _INCREASING | _RESHAPING | _RESIZING | {"Transpose"}
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
_CHANNELS = 1
_RANK_OF_MAPS = 4
"""Of three axes the second may count positions, whose weights add up to one as well."""
_CONVOLUTIONS = frozenset({"Conv", "ConvTranspose", "ConvInteger", "QLinearConv"})
_PRODUCTS = frozenset({"MatMul", "Gemm", "QLinearMatMul", "MatMulInteger"})
_LAYERS = _PROBABILITIES | _CLASSIFIERS | _CONVOLUTIONS | _PRODUCTS
_POOLING = frozenset({"GlobalAveragePool", "GlobalMaxPool", "AveragePool", "MaxPool"})
_FOLLOWED = _SAME_ORDER | _OTHERS | _POOLING
"""The first input is what an output is computed from."""
_WITH_A_CONSTANT = frozenset({"Add", "Sub", "Mul", "Div"})
_FLOATS = frozenset({1, 10, 11, 16})  # of onnx.TensorProto: FLOAT, FLOAT16, DOUBLE, BFLOAT16
_QUANTIZED = frozenset({2, 3, 4, 5})  # UINT8, INT8, UINT16, INT16


@dataclass(frozen=True)
class ClassScores:
    """What the operators of a graph show of one output.

    Attributes:
        shown: Whether it holds scores of classes; ``None`` where that is not known.
        axis: The axis along which the layer that makes it gives scores, from the first as 0: that of a softmax, or of
            the channels of the last convolution or product. ``None`` where there is no such layer, or a reshape behind
            it joins that axis with another. Where ``shown`` is ``True``, it is known.
    """

    shown: bool | None
    axis: int | None = None


def class_scores_of_file(path: Path) -> tuple[ClassScores, ...]:
    """Return what :func:`class_scores` does of a file that ONNX's checker accepts."""
    return class_scores(read_outline(path))


def class_scores(model: onnx.ModelProto) -> tuple[ClassScores, ...]:
    """Return for each output whether it holds scores of classes, and along which axis.

    It does where a softmax along its last axis, along the channels of maps or along the only axis with several values
    computes it and nothing else of the graph computes with it, quantised or not. It does not where it has no such axis,
    a reshape joins that axis with another, its numbers are neither floating-point nor quantised, or it ends in another
    activation. ``None`` where its operators do not show it: logits look like the values of a regression, weights of
    attention like scores that the graph computes with further, and operators of other domains may compute anything.
    """
    graph = _Graph(model)
    return tuple(graph.scores(value) for value in model.graph.output)


def known_class_axes(scores: Sequence[ClassScores]) -> tuple[int | None, ...] | None:
    """Return for each output the axis of its classes, as :attr:`irbench.spec.Bundle.class_axes` says.

    ``None`` where none holds scores for sure and one may.
    """
    if any(each.shown for each in scores):
        return tuple(each.axis if each.shown else None for each in scores)
    return None if any(each.shown is None for each in scores) else ()


class _Graph:
    def __init__(self, model: onnx.ModelProto) -> None:
        self._model = model
        self._makers: Mapping[str, onnx.NodeProto] = {
            name: node for node in model.graph.node for name in node.output if name
        }
        self._opset = next((each.version for each in model.opset_import if each.domain in ("", "ai.onnx")), 0)

    @cached_property
    def _readers(self) -> Mapping[str, Sequence[onnx.NodeProto]]:
        readers: defaultdict[str, list[onnx.NodeProto]] = defaultdict(list)
        for node in self._model.graph.node:
            for name in _names_read(node):
                readers[name].append(node)
        return readers

    @cached_property
    def _inferred(self) -> Mapping[str, onnx.ValueInfoProto]:
        """The values whose shape is known; inferring them takes longer than all else here, and few graphs need it."""
        from onnx import checker, shape_inference

        try:
            graph = inferred_at(self._model, ()).graph
        except (shape_inference.InferenceError, checker.ValidationError, RuntimeError, UnicodeDecodeError):
            return {}
        values = (*graph.input, *graph.value_info, *graph.output)
        return {value.name: value for value in values if not lacks_shape(value)}

    def scores(self, value: onnx.ValueInfoProto) -> ClassScores:
        if lacks_shape(value):
            value = self._inferred.get(value.name, value)
        tensor = value.type.tensor_type
        if not value.type.HasField("tensor_type") or tensor.elem_type not in _FLOATS | _QUANTIZED:
            return ClassScores(False)
        if not tensor.HasField("shape"):
            return ClassScores(None)
        shape = shape_of(value)
        if len(shape) < 2:
            return ClassScores(False)
        layer, name, path = self._last_layer(value.name)
        axis = None if layer is None else self._axis(layer, path, len(shape))
        return ClassScores(self._shown(layer, name, path, shape, axis), axis)

    def _last_layer(self, name: str) -> tuple[onnx.NodeProto | None, str, list[onnx.NodeProto]]:
        """Return what an output is computed by, its output that is read, and the nodes from the graph's output back.

        They end at a layer, or where more than one value is read or an operator is not known.
        """
        path: list[onnx.NodeProto] = []
        while (node := self._makers.get(name)) is not None and _operator(node) not in _LAYERS:
            read = list(node.input[:1]) if _operator(node) in _FOLLOWED else []
            if _operator(node) in _WITH_A_CONSTANT:
                read = [each for each in node.input if each in self._makers and not self._is_constant(each)]
            if len(read) != 1 or len(path) > len(self._makers):
                break
            path.append(node)
            name = read[0]
        return node, name, path

    def _is_constant(self, name: str) -> bool:
        return _operator(self._makers[name]) == "Constant"

    def _shown(
        self, layer: onnx.NodeProto | None, name: str, path: Sequence[onnx.NodeProto], shape: Shape, axis: int | None
    ) -> bool | None:
        if any(_operator(node) == "Cast" and _attribute(node, "to", 0) not in _FLOATS for node in path):
            return False
        counted = -1 if axis is None and len(shape) < _RANK_OF_MAPS else axis
        if counted is not None and shape[counted] == 1:
            return False
        operators = [_operator(node) for node in (*path, *([] if layer is None else [layer]))]
        changing = next((place for place, each in enumerate(operators) if each not in _SAME_ORDER), len(operators))
        if changing == len(path) and layer is not None and operators[-1] in _CLASSIFIERS:
            return name in layer.output[1:2] and (None if axis is None else True)
        if changing != len(path) or layer is None or operators[-1] not in _PROBABILITIES:
            return False if _OTHERS.intersection(operators[: changing + 1]) else None
        if axis is None:
            return False if _RESHAPING.isdisjoint(operators) or self._joins(layer, path[0].output[0]) else None
        if axis in (len(shape) - 1, only_axis(shape)) or (axis == _CHANNELS and len(shape) >= _RANK_OF_MAPS):
            return True if self._is_last(name) else None
        return None if axis == _CHANNELS else False

    def _axis(self, layer: onnx.NodeProto, path: Sequence[onnx.NodeProto], rank: int) -> int | None:
        """Return the axis of an output of this rank along which its last layer gives scores."""
        operator = _operator(layer)
        if not _RESHAPING.isdisjoint(map(_operator, path)):
            if operator not in _PROBABILITIES | _CLASSIFIERS:
                return None
            rank = len(self._sizes(path[-1].input[0]))
        axis: int | None = rank - 1 if operator in _PRODUCTS | _CLASSIFIERS else None
        if operator in _CONVOLUTIONS:
            axis = _CHANNELS
        if operator in _PROBABILITIES:
            axis = self._softmax_axis(layer, rank)
        for node in reversed(path):
            if axis is None or not 0 <= axis < rank:
                return None
            if _operator(node) == "Transpose":
                turned = next((list(each.ints) for each in node.attribute if each.name == "perm"), None)
                turned = list(reversed(range(rank))) if turned is None else turned
                axis = turned.index(axis) if axis in turned else None
            elif _operator(node) in _RESHAPING:
                after = self._sizes(node.output[0])
                axis, rank = _reshaped(axis, self._sizes(node.input[0]), after), len(after)
        return axis

    def _softmax_axis(self, node: onnx.NodeProto, rank: int) -> int | None:
        """Return the axis of a softmax.

        In old operator sets it is over all from that axis on: the only one of these with several values, if any.
        """
        is_along_one_axis = self._opset >= 13 or node.op_type == "QLinearSoftmax"
        axis = _attribute(node, "axis", -1 if is_along_one_axis else 1)
        axis += rank if axis < 0 else 0
        if is_along_one_axis or axis == rank - 1:
            return axis if 0 <= axis < rank else None
        joined = [place for place, size in enumerate(self._sizes(node.output[0])) if place >= axis and size != 1]
        return joined[0] if len(joined) == 1 else None

    def _joins(self, softmax: onnx.NodeProto, output: str) -> bool:
        """Whether no axis of an output behind a softmax has as many values as that has classes."""
        before, after = self._sizes(softmax.output[0]), self._sizes(output)
        axis = self._softmax_axis(softmax, len(before))
        if axis is None or not after:
            return False
        return all(isinstance(size, int) for size in (before[axis], *after[1:])) and before[axis] not in after

    def _sizes(self, name: str) -> Shape:
        """Return the size of each axis of a value, none where its shape cannot be inferred."""
        return shape_of(self._inferred[name]) if name in self._inferred else ()

    def _is_last(self, name: str) -> bool:
        """Whether nothing computes with a value any further."""
        moved = {name: None}
        waiting = [name]
        for reached in waiting:
            for node in self._readers.get(reached, ()):
                if _operator(node) in _OF_SCORES:
                    continue
                if _operator(node) not in _SAME_ORDER:
                    return False
                waiting.extend(output for output in node.output if output not in moved)
                moved.update(dict.fromkeys(node.output))
        return True


def _reshaped(axis: int, before: Shape, after: Shape) -> int | None:
    """Return where an axis is after a reshape; ``None`` where it is joined with another or split, or nobody knows.

    It is where the size is the same, and as many values as before are in front of it or behind it.
    """
    if axis >= len(before) or before[axis] in (1, UNKNOWN_SIZE):
        return None
    places = [
        place
        for place, size in enumerate(after)
        if size == before[axis]
        and (_as_many(before[:axis], after[:place]) or _as_many(before[axis + 1 :], after[place + 1 :]))
    ]
    return places[0] if len(places) == 1 else None


def _as_many(some: Shape, others: Shape) -> bool:
    def count(sizes: Shape) -> tuple[int, list[str]]:
        return math.prod(size for size in sizes if isinstance(size, int)), sorted(
            size for size in sizes if isinstance(size, str)
        )

    return UNKNOWN_SIZE not in (*some, *others) and count(some) == count(others)


def _operator(node: onnx.NodeProto) -> str:
    """Return what a node computes: the name of an operator of ONNX, and before that of another domain the domain."""
    return node.op_type if node.domain in ("", "ai.onnx") else f"{node.domain}:{node.op_type}"


def _attribute(node: onnx.NodeProto, name: str, usual: int) -> int:
    return next((attribute.i for attribute in node.attribute if attribute.name == name), usual)


def _names_read(node: onnx.NodeProto) -> Iterator[str]:
    """Yield the names that a node reads, and those that the bodies in it do, of which some may be its graph's."""
    yield from node.input
    for attribute in node.attribute:
        for body in graphs_in(attribute):
            for inner in body.node:
                yield from _names_read(inner)
            yield from (value.name for value in body.output)
