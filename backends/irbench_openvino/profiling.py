"""Sessions whose compiled model counts the time in each operator, and which ONNX nodes an operator is made of."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from functools import cached_property
from pathlib import Path
from typing import Any

from irbench.onnx.reading.counterparts import ContainedNodes
from irbench.onnx.reading.inventory import Inventory, take_inventory
from irbench.spec import Artifact, Io, Scalar
from irbench.spi import InferenceProfile, OperatorTime, Refusal, Slot, TensorShape
from irbench_openvino.session import OpenVinoSession

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
    """One operator of a compiled model."""

    nodes: tuple[str, ...]
    inputs: tuple[TensorShape, ...]
    outputs: tuple[TensorShape, ...]


def read_graph(runtime_model: Any, original: Path) -> Mapping[str, RuntimeOperator]:
    """Return the operators of a compiled model by their names."""
    operators = runtime_model.get_ordered_ops()
    nodes = _Nodes(take_inventory(original)).of_all(operators)
    return {operator.get_friendly_name(): _described(operator, nodes) for operator in operators}


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
        by_operator: dict[str, tuple[str, ...]] = dict.fromkeys(reported, ())
        for operator in operators:
            name = operator.get_friendly_name()
            if not reported[name]:
                continue
            outputs = [tensor for label in reported[name] for tensor in self._outputs(label)]
            others = tuple(label for label in claims.claim(outputs) if label not in reported[name])
            nameless = tuple(dict.fromkeys(_nameless_before(operator, reported)))
            by_operator[name] = reported[name] if nameless else (*others, *reported[name])
            if len(nameless) == 1 or not others:  # which of several computes which is unknown
                by_operator.update(dict.fromkeys(nameless, others or self._taken_apart(reported[name])))
        return by_operator

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
    for port in operator.inputs():
        source = port.get_source_output().get_node()
        name, kind = source.get_friendly_name(), _text(source, "layerType")
        if not reported[name] and kind not in _NO_WORK:
            if kind not in _LAYOUT_OF and _text(source, "execTimeMcs") != _NOT_EXECUTED:
                yield name
            yield from _nameless_before(source, reported)


def _described(operator: Any, nodes: Mapping[str, tuple[str, ...]]) -> RuntimeOperator:
    return RuntimeOperator(
        nodes=nodes[operator.get_friendly_name()],
        inputs=tuple(_input(port) for port in operator.inputs()),
        outputs=_outputs(operator.outputs(), _text(operator, "outputPrecisions").split(",")),
    )


def _text(operator: Any, key: str) -> str:
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


PERF_COUNT = "PERF_COUNT"
"""The property that has a compiled model count time."""
_HALF_NS = 500
"""Half of the microsecond that times are rounded to."""
_EXECUTED = "EXECUTED"
_FUSED = "undef"
"""The kernel of a node that has none, because it is fused into another."""
_UNKNOWN = RuntimeOperator((), (), ())


class CountedRequest:
    """An infer request that knows how many inferences it has made."""

    def __init__(self, request: Any) -> None:
        self._request = request
        self.inferences = 0

    def infer(self) -> None:
        """Make one."""
        self.inferences += 1
        self._request.infer()

    def start_async(self) -> None:
        """Queue one."""
        self.inferences += 1
        self._request.start_async()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._request, name)


class OpenVinoProfiledSession(OpenVinoSession):
    """One compiled model with one infer request.

    A compiled model tells the mean time in each operator over all inferences since it was made. That of the last ones
    follows from the means before and after them, the more exactly the fewer there were before.

    Args:
        compiled: It was compiled with :data:`PERF_COUNT`, for one stream.
        artifact: What it runs.
        effective: What was read back.
    """

    def __init__(self, compiled: Any, artifact: Artifact, effective: Mapping[str, Scalar]) -> None:
        super().__init__(compiled, artifact, effective)
        self._artifact = artifact
        self._request: CountedRequest | None = None
        self._before: Sequence[Any] = ()
        self._made_before = 0

    def open_slots(self, count: int, io: Io) -> Sequence[Slot]:
        """Return a slot."""
        if count != 1:
            raise Refusal("OpenVINO is profiled one inference at a time.", hint="Leave --streams out.")
        return super().open_slots(count, io)

    def start_profile(self) -> None:
        """Keep the means so far."""
        assert self._request is not None
        self._before, self._made_before = self._request.profiling_info, self._request.inferences

    def finish_profile(self, inferences: int) -> Sequence[InferenceProfile]:
        """Return the mean of all inferences since; see :class:`irbench.spi.ProfiledSession`."""
        assert self._request is not None
        count = self._request.inferences
        if count - self._made_before != inferences:
            raise Refusal(
                f"OpenVINO made {count - self._made_before} inferences, not {inferences}.", hint="Profile them again."
            )
        operators = tuple(self._operators(self._request.profiling_info, count))
        return (InferenceProfile(operators, inferences, uncertainty_ns(self._made_before, count)),)

    def _operators(self, after: Sequence[Any], inferences: int) -> Iterator[OperatorTime]:
        for start, end in zip(self._before, after, strict=True):
            known = self._graph.get(end.node_name, _UNKNOWN)
            # one that takes less than a microsecond is said not to have been executed
            if end.status.name == _EXECUTED or (known.nodes and end.exec_type != _FUSED):
                yield OperatorTime(
                    name=end.node_name,
                    kind=end.node_type,
                    duration_ns=mean_ns(start.real_time, end.real_time, self._made_before, inferences),
                    nodes=known.nodes,
                    implementation=end.exec_type,
                    inputs=known.inputs,
                    outputs=known.outputs,
                )

    @cached_property
    def _graph(self) -> Mapping[str, RuntimeOperator]:
        return read_graph(self._compiled.get_runtime_model(), self._artifact.path)

    def _create_request(self) -> Any:
        self._request = CountedRequest(super()._create_request())
        return self._request


def mean_ns(before: timedelta, after: timedelta, made_before: int, inferences: int) -> int:
    """Return the mean time of the inferences after the first ones, in nanoseconds.

    The means are of whole microseconds, rounded down: each is taken as half a microsecond more, zero too. An operator
    that has zero both times does nothing, or less than can be told. See :func:`uncertainty_ns`.
    """
    if not before and not after:
        return 0
    total_ns = inferences * _middle_ns(after) - made_before * _middle_ns(before)
    return max(0, round(total_ns / (inferences - made_before)))


def uncertainty_ns(made_before: int, inferences: int) -> int:
    """Return by how much such a mean may be off, because both means are rounded by half a microsecond."""
    return math.ceil(_HALF_NS * (inferences + made_before) / (inferences - made_before))


def _middle_ns(mean: timedelta) -> int:
    return round(mean.total_seconds() * 1e9) + _HALF_NS
