"""Runs functional Keras models eagerly without keeping what no layer reads any more.

Keras keeps every layer's output until the model has answered: 2.5 GB for each image of EfficientNet-B7.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any


@contextmanager
def release_early(models: Sequence[Any]) -> Iterator[None]:
    """Let each model drop a tensor once its last reader has run.

    Args:
        models: Keras layers of any kind; only functional and sequential models among them are touched.
    """
    graphs: list[Any] = [graph for model in models for graph in (model, getattr(model, "_functional", None))]
    found = [graph for graph in graphs if hasattr(graph, "_nodes_by_depth")]
    for graph in found:
        graph._run_through_graph = partial(_run_through, graph)  # noqa: SLF001 - Keras has no public way to walk a graph
    try:
        yield
    finally:
        for graph in found:
            del graph._run_through_graph  # noqa: SLF001


def _run_through(
    graph: Any, inputs: Any, operation_fn: Callable[[Any], Any] = lambda operation: operation, call_fn: Any = None
) -> Any:
    """Do what ``keras.Function._run_through_graph`` does."""
    from keras import tree

    by_depth = graph._nodes_by_depth  # noqa: SLF001
    nodes = [node for depth in sorted(by_depth, reverse=True) for node in by_depth[depth] if not node.is_input]
    last_reader = {id(tensor): node for node in nodes for tensor in node.input_tensors}
    held = {id(tensor): value for tensor, value in zip(graph.inputs, tree.flatten(inputs), strict=True)}
    answers = {id(tensor) for tensor in graph.outputs}
    for node in nodes:
        arguments, options = node.arguments.fill_in(held)
        operation = operation_fn(node.operation)
        outputs = call_fn(operation, *arguments, **options) if call_fn else operation(*arguments, **options)
        del arguments, options
        held.update(zip(map(id, node.outputs), tree.flatten(outputs), strict=True))
        for tensor in node.input_tensors:
            if last_reader[id(tensor)] is node and id(tensor) not in answers:
                held.pop(id(tensor), None)
    return tree.pack_sequence_as(graph._outputs_struct, [held[id(tensor)] for tensor in graph.outputs])  # noqa: SLF001
