"""Running the layers of a Keras model one by one: at inference, with something around each call, in little memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any, TypeAlias

from numpy.typing import NDArray


@contextmanager
def release_early(models: Sequence[Any]) -> Iterator[None]:
    """Let each model drop a tensor once its last reader has run.

    Args:
        models: Keras layers of any kind; only functional and sequential models among them are touched.
    """
    graphs: list[Any] = [graph for model in models for graph in (model, getattr(model, "_functional", None))]
    walkable = [graph for graph in graphs if hasattr(graph, "_nodes_by_depth")]
    for graph in walkable:
        graph._run_through_graph = partial(_run_through, graph)  # noqa: SLF001 - Keras has no public way to walk a graph
    try:
        yield
    finally:
        for graph in walkable:
            del graph._run_through_graph  # noqa: SLF001


def _run_through(
    graph: Any, inputs: Any, operation_fn: Callable[[Any], Any] = lambda operation: operation, call_fn: Any = None
) -> Any:
    """Do what ``keras.Function._run_through_graph`` does."""
    from keras import tree

    by_depth = graph._nodes_by_depth  # noqa: SLF001
    nodes = [node for depth in sorted(by_depth, reverse=True) for node in by_depth[depth] if not node.is_input]
    last_reader = {id(tensor): node for node in nodes for tensor in node.input_tensors}
    values = {id(tensor): value for tensor, value in zip(graph.inputs, tree.flatten(inputs), strict=True)}
    answers = {id(tensor) for tensor in graph.outputs}
    for node in nodes:
        arguments, options = node.arguments.fill_in(values)
        operation = operation_fn(node.operation)
        outputs = call_fn(operation, *arguments, **options) if call_fn else operation(*arguments, **options)
        del arguments, options
        values.update(zip(map(id, node.outputs), tree.flatten(outputs), strict=True))
        for tensor in node.input_tensors:
            if last_reader[id(tensor)] is node and id(tensor) not in answers:
                values.pop(id(tensor), None)
    return tree.pack_sequence_as(graph._outputs_struct, [values[id(tensor)] for tensor in graph.outputs])  # noqa: SLF001


Around: TypeAlias = Callable[..., Any]
"""Called as ``around(layer, call, *args, **kwargs)`` in place of ``call(*args, **kwargs)``."""


def every_layer(model: Any) -> tuple[Any, ...]:
    """Return the layers below ``model`` at any depth, each once, in the order in which they were made."""
    layers = model._flatten_layers(include_self=False)  # noqa: SLF001 - Keras has no public way to reach nested layers
    return tuple({id(layer): layer for layer in layers}.values())


def called_in_training(model: Any) -> tuple[str, ...]:
    """Return the layers that a graph of layers calls with ``training=True``, each with its class.

    Keras has them infer all the same where the model is called with ``training=False``, as ``model.predict`` does.
    """
    graphs = (getattr(part, "_nodes_by_depth", {}) for part in (model, *every_layer(model)))
    nodes = (node for graph in graphs for depth in sorted(graph, reverse=True) for node in graph[depth])
    called = (node.operation for node in nodes if node.arguments.kwargs.get("training") is True)
    return tuple(dict.fromkeys(f"{layer.name} ({type(layer).__name__})" for layer in called))


@contextmanager
def intercept(model: Any, around: Around) -> Iterator[None]:
    """Route the call of every layer below ``model`` through ``around``.

    Replacing ``call`` on the instances serves functional, sequential and subclassed models alike.
    """
    layers = every_layer(model)
    for layer in layers:
        layer.call = partial(around, layer, layer.call)
    try:
        yield
    finally:
        for layer in layers:
            del layer.call


def run(model: Any, inputs: Sequence[NDArray[Any]]) -> Any:
    """Return the eager outputs of ``model`` for one array per input, as at inference."""
    from keras import ops, tree

    # Tensors, because Keras prints arrays in full when a layer fails.
    tensors = [ops.convert_to_tensor(array) for array in inputs]
    arguments: Any = tensors if len(tensors) > 1 else tensors[0]
    if hasattr(model, "input"):
        # Keras warns unless inputs come nested as the model's own are.
        arguments = tree.pack_sequence_as(model.input, tensors)
    with release_early([model, *every_layer(model)]):
        return model(arguments, training=False)
