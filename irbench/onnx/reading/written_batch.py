"""A batch size that an exporter wrote as a number into a graph whose batch is dynamic."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property, partial
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING

from irbench.onnx.reading.external_data import read_outline
from irbench.onnx.reading.inventory import node_label
from irbench.onnx.reading.small_values import (
    NOT_INFERRED,
    SmallValues,
    constant_values,
    has_body,
    inferred_types,
    short_domain,
)
from irbench.onnx.reading.value_shapes import inferred_with_values, shape_of
from irbench.spec import BATCH, TensorSpec

if TYPE_CHECKING:
    import onnx

_Sizes = tuple[int, ...]

_MOVING = frozenset({"Reshape", "Slice", "Gather", "GatherND", "Split", "Resize"})
"""Operators that an exporter writes sizes into; what reduces a batch, or multiplies over it, means to."""
_RECURRENT = frozenset({"LSTM", "GRU", "RNN"})
_HOLDING = _MOVING | _RECURRENT | {"Expand", "Tile", "Concat"}
"""A graph without any of these is not read: its constants are weights, which no batch is written into."""
_MOST_TRIED = 4
"""As many batch sizes are tried where a graph cannot run at the one that was asked for."""
_PRIME = 61
_ANY_BATCH = 48 * _PRIME
"""A batch that common numbers of parts divide; sizes that are multiples of the prime follow it."""


@dataclass(frozen=True)
class WrittenBatch:
    """A node that does not follow the batch that reaches it, or takes one batch size alone.

    Attributes:
        node: Its name; operator and first output where it has none.
        operator: Its type.
        batch: The batch size in the file.
        given: The shapes of its inputs at the sizes that were asked for; what is moved comes first.
        target: What it makes of the first, a Reshape as the file contains it; ``None`` of a node that cannot take its
            inputs.
        is_impossible: Whether the graph cannot run at these sizes because of it, and not only confuses samples.
    """

    node: str
    operator: str
    batch: int
    given: tuple[_Sizes, ...]
    target: _Sizes | None
    is_impossible: bool


def written_batches(
    path: Path, inputs: Sequence[TensorSpec], asked: Sequence[Mapping[str, int]]
) -> tuple[WrittenBatch | None, ...]:
    """Return, for each batch, the node of the main graph that has another one written into it; ``None`` without one.

    Where the graph cannot run at these sizes, and could at another batch, that is the first node that fails, or the
    first before it whose output stops following the batch. Otherwise it is the first whose output stops.
    ONNX's own code reads what is in the file: call this in a worker where the file is of unknown origin.

    Args:
        path: The file.
        inputs: With their dynamic dimensions.
        asked: All sizes that are asked for, the batch among them; the answers are in their order.
    """
    model = read_outline(path)
    if not any(node.op_type in _HOLDING for part in (model.graph, *model.functions) for node in part.node):
        return (None,) * len(asked)

    @cache
    def at(sizes: frozenset[tuple[str, int]], batch: int) -> _SizedGraph:
        return _SizedGraph(model, [spec.bind({**dict(sizes), BATCH: batch}) for spec in inputs])

    def written(sizes: Mapping[str, int]) -> WrittenBatch | None:
        others = frozenset((name, size) for name, size in sizes.items() if name != BATCH)
        return _written_batch(partial(at, others), sizes[BATCH])

    return tuple(written(sizes) for sizes in asked)


def _written_batch(at: Callable[[int], _SizedGraph], asked: int) -> WrittenBatch | None:
    anywhere = at(_ANY_BATCH)
    stops = {place: batch for place, batch in anywhere.stops.items() if batch != asked}
    if not stops and not anywhere.failing:
        return None
    graph = at(asked)
    failing = graph.failing if anywhere.failing else ()
    tried = [*stops.values(), *(size for place in failing[:1] for size in graph.leading(place)), 1]
    for batch in [size for size in dict.fromkeys(tried) if 0 < size != asked][: _MOST_TRIED if failing else 0]:
        culprits = [place for place in failing if place not in at(batch).failing]
        if culprits and 2 * batch != asked:  # a graph that wants a multiple of a number has no batch written into it
            culprits = [place for place in culprits if place in at(2 * batch).failing]
        for culprit in culprits[:1]:
            behind = graph.ancestors(culprit)
            origin = next((place for place in stops if place in behind), culprit)
            return graph.described(origin, batch, stops=origin in stops, is_impossible=True)
    for place, batch in stops.items():
        if graph.shapes.get(graph.nodes[place].output[0], ())[:1] not in ((), (asked,)):  # nor is it larger than asked
            return graph.described(place, batch, stops=True)
    return None


class _SizedGraph:
    """The main graph at given sizes, its functions written out.

    Attributes:
        nodes: In order.
        shapes: Those of which every size is known.
    """

    def __init__(self, model: onnx.ModelProto, inputs: Sequence[TensorSpec]) -> None:
        self._model, computed = inferred_with_values(model, inputs)
        graph = self._model.graph
        self.nodes = list(graph.node)
        described = (*graph.input, *graph.value_info, *graph.output)
        self._types = {value.name: value.type for value in described}
        shapes = {value.name: shape_of(value) for value in described if value.type.tensor_type.HasField("shape")}
        shapes |= {tensor.name: tuple(tensor.dims) for tensor in graph.initializer}
        self.shapes: Mapping[str, _Sizes] = {
            name: tuple(int(size) for size in shape)
            for name, shape in shapes.items()
            if all(isinstance(size, int) for size in shape)
        }
        self._elements = {tensor.name: tensor.data_type for tensor in graph.initializer}
        self._values: SmallValues = {**constant_values(graph), **computed}

    @cached_property
    def stops(self) -> Mapping[int, int]:
        """The nodes whose output does not follow the batch that their input follows, at any batch: place and batch."""
        stops: dict[int, int] = {}
        for place, node in enumerate(self.nodes):
            if node.op_type not in _MOVING or not _is_of_onnx(node) or not node.output:
                continue
            given, made = self.shapes.get(node.input[0]), self.shapes.get(node.output[0])
            axis = None if given is None else next((at for at, size in enumerate(given) if _follows(size)), None)
            if given is None or made is None or axis is None:
                continue
            is_reshape = node.op_type == "Reshape"
            if not any(map(_follows, made)):
                stops[place] = made[axis] if len(made) == len(given) else made[0] if is_reshape and made else 1
            # samples that are folded into another axis; the batch may also have moved there as it is
            elif is_reshape and given[0] == _ANY_BATCH not in made and not _follows(made[0]):
                stops[place] = made[0]
        return stops

    @cached_property
    def failing(self) -> Sequence[int]:
        """The places of nodes whose inputs do not fit into each other, as far as their shapes are known."""
        return [
            place
            for place, node in enumerate(self.nodes)
            if _is_of_onnx(node) and all(name in self.shapes for name in node.input if name) and self._fails(node)
        ]

    def ancestors(self, place: int) -> set[int]:
        """Return the places of a node and of all that it depends on."""
        makers = {name: at for at, node in enumerate(self.nodes) for name in node.output if name}
        found: set[int] = set()
        waiting = [place]
        while waiting:
            at = waiting.pop()
            if at not in found:
                found.add(at)
                waiting += [makers[name] for name in self.nodes[at].input if name in makers]
        return found

    def leading(self, place: int) -> Iterator[int]:
        """Yield the sizes that may count samples in what a node is given."""
        for shape in (self.target(self.nodes[place]) or (), *self.given(place)):
            yield from (size for size in shape[:2] if size > 0)

    def given(self, place: int) -> tuple[_Sizes, ...]:
        """Return the shapes of what a node is given; of a recurrent one those of its input and its states."""
        node = self.nodes[place]
        names = [*node.input[:1], *node.input[5:7]] if node.op_type in _RECURRENT else node.input
        return tuple(self.shapes[name] for name in names if name in self.shapes)

    def described(self, place: int, batch: int, *, stops: bool, is_impossible: bool = False) -> WrittenBatch:
        """Return a node that another batch is written into; one that does not stop cannot take its inputs."""
        node = self.nodes[place]
        target, given = self.target(node), self.given(place)
        if target is None and stops:
            target = self.shapes.get(node.output[0])
        label = node_label(node.name, node.op_type, node.output)
        moved = given if target is None else given[:1]
        return WrittenBatch(label, node.op_type, batch, moved, target, is_impossible)

    def target(self, node: onnx.NodeProto) -> _Sizes | None:
        """Return the shape that a ``Reshape`` is given, with 0 for a size that is copied and -1 for what is left."""
        if node.op_type != "Reshape" or len(node.input) < 2 or node.input[1] not in self._values:
            return None
        return tuple(int(size) for size in self._values[node.input[1]].reshape(-1))

    def _fails(self, node: onnx.NodeProto) -> bool:
        target = self.target(node)
        if target is not None:
            copies = not any(attribute.name == "allowzero" and attribute.i for attribute in node.attribute)
            return not _fits(self.shapes[node.input[0]], target, copies)
        if node.op_type == "Gemm":  # ONNX looks neither here nor at states
            turned = {attribute.name for attribute in node.attribute if attribute.i}
            left, right = self.shapes[node.input[0]], self.shapes[node.input[1]]
            return left[0 if "transA" in turned else -1] != right[-1 if "transB" in turned else 0]
        if node.op_type in _RECURRENT:
            axis = 0 if any(attribute.name == "layout" and attribute.i for attribute in node.attribute) else 1
            states = [self.shapes[name] for name in node.input[5:7] if name]
            return any(state[axis] != self.shapes[node.input[0]][axis] for state in states)
        return any(name and name not in self.shapes for name in node.output) and self._is_refused(node)

    def _is_refused(self, node: onnx.NodeProto) -> bool:
        """Return whether ONNX finds shapes that do not fit in a node for which it inferred none."""
        from onnx import checker, defs, helper, shape_inference

        weights = {
            name: helper.make_tensor_type_proto(self._elements[name], self.shapes[name])
            for name in node.input
            if name in self._elements
        }
        try:
            inferred_types(node, {**weights, **self._types}, self._values, self._model)
        except (shape_inference.InferenceError, checker.ValidationError):
            return True
        except (defs.SchemaError, *NOT_INFERRED):  # it does not know this operator
            return False
        return False


def _follows(size: int) -> bool:
    return size > 0 and size % _PRIME == 0


def _is_of_onnx(node: onnx.NodeProto) -> bool:
    return not short_domain(node.domain) and bool(node.input) and not has_body(node)


def _fits(given: _Sizes, target: Iterable[int], copies: bool) -> bool:
    """Return whether a tensor can be reshaped: -1 stands for what is left, and 0 may copy a size."""
    sizes = list(target)
    if copies and any(size == 0 and place >= len(given) for place, size in enumerate(sizes)):
        return False
    sizes = [given[place] if copies and size == 0 else size for place, size in enumerate(sizes)]
    elements, named = prod(given), prod(size for size in sizes if size != -1)
    return elements % max(named, 1) == 0 if -1 in sizes else elements == named
