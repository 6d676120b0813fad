"""A batch size that an exporter wrote as a number into a graph whose batch is dynamic."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING

from irbench.onnx.reading.external_data import read_outline
from irbench.onnx.reading.inventory import node_label
from irbench.onnx.reading.small_values import NOT_INFERRED, SmallValues, constant_values, inferred_types
from irbench.onnx.reading.value_shapes import inferred_with_values, shape_of
from irbench.spec import BATCH, TensorSpec

if TYPE_CHECKING:
    import onnx

_Sizes = tuple[int, ...]

_MOVING = frozenset({"Reshape", "Slice", "Gather", "GatherND", "Split", "Resize", "Expand"})
"""Operators that an exporter writes sizes into; what reduces a batch, or multiplies over it, means to."""
_RECURRENT = frozenset({"LSTM", "GRU", "RNN"})
_MOST_TRIED = 4
"""As many batch sizes are tried where a graph cannot run at the one that was asked for."""


@dataclass(frozen=True)
class WrittenBatch:
    """A node that does not follow the batch that reaches it, or takes one batch size alone.

    Attributes:
        node: Its name; operator and first output where it has none.
        batch: The batch size in the file.
        given: The shapes of its inputs at the sizes that were asked for; what is moved comes first.
        target: What it makes of the first, as the file contains it; ``None`` of a node that cannot take its inputs.
        is_impossible: Whether the graph cannot run at these sizes because of it, and not only confuses samples.
    """

    node: str
    batch: int
    given: tuple[_Sizes, ...]
    target: _Sizes | None
    is_impossible: bool


def written_batch(path: Path, inputs: Sequence[TensorSpec], sizes: Mapping[str, int]) -> WrittenBatch | None:
    """Return the node of the main graph that has another batch size written into it; ``None`` where none is found.

    Where the graph cannot run at these sizes, and could at another batch, that is the first node that fails, or the
    first before it whose output stops following the batch. Otherwise it is the first whose output stops.
    ONNX's own code reads what is in the file: call this in a worker where the file is of unknown origin.

    Args:
        path: The file.
        inputs: With their dynamic dimensions.
        sizes: What is asked for, the batch among them.
    """
    model, asked = read_outline(path), sizes[BATCH]

    def at(batch: int) -> _SizedGraph:
        return _SizedGraph(model, [spec.bind({**sizes, BATCH: batch}) for spec in inputs])

    graph = at(asked)
    stops = list(_stops(graph, at(2 * asked), asked))
    failing = graph.failing()
    tried = [found.batch for _, found in stops] + [size for place in failing[:1] for size in graph.leading(place)]
    for batch in [size for size in dict.fromkeys((*tried, 1)) if size != asked][: _MOST_TRIED if failing else 0]:
        fails_there = set(at(batch).failing())
        culprits = [place for place in failing if place not in fails_there]
        if culprits and 2 * batch != asked:  # a graph that wants a multiple of a number has no batch written into it
            fails_at_twice = set(at(2 * batch).failing())
            culprits = [place for place in culprits if place in fails_at_twice]
        for culprit in culprits[:1]:
            behind = graph.ancestors(culprit)
            origin = next((found for place, found in stops if place in behind), graph.refusal(culprit))
            return replace(origin, batch=batch, is_impossible=True)
    return next((found for _, found in stops), None)


def _stops(graph: _SizedGraph, twice: _SizedGraph, asked: int) -> Iterator[tuple[int, WrittenBatch]]:
    """Yield the places of nodes whose output does not follow a batch that its input follows, as a graph shows twice."""
    for place, node in enumerate(graph.nodes):
        if node.op_type not in _MOVING or not _is_of_onnx(node) or not node.output:
            continue
        given, made = graph.shapes.get(node.input[0]), graph.shapes.get(node.output[0])
        given_twice, made_twice = twice.shapes.get(node.input[0]), twice.shapes.get(node.output[0])
        if not given or not given_twice or made is None or made_twice is None or given == given_twice:
            continue
        axis = next(axis for axis, size in enumerate(given) if size != given_twice[axis])
        batch = made[axis] if len(made) == len(given) else made[0] if node.op_type == "Reshape" and made else 1
        if made != made_twice:
            # a Reshape that folds samples into another axis; the batch may also have moved there as it is
            has_moved = (asked, 2 * asked) in zip(made, made_twice, strict=False)
            if node.op_type != "Reshape" or given[0] != asked or made[0] != made_twice[0] or has_moved:
                continue
            batch = made[0]
        if batch != asked:
            target = graph.target(node) or made
            yield place, WrittenBatch(_label(node), batch, (given,), target, is_impossible=False)


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

    def failing(self) -> list[int]:
        """Return the places of nodes whose inputs do not fit into each other, as far as their shapes are known."""
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

    def refusal(self, place: int) -> WrittenBatch:
        """Return a node that cannot take its inputs, for a batch that is still to be found."""
        node = self.nodes[place]
        target = self.target(node)
        given = self.given(place) if target is None else self.given(place)[:1]
        return WrittenBatch(_label(node), 0, given, target, is_impossible=True)

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


def _label(node: onnx.NodeProto) -> str:
    return node_label(node.name, node.op_type, node.output)


def _is_of_onnx(node: onnx.NodeProto) -> bool:
    has_body = any(attribute.HasField("g") or attribute.graphs for attribute in node.attribute)
    return node.domain in ("", "ai.onnx") and bool(node.input) and not has_body


def _fits(given: _Sizes, target: Iterable[int], copies: bool) -> bool:
    """Return whether a tensor can be reshaped: -1 stands for what is left, and 0 may copy a size."""
    sizes = list(target)
    if copies and any(size == 0 and place >= len(given) for place, size in enumerate(sizes)):
        return False
    sizes = [given[place] if copies and size == 0 else size for place, size in enumerate(sizes)]
    elements, named = prod(given), prod(size for size in sizes if size != -1)
    return elements % max(named, 1) == 0 if -1 in sizes else elements == named
