"""Iterate over all layers of a Keras model, including nested ones."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any, TypeAlias

from numpy.typing import NDArray

from irbench_tf.low_memory import release_early

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
    given: Any = tensors if len(tensors) > 1 else tensors[0]
    if hasattr(model, "input"):
        # Keras warns unless inputs come nested as the model's own are.
        given = tree.pack_sequence_as(model.input, tensors)
    with release_early([model, *every_layer(model)]):
        return model(given, training=False)
