"""What draws random numbers in an ONNX file, bodies of other nodes and functions included.

Where the contents of a switch cannot be known, it counts as on: a comparison that is left out costs less than an answer
that is called wrong by chance.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from irbench.onnx.operator_classes import draws_always, training_switch
from irbench.onnx.reading.external_data import every_node, graphs_in, read_outline
from irbench.onnx.reading.small_values import SmallValues, computed_values, constant_values, short_domain

if TYPE_CHECKING:
    import onnx

_TRAINING = "{} in training mode"
_MOST_SWITCHES = 16
"""As many inputs of one element are tried as switches; a graph that trains has one or two."""


@dataclass(frozen=True)
class RandomDraws:
    """What draws random numbers that an output depends on.

    Attributes:
        operators: What draws, each kind once, sorted; empty where nothing does.
        switch: The one input of the graph that turns all of it off through a training mode, a ratio or a condition,
            where there is such an input; otherwise empty.
        off: The value of that input with which nothing is drawn: 0, or 1 where only ``False`` draws.
    """

    operators: tuple[str, ...] = ()
    switch: str = ""
    off: int = 0


_Draws: TypeAlias = frozenset[str]
"""Kinds of what draws."""
_NONE: _Draws = frozenset()


class _Value(NamedTuple):
    """What an output of a node depends on that draws, and its content where that is small and known."""

    draws: _Draws
    content: NDArray[Any] | None = None


def draws_of_file(path: Path) -> RandomDraws:
    """Return what draws random numbers in a file that ONNX's checker accepts; ONNX's own code parses it.

    A seed that is written into a node changes nothing: each runtime has a generator of its own. A ``Dropout`` draws in
    training mode, also where nobody knows the mode before it is computed.
    """
    return draws_of(read_outline(path), path.parent)


def draws_of(model: onnx.ModelProto, folder: Path | None = None) -> RandomDraws:
    """Return what draws random numbers in a model, whose constants may lie in files of ``folder``."""
    if not any(draws_always(node.domain, node.op_type) or _may_train(node) for node in every_node(model)):
        return RandomDraws()
    walk = _Walk(model, folder)
    operators = tuple(sorted(walk.draws({})))
    for value, off in walk.switches() if operators else ():
        if not walk.draws({value: off}):
            return RandomDraws(operators, value, int(off.any()))
    return RandomDraws(operators)


def _may_train(node: onnx.NodeProto) -> bool:
    return training_switch(node.domain, node.op_type) is not None


@dataclass
class _Scope:
    """What is known of the values of a graph, and of those around it.

    Attributes:
        drawn: What the values depend on that draws.
        known: Contents of small constants, and of what follows from them.
    """

    drawn: dict[str, _Draws]
    known: dict[str, NDArray[Any]]


class _Walk:
    def __init__(self, model: onnx.ModelProto, folder: Path | None) -> None:
        self._model = model
        self._constants = dict(constant_values(model.graph)) | _outside_values(model.graph, folder)
        self._functions = {
            (short_domain(function.domain), function.name, function.overload): function for function in model.functions
        }
        self._called: set[int] = set()
        self._answers: dict[tuple[object, ...], tuple[_Value, ...]] = {}
        self._tries_switch = False

    def switches(self) -> Iterator[tuple[str, NDArray[Any]]]:
        """Yield the inputs of one element, each with the contents that may turn off what draws."""
        from onnx import helper

        held = {tensor.name for tensor in self._model.graph.initializer}
        alone = [value for value in self._model.graph.input if value.name not in held and _has_one_element(value)]
        for value in alone[:_MOST_SWITCHES]:
            kind = value.type.tensor_type
            zero = np.zeros((1,) * len(kind.shape.dim), helper.tensor_dtype_to_np_dtype(kind.elem_type))
            yield value.name, zero
            if zero.dtype == np.bool_:  # a number has more values than two, of which some other one may draw
                yield value.name, ~zero

    def draws(self, given: SmallValues) -> _Draws:
        """Return what the outputs of the model depend on that draws, where some inputs are given.

        Given inputs empty no loop: without its iterations a model computes something else.
        """
        self._tries_switch = bool(given)
        graph = self._model.graph
        scope = _Scope({}, {**self._constants, **given})
        self._nodes(graph.node, scope, _opset(self._model.opset_import))
        return _union(scope.drawn.get(value.name, _NONE) for value in graph.output)

    def _nodes(self, nodes: Iterable[onnx.NodeProto], scope: _Scope, opset: int) -> None:
        for node in nodes:
            for name, value in zip(node.output, self._outputs(node, scope, opset), strict=False):
                if name and value.draws:
                    scope.drawn[name] = value.draws
                if name and value.content is not None:
                    scope.known[name] = value.content

    def _outputs(self, node: onnx.NodeProto, scope: _Scope, opset: int) -> Sequence[_Value]:
        function = self._functions.get((short_domain(node.domain), node.op_type, node.overload))
        if function is not None:
            return self._call(function, node, scope)
        given = _union(scope.drawn.get(name, _NONE) for name in _read(node, scope.known))
        bodies = [self._body(body, scope, given, opset) for body in self._live_bodies(node, scope.known)]
        if _is(node, "If") and len(bodies) == 1:
            return bodies[0]
        if _is(node, "If"):
            return [_Value(_union((given, *(value.draws for value in same)))) for same in zip(*bodies, strict=False)]
        inside = (value.draws for body in bodies for value in body)  # each iteration hands any to any
        draws = _union((given, self._own_draws(node, scope.known, opset), *inside))
        contents = computed_values(node, scope.known, {})
        return [_Value(draws, contents.get(name)) for name in node.output]

    def _own_draws(self, node: onnx.NodeProto, known: SmallValues, opset: int) -> _Draws:
        if draws_always(node.domain, node.op_type):
            return frozenset({node.op_type})
        place = training_switch(node.domain, node.op_type)
        if place is None:
            return _NONE
        in_training = frozenset({_TRAINING.format(node.op_type)})
        if not short_domain(node.domain) and opset < _TRAINING_IS_INPUT:
            infers = any(attribute.name == "is_test" and attribute.i for attribute in node.attribute)
            return in_training if opset < _ALWAYS_INFERS and not infers else _NONE
        mode = node.input[place] if len(node.input) > place else ""
        ratio = node.input[place - 1] if len(node.input) > place - 1 else ""
        return in_training if mode and _may_be_true(mode, known) and _may_be_true(ratio, known) else _NONE

    def _live_bodies(self, node: onnx.NodeProto, known: SmallValues) -> Iterator[onnx.GraphProto]:
        """Yield the bodies of a node that may run: both branches of an ``If`` whose condition is not known."""
        bodies = {attribute.name: attribute.g for attribute in node.attribute if attribute.HasField("g")}
        condition = known.get(node.input[0]) if _is(node, "If") and node.input else None
        if condition is not None and condition.size == 1:
            bodies = {name: body for name, body in bodies.items() if (name == "then_branch") == bool(condition.any())}
        if _is(node, "Loop") and not self._tries_switch:
            is_empty = any(name in known and not (known[name] > 0).any() for name in node.input[:2])
            bodies = {} if is_empty else bodies
        yield from bodies.values()
        yield from (body for attribute in node.attribute for body in attribute.graphs)

    def _body(self, body: onnx.GraphProto, outer: _Scope, given: _Draws, opset: int) -> Sequence[_Value]:
        """Return what is known of the outputs of a body, whose own inputs may be any of the node's."""
        scope = _Scope(dict(outer.drawn), dict(outer.known))
        for name in (*(value.name for value in body.input), *(tensor.name for tensor in body.initializer)):
            for names in (scope.drawn, scope.known):
                names.pop(name, None)
        scope.drawn |= {value.name: given for value in body.input} if given else {}
        scope.known |= constant_values(body)
        self._nodes(body.node, scope, opset)
        return [_Value(scope.drawn.get(value.name, _NONE), scope.known.get(value.name)) for value in body.output]

    def _call(self, function: onnx.FunctionProto, node: onnx.NodeProto, outer: _Scope) -> Sequence[_Value]:
        if id(function) in self._called:  # which the standard forbids
            return ()
        arguments = {name: argument for name, argument in zip(function.input, node.input, strict=False) if argument}
        scope = _Scope(
            {name: outer.drawn[argument] for name, argument in arguments.items() if argument in outer.drawn},
            {name: outer.known[argument] for name, argument in arguments.items() if argument in outer.known},
        )
        attributes = {attribute.name: attribute for attribute in (*function.attribute_proto, *node.attribute)}
        absent = frozenset(function.input).difference(arguments)
        known = tuple((name, value.dtype.str, value.shape, value.tobytes()) for name, value in scope.known.items())
        written = tuple(attribute.SerializeToString(deterministic=True) for attribute in attributes.values())
        key = (id(function), tuple(scope.drawn.items()), known, written, absent, self._tries_switch)
        if key not in self._answers:
            self._called.add(id(function))
            nodes = (_with_arguments(inner, attributes, absent) for inner in function.node)
            self._nodes(nodes, scope, _opset(function.opset_import))
            self._called.remove(id(function))
            self._answers[key] = tuple(
                _Value(scope.drawn.get(name, _NONE), scope.known.get(name)) for name in function.output
            )
        return self._answers[key]


_TRAINING_IS_INPUT = 12
"""Since this opset an input of Dropout says whether it draws."""
_ALWAYS_INFERS = 7
"""From this opset up to then it never does; before, its attribute ``is_test`` says."""


def _read(node: onnx.NodeProto, known: SmallValues) -> Sequence[str]:
    """Return the inputs of a node whose contents matter."""
    if _is(node, "Shape", "Size"):
        return ()
    choice = known.get(node.input[0]) if _is(node, "Where") and len(node.input) == 3 else None
    names = list(node.input)
    if choice is not None and choice.size and (choice.all() or not choice.any()):
        return names[1:2] if choice.all() else names[2:]
    return names


def _with_arguments(
    node: onnx.NodeProto, attributes: Mapping[str, onnx.AttributeProto], absent: frozenset[str]
) -> onnx.NodeProto:
    """Return a node of a function as it is in a call; what the call leaves out it lacks too."""
    import onnx

    written = onnx.NodeProto()
    written.CopyFrom(node)
    written.input[:] = ["" if name in absent else name for name in node.input]
    del written.attribute[:]
    for attribute in node.attribute:
        given = attributes.get(attribute.ref_attr_name) if attribute.ref_attr_name else attribute
        if given is not None:
            written.attribute.add().CopyFrom(given)
            written.attribute[-1].name = attribute.name
    own = {attribute.name for attribute in node.attribute if not attribute.ref_attr_name}
    for body in (body for attribute in written.attribute if attribute.name in own for body in graphs_in(attribute)):
        inner = [_with_arguments(each, attributes, absent) for each in body.node]
        del body.node[:]
        body.node.extend(inner)
    return written


def _has_one_element(value: onnx.ValueInfoProto) -> bool:
    kind = value.type.tensor_type
    is_number = kind.elem_type not in _NO_NUMBERS and kind.HasField("shape")
    return is_number and all(size.dim_value == 1 for size in kind.shape.dim)


_NO_NUMBERS = (0, 8)  # of onnx.TensorProto: UNDEFINED, STRING


def _may_be_true(name: str, known: SmallValues) -> bool:
    return name not in known or bool(known[name].any())


def _outside_values(graph: onnx.GraphProto, folder: Path | None) -> dict[str, NDArray[Any]]:
    """Return the values of one element that lie in other files."""
    from onnx import numpy_helper

    values: dict[str, NDArray[Any]] = {}
    for tensor in graph.initializer if folder is not None else ():
        if not tensor.external_data or any(size != 1 for size in tensor.dims):
            continue
        try:
            values[tensor.name] = numpy_helper.to_array(tensor, str(folder))
        except (ValueError, TypeError, OSError, LookupError):  # such as a file that ONNX's own code does not open
            continue
    return values


def _union(draws: Iterable[_Draws]) -> _Draws:
    return frozenset().union(*(some for some in draws if some))


def _is(node: onnx.NodeProto, *op_types: str) -> bool:
    return not short_domain(node.domain) and node.op_type in op_types


def _opset(imports: Iterable[onnx.OperatorSetIdProto]) -> int:
    return max((imported.version for imported in imports if not short_domain(imported.domain)), default=0)
