"""Which outputs of an ONNX graph hold scores of classes, as far as the operators that compute them show it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

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
_CHANNELS = 1
_RANK_OF_MAPS = 4
"""Of three axes the second may count positions, whose weights add up to one as well."""
_CONVOLUTIONS = frozenset({"Conv", "ConvTranspose", "ConvInteger", "QLinearConv"})
_PRODUCTS = frozenset({"MatMul", "Gemm", "QLinearMatMul", "MatMulInteger"})
_RESIZING = frozenset({"Resize", "Upsample"})
_ALONG_ALL_AXES = _RESIZING | {"Add", "Sub", "Mul", "Div", "Clip", "Sigmoid"}
"""With a constant, they leave each axis where it is."""
_FLOATS = frozenset({1, 10, 11, 16})  # of onnx.TensorProto: FLOAT, FLOAT16, DOUBLE, BFLOAT16
_QUANTIZED = frozenset({2, 3, 4, 5})  # UINT8, INT8, UINT16, INT16

_Dimensions: TypeAlias = "Sequence[onnx.TensorShapeProto.Dimension]"


def known_class_axes_of_file(path: Path) -> tuple[int | None, ...] | None:
    """Return what :func:`known_class_axes` does of a file that ONNX's checker accepts."""
    model = read_outline(path)
    return known_class_axes(class_scores(model), class_axes(model))


def class_scores(model: onnx.ModelProto) -> tuple[bool | None, ...]:
    """Return for each output whether it holds scores of classes, along its last axis, or along the channels of maps.

    It does where a softmax along that axis computes it and nothing else of the graph computes with it, quantised or
    not. It does not where it has no such axis, holds numbers that are neither floating-point nor quantised, or ends in
    another activation. ``None`` where its operators do not show it: logits look like the values of a regression,
    weights of attention like scores that the graph computes with further, and operators of other domains may compute
    anything.
    """
    return tuple(_Graph(model).has_classes(value) for value in model.graph.output)


def known_class_axes(evidence: Sequence[bool | None], axes: Sequence[int | None]) -> tuple[int | None, ...] | None:
    """Return for each output the axis of its classes, as :attr:`irbench.spec.Bundle.class_axes` says.

    ``None`` where none holds scores for sure and one may. Where no axis is known it is taken to be the last.
    """
    if any(evidence):
        return tuple(
            (-1 if axis is None else axis) if has_classes else None
            for has_classes, axis in zip(evidence, axes, strict=True)
        )
    return None if None in evidence else ()


def class_axes_of_file(path: Path) -> tuple[int | None, ...]:
    """Return what :func:`class_axes` does of a file that ONNX's checker accepts."""
    return class_axes(read_outline(path))


def class_axes(model: onnx.ModelProto) -> tuple[int | None, ...]:
    """Return for each output the axis along which its last layer gives scores, from the first as 0.

    It is the axis of a softmax, or that of the channels of the last convolution or product: the second or the last.
    ``None`` where neither is found behind what keeps the axes.
    """
    return tuple(_Graph(model).class_axis(value) for value in model.graph.output)


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
        if shape is not None and (len(shape) < 2 or (shape[-1].dim_value == 1 and len(shape) < _RANK_OF_MAPS)):
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
            is_of_classes = self._is_of_classes(node, shape, keeps_axes)
            return is_of_classes and (True if self._is_last(name, frozenset()) else None)
        if node is not None and operator in _CLASSIFIERS:
            return name in node.output[1:2]
        return False if ends_otherwise or operator in _OTHERS else None

    def _is_of_classes(self, node: onnx.NodeProto, shape: _Dimensions | None, keeps_axes: bool) -> bool | None:
        """Whether the axis of a softmax counts classes in an output of this shape; ``None`` where that is not known."""
        if shape is None:
            return True
        rank = len(shape)
        if not keeps_axes:  # of few axes the last is left; of more nobody knows where a reshape put them
            is_last = rank == 2 or self._written_axis(node) < 0
            return shape[-1].dim_value != 1 and (True if is_last else None)
        axis = self._softmax_axis(node, rank)
        return axis in (_CHANNELS if rank >= _RANK_OF_MAPS else rank - 1, rank - 1) and shape[axis].dim_value != 1

    def class_axis(self, value: onnx.ValueInfoProto) -> int | None:
        """Return the axis along which the layer that makes an output gives scores."""
        if not value.type.tensor_type.HasField("shape"):
            return None
        rank, name = len(value.type.tensor_type.shape.dim), value.name
        axes = list(range(rank))  # where each axis of the output is in the value that the walk has reached
        seen: set[str] = set()
        while rank >= 2 and name not in seen and (node := self._makers.get(name)) is not None:
            seen.add(name)
            own = self._own_class_axis(node, rank)
            if own is not None:
                return axes.index(own)
            computed = [each for each in node.input if each in self._makers]
            if _operator(node) == "Transpose":
                turned = next((list(each.ints) for each in node.attribute if each.name == "perm"), [])
                if sorted(turned) != list(range(rank)):
                    return None
                axes = [turned[axis] for axis in axes]
            elif _operator(node) not in _SAME_AXES | _INCREASING | _ALONG_ALL_AXES:
                return None
            if not computed or (len(computed) > 1 and _operator(node) not in _RESIZING):
                return None
            name = computed[0]
        return None

    def _own_class_axis(self, node: onnx.NodeProto, rank: int) -> int | None:
        if _operator(node) in _PROBABILITIES:
            return self._softmax_axis(node, rank)
        if _operator(node) in _CONVOLUTIONS:
            return _CHANNELS
        return rank - 1 if _operator(node) in _PRODUCTS else None

    def _written_axis(self, node: onnx.NodeProto) -> int:
        return _attribute(node, "axis", -1 if self._is_along_one_axis(node) else 1)

    def _softmax_axis(self, node: onnx.NodeProto, rank: int) -> int | None:
        """Return the axis of a softmax; ``None`` where it is over several at once, as in old operator sets."""
        axis = self._written_axis(node)
        axis += rank if axis < 0 else 0
        return axis if 0 <= axis < rank and (self._is_along_one_axis(node) or axis == rank - 1) else None

    def _is_along_one_axis(self, node: onnx.NodeProto) -> bool:
        return self._opset >= 13 or node.op_type == "QLinearSoftmax"

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
