"""The graph of a SavedModel without its objects: restored in a session, its variables made constants."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from irbench.errors import IrbenchError
from irbench_tf.pure_operators import MOST_BYTES, RESTORING, claimed_bytes, is_known, is_pure

_READ = "/Read/ReadVariableOp"
"""What TensorFlow appends to a variable's name (``convert_to_constants``)."""


def require_pure(path: Path, meta_graph: Any, inputs: Collection[str], outputs: Collection[str]) -> None:
    """Refuse a graph that does more than compute outputs from inputs and variables, before any part of it runs.

    What computes the outputs is looked at, and what restores and reads the variables: nothing else is ever run. Of
    constants all count: TensorFlow looks into those that nothing reads, too, while it imports a graph.
    """
    graph_def = meta_graph.graph_def
    computing = list(_reached(graph_def, outputs))
    run = list(_reached(graph_def, [*outputs, meta_graph.saver_def.restore_op_name, *_reading(computing)]))
    called = list(_called(graph_def, run))
    operations = {node.op for node in (*run, *called)}
    refused = sorted(filter(_is_refused, operations))
    if refused:
        raise IrbenchError(
            f"The SavedModel {path} contains operations that use files, have side effects or keep tables:"
            f" {', '.join(refused)}.",
            hint="Save a signature that only computes outputs from inputs and variables.",
        )
    _require_small_constants(path, (*graph_def.node, *called))
    unfed = [node.name for node in _reached(graph_def, outputs, inputs) if node.op == "Placeholder"]
    if unfed:
        raise IrbenchError(
            f"The outputs of the SavedModel {path} depend on tensors that are not inputs of the signature:"
            f" {', '.join(sorted(unfed))}.",
            hint="Save it with every placeholder among its inputs, or with constants in their place.",
        )


def has_pure_objects(meta_graph: Any) -> bool:
    """Whether restoring the objects of a meta graph can do nothing that :func:`require_pure` would refuse.

    TensorFlow runs functions of theirs by itself: those that make tables and fill them, and those that restore a
    state. Which ones depends on names that the file chooses, so all of them count.
    """
    objects = meta_graph.object_graph_def
    names = set(objects.concrete_functions)
    for node in objects.nodes:
        names.update(node.function.concrete_functions, (node.bare_concrete_function.concrete_function_name,))
    library = meta_graph.graph_def.library.function  # all of which TensorFlow imports
    if claimed_bytes(node for function in library for node in function.node_def) > MOST_BYTES:
        return False
    return not any(_is_refused(node.op) for node in _bodies(meta_graph.graph_def, names))


def _require_small_constants(path: Path, nodes: Iterable[Any]) -> None:
    claimed = claimed_bytes(nodes)
    if claimed > MOST_BYTES:
        raise IrbenchError(
            f"The constants of the SavedModel {path} claim {claimed / 1e9:.1f} GB or more of memory that the file does"
            " not hold.",
            hint="TensorFlow would take hours to load them: save smaller constants, or do not trust this model.",
        )


def frozen_call(
    path: Path, meta_graph: Any, inputs: Sequence[str], outputs: Sequence[tuple[str, Any]]
) -> Callable[[list[Any]], list[Any]]:
    """Return a function from the tensors of ``inputs`` to those of ``outputs``, with variables as constants.

    Args:
        path: The SavedModel.
        meta_graph: One of its graphs; see :func:`require_pure`.
        inputs: Names of tensors in the graph, ``x:0`` for example.
        outputs: The same, each with the shape that was saved for it: a loop of TensorFlow 1 forgets its own.
    """
    import tensorflow as tf
    from tensorflow.python.eager import context

    constant = _restored_constants(path, meta_graph, [name for name, _ in outputs])
    _drop_inputs(constant, inputs, [name for name, _ in outputs])
    eager: Any = context.context()
    for function in constant.library.function:  # an import looks for those that its graph calls in the context
        if not eager.has_function(function.signature.name):
            eager.add_function_def(function)

    def call(tensors: list[Any]) -> list[Any]:
        fed = dict(zip(inputs, tensors, strict=True))
        computed = [name for name, _ in outputs if name not in fed]
        values = {**fed, **dict(zip(computed, tf.import_graph_def(constant, fed, computed, name=""), strict=True))}
        return [_with_rank(tf.identity(values[name]), shape) for name, shape in outputs]

    return call


def _drop_inputs(graph_def: Any, inputs: Collection[str], outputs: Collection[str]) -> None:
    """Take out the placeholders that other tensors will replace: XLA compiles none, whether used or not."""
    kept = list(_reached(graph_def, outputs, inputs))
    for node in kept:
        node.attr.pop("_class", None)  # where to place it, beside another node that may be gone
    del graph_def.node[:]
    graph_def.node.extend(kept)


def _with_rank(tensor: Any, shape: Any) -> Any:
    if tensor.shape.rank is None:
        tensor.set_shape(shape)
    return tensor


def _restored_constants(path: Path, meta_graph: Any, outputs: Sequence[str]) -> Any:
    """Return the ``GraphDef`` of what computes ``outputs``, with the saved values of its variables as constants.

    The initialisers of a SavedModel are not run: they make tables, which cannot become constants.
    """
    import tensorflow as tf
    from tensorflow.python.framework import convert_to_constants

    v1 = tf.compat.v1
    with tf.Graph().as_default() as graph, v1.Session(graph=graph) as session:
        saver = v1.train.import_meta_graph(meta_graph, clear_devices=True)
        if saver is not None:
            saver.restore(session, str(path / "variables" / "variables"))
        return convert_to_constants.convert_variables_to_constants_from_session_graph(
            session, graph.as_graph_def(), [_operation(name) for name in outputs]
        )


def _reading(computing: Iterable[Any]) -> Iterator[str]:
    """Yield the names by which TensorFlow finds what reads a variable, when it makes variables constants.

    Nothing that computes the outputs need depend on such an operation, and the file says what it is.
    """
    return (f"{node.name}{_READ}" for node in computing if node.op == "VarHandleOp")


def _is_refused(operation: str) -> bool:
    """Whether an operator does more than compute or restore; one that TensorFlow lacks is refused when it is loaded."""
    return is_known(operation) and operation not in RESTORING and not is_pure(operation)


def _reached(graph_def: Any, starts: Iterable[str], stops: Iterable[str] = ()) -> Iterator[Any]:
    """Yield every node of the graph that the tensors or operations called ``starts`` depend on.

    Those called ``stops`` are left out, and what only they depend on.
    """
    nodes = {node.name: node for node in graph_def.node}
    waiting, seen = [_operation(name) for name in starts if name], set(map(_operation, stops))
    while waiting:
        name = waiting.pop()
        if name in nodes and name not in seen:
            seen.add(name)
            waiting.extend(map(_operation, nodes[name].input))
            yield nodes[name]


def _called(graph_def: Any, callers: Iterable[Any]) -> Iterator[Any]:
    yield from _bodies(graph_def, (name for node in callers for name in _calls(node)))


def _bodies(graph_def: Any, names: Iterable[str]) -> Iterator[Any]:
    """Yield every node of the functions that have these names, of those that they call, and of their stand-ins.

    TensorFlow may run another function in the place of one: the gradient that the file names for it, and of those that
    say that they implement the same interface the one for the device in use.
    """
    library = graph_def.library
    functions = {function.signature.name: function for function in library.function}
    gradients = {gradient.function_name: gradient.gradient_func for gradient in library.gradient}
    alike = _by_interface(library.function)
    waiting, seen = list(names), set[str]()
    while waiting:
        name = waiting.pop()
        if name in functions and name not in seen:
            seen.add(name)
            waiting.append(gradients.get(name, ""))
            waiting.extend(alike.pop(_interface(functions[name]), ()))
            for node in functions[name].node_def:
                waiting.extend(_calls(node))
                yield node


def _by_interface(functions: Iterable[Any]) -> dict[bytes, list[str]]:
    names = defaultdict[bytes, list[str]](list)
    for function in functions:
        if interface := _interface(function):
            names[interface].append(function.signature.name)
    return names


def _interface(function: Any) -> bytes:
    stated = function.attr.get("api_implements")
    return b"" if stated is None else bytes(stated.s)


def _calls(node: Any) -> Iterator[str]:
    yield node.op  # a function may be called by its name
    attributes = [*node.attr.values()]
    while attributes:
        attribute = attributes.pop()
        for function in (attribute.func, *attribute.list.func):
            if function.name:
                yield function.name
                attributes.extend(function.attr.values())


def _operation(tensor: str) -> str:
    return tensor.removeprefix("^").partition(":")[0]
