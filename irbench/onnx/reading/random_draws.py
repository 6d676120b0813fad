"""What draws random numbers in an ONNX file, bodies of other nodes and functions included."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from irbench.onnx.operator_classes import draws_always, training_switch
from irbench.onnx.reading.external_data import read_outline
from irbench.onnx.reading.small_values import SmallValues, computed_values, constant_values

if TYPE_CHECKING:
    import onnx

_TRAINING = "{} in training mode"


@dataclass(frozen=True)
class RandomDraws:
    """What draws random numbers that an output depends on.

    Attributes:
        operators: What draws, each kind once, sorted; empty where nothing does.
        switch: The one input of the graph that turns all of it on, where there is such an input; otherwise empty.
    """

    operators: tuple[str, ...] = ()
    switch: str = ""


@dataclass(frozen=True)
class _Draw:
    operator: str
    switch: str = ""


_Draws: TypeAlias = frozenset[_Draw]
_NONE: _Draws = frozenset()


def draws_of_file(path: Path) -> RandomDraws:
    """Return what draws random numbers in a file that ONNX's checker accepts; ONNX's own code parses it.

    A seed that is written into a node changes nothing: each runtime has a generator of its own. A ``Dropout`` draws in
    training mode, also where nobody knows the mode before it is computed.
    """
    return draws_of(read_outline(path), path.parent)


def draws_of(model: onnx.ModelProto, folder: Path | None = None) -> RandomDraws:
    """Return what draws random numbers in a model, whose constants may lie in files of ``folder``."""
    if not any(draws_always(node.domain, node.op_type) or _may_train(node) for node in _all_nodes(model)):
        return RandomDraws()
    found = _Walk(model).outputs(folder)
    switches = {draw.switch for draw in found}
    (switch,) = switches if len(switches) == 1 else ("",)
    return RandomDraws(tuple(sorted({draw.operator for draw in found})), switch)


def _may_train(node: onnx.NodeProto) -> bool:
    return training_switch(node.domain, node.op_type) is not None


@dataclass
class _Scope:
    """What is known of the values of a graph, and of those around it.

    Attributes:
        drawn: What the values depend on that draws.
        known: Contents of small constants.
        fed: Inputs of the whole graph by the names of the values that are these inputs.
    """

    drawn: dict[str, _Draws]
    known: dict[str, np.ndarray]
    fed: dict[str, str]

    def inner(self) -> _Scope:
        return _Scope(dict(self.drawn), dict(self.known), dict(self.fed))


class _Walk:
    def __init__(self, model: onnx.ModelProto) -> None:
        self._model = model
        self._functions = {
            (_own(function.domain), function.name, function.overload): function for function in model.functions
        }
        self._called: set[int] = set()
        self._answers: dict[tuple[object, ...], tuple[_Draws, ...]] = {}

    def outputs(self, folder: Path | None) -> _Draws:
        """Return what the outputs of the model depend on that draws."""
        graph = self._model.graph
        known = dict(constant_values(graph)) | _outside_switches(graph, folder)
        fed = {value.name: value.name for value in graph.input if value.name not in known}
        scope = _Scope({}, known, fed)
        self._nodes(graph.node, scope, _opset(self._model.opset_import))
        return _union(scope.drawn.get(value.name, _NONE) for value in graph.output)

    def _nodes(self, nodes: Iterable[onnx.NodeProto], scope: _Scope, opset: int) -> None:
        for node in nodes:
            scope.known.update(computed_values(node, scope.known, {}))
            if node.op_type in _SAME_VALUE and node.input and node.input[0] in scope.fed:
                scope.fed[node.output[0]] = scope.fed[node.input[0]]
            for name, draws in zip(node.output, self._drawn(node, scope, opset), strict=False):
                if name and draws:
                    scope.drawn[name] = draws

    def _drawn(self, node: onnx.NodeProto, scope: _Scope, opset: int) -> Sequence[_Draws]:
        """Return what each output of a node depends on that draws."""
        function = self._functions.get((_own(node.domain), node.op_type, node.overload))
        if function is not None:
            return self._call(function, node, scope)
        given = _NONE if node.op_type in _SHAPE_ALONE else _union(scope.drawn.get(name, _NONE) for name in node.input)
        bodies = (self._body(body, scope, given, opset) for body in _bodies(node))
        draws = _union((given, self._own_draw(node, scope, opset), *bodies))
        return [draws] * len(node.output)

    def _own_draw(self, node: onnx.NodeProto, scope: _Scope, opset: int) -> _Draws:
        if draws_always(node.domain, node.op_type):
            return frozenset({_Draw(node.op_type)})
        place = training_switch(node.domain, node.op_type)
        if place is None:
            return _NONE
        if not _own(node.domain) and opset < _TRAINING_IS_INPUT:
            is_training = opset < _ALWAYS_INFERS and not any(a.name == "is_test" and a.i for a in node.attribute)
            return frozenset({_Draw(_TRAINING.format(node.op_type))}) if is_training else _NONE
        mode = node.input[place] if len(node.input) > place else ""
        ratio = node.input[place - 1] if len(node.input) > place - 1 else ""
        if not mode or not _may_be_true(mode, scope.known) or not _may_be_true(ratio, scope.known):
            return _NONE
        switch = "" if mode in scope.known else scope.fed.get(mode, "")
        return frozenset({_Draw(_TRAINING.format(node.op_type), switch)})

    def _body(self, body: onnx.GraphProto, outer: _Scope, given: _Draws, opset: int) -> _Draws:
        """Return what the outputs of a body depend on, whose own inputs may be any of the node's."""
        scope = outer.inner()
        own = constant_values(body)
        for name in (*(value.name for value in body.input), *(tensor.name for tensor in body.initializer)):
            for names in (scope.drawn, scope.known, scope.fed):
                names.pop(name, None)
        scope.drawn |= {value.name: given for value in body.input} if given else {}
        scope.known |= own
        self._nodes(body.node, scope, opset)
        return _union(scope.drawn.get(value.name, _NONE) for value in body.output)

    def _call(self, function: onnx.FunctionProto, node: onnx.NodeProto, outer: _Scope) -> Sequence[_Draws]:
        if id(function) in self._called:  # which the standard forbids
            return [_NONE] * len(node.output)
        scope = _Scope({}, {}, {})
        for name, argument in zip(function.input, node.input, strict=False):
            for inside, around in ((scope.drawn, outer.drawn), (scope.known, outer.known), (scope.fed, outer.fed)):
                if argument in around:
                    inside[name] = around[argument]  # type: ignore[assignment]
        known = tuple((name, value.dtype.str, value.shape, value.tobytes()) for name, value in scope.known.items())
        key = (id(function), tuple(scope.drawn.items()), known, tuple(scope.fed.items()))
        if key not in self._answers:
            self._called.add(id(function))
            self._nodes(function.node, scope, _opset(function.opset_import))
            self._called.remove(id(function))
            self._answers[key] = tuple(scope.drawn.get(name, _NONE) for name in function.output)
        return self._answers[key]


_TRAINING_IS_INPUT = 12
"""Since this opset an input of Dropout says whether it draws."""
_ALWAYS_INFERS = 7
"""From this opset up to then it never does; before, its attribute ``is_test`` says."""
_SHAPE_ALONE = ("Shape", "Size")
_SAME_VALUE = ("Cast", "Identity", "Reshape", "Squeeze", "Unsqueeze")
"""Operators whose output is true where their first input is."""


def _may_be_true(name: str, known: SmallValues) -> bool:
    return name not in known or bool(known[name].any())


def _outside_switches(graph: onnx.GraphProto, folder: Path | None) -> dict[str, np.ndarray]:
    """Return the truth values that lie in other files, of one element each."""
    from onnx import TensorProto, numpy_helper

    outside = [
        tensor
        for tensor in graph.initializer
        if tensor.data_type == TensorProto.BOOL and tensor.external_data and all(size == 1 for size in tensor.dims)
    ]
    values: dict[str, np.ndarray] = {}
    for tensor in outside if folder is not None else ():
        try:
            values[tensor.name] = numpy_helper.to_array(tensor, str(folder))
        except (ValueError, TypeError, OSError, LookupError):  # such as a file that ONNX's own code does not open
            continue
    return values


def _union(draws: Iterable[_Draws]) -> _Draws:
    return frozenset().union(*(some for some in draws if some))


def _own(domain: str) -> str:
    return "" if domain == "ai.onnx" else domain


def _opset(imports: Iterable[onnx.OperatorSetIdProto]) -> int:
    return max((imported.version for imported in imports if not _own(imported.domain)), default=0)


def _bodies(node: onnx.NodeProto) -> Iterator[onnx.GraphProto]:
    for attribute in node.attribute:
        yield from (*attribute.graphs, *([attribute.g] if attribute.HasField("g") else []))


def _all_nodes(model: onnx.ModelProto) -> Iterator[onnx.NodeProto]:
    waiting = [*model.graph.node, *(node for function in model.functions for node in function.node)]
    while waiting:
        node = waiting.pop()
        yield node
        waiting += (inner for body in _bodies(node) for inner in body.node)
