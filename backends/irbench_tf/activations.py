"""Check that the activations of a model with random weights are finite and varied before anything uses them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from irbench.errors import IrbenchError


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


TINY = 2.0**-100
"""Smaller numbers count as tiny. Subnormals themselves (below 2**-126) never show: TensorFlow flushes them to zero.
A layer whose values reach that far has tiny ones too, and a tiny value times a small weight is subnormal elsewhere."""
MOST_TINY = 1e-3
"""Share of tiny values in a layer's output above which a runtime that keeps subnormals may be slowed. A bell-shaped
signal of ordinary size has none: the share below 2**-100 is about 1e-30."""
MOST_ZERO = 0.995
"""Share of zeros above which a layer counts as dead: whatever computes it, its answer is right."""
LARGEST = 32768.0
"""Magnitude above which half precision, which ends at 65504, has no room left to add two values."""
_MASKED = -1e8
"""At and below this number lies what layers add to scores that a mask hides, which no signal is; a signal that grows so
large is as large with the other sign, too."""
SATURATED = 0.999
"""Median top-1 probability above which a classifier is saturated: errors no longer move its answer."""
FLAT_MARGIN = 1e-3
"""Median lead of the best class, relative to its probability, below which rounding alone may choose the class."""

ENOUGH_ANSWERS = 8
"""Answers below which equal top-1 classes may well be chance, where there are only ten classes to choose from."""


@dataclass(frozen=True)
class LayerReport:
    """The output of one call of one layer.

    Attributes:
        tiny: Share of values that are not zero but smaller than :data:`TINY`.
        largest: Largest magnitude but of what a mask hides; NaN or infinity where the output holds one.
    """

    name: str
    tiny: float
    zero: float
    largest: float


@dataclass(frozen=True)
class ClassReport:
    """The classes that a classifier gave.

    Attributes:
        answers: Number of class distributions: samples, times steps where each step has one.
        distinct: Number of different top-1 classes among them.
        margin: Median of (best - second best) / best.
    """

    answers: int
    distinct: int
    probability: float
    margin: float


@dataclass(frozen=True)
class ActivationReport:
    """What was seen; ``classes`` is ``None`` unless the model is a classifier."""

    layers: tuple[LayerReport, ...]
    classes: ClassReport | None

    @property
    def problems(self) -> tuple[str, ...]:
        """What is wrong, as sentences without a full stop; empty when all is well."""
        found = [problem for layer in self.layers for problem in _layer_problems(layer)]
        return (*found, *(() if self.classes is None else _class_problems(self.classes)))


def check_activations(model: Any, inputs: Sequence[NDArray[Any]], *, classifier: bool) -> ActivationReport:
    """Return :func:`inspect_activations`' report when it is clean."""
    report = inspect_activations(model, inputs, classifier=classifier)
    if report.problems:
        first, *others = report.problems
        more = f" (and {len(others)} more)" if others else ""
        raise IrbenchError(
            f"The activations of {model.name} are not fit for a benchmark: {first}{more}.",
            hint="Try another --seed, or give trained weights with --weights PATH.",
        )
    return report


def inspect_activations(model: Any, inputs: Sequence[NDArray[Any]], *, classifier: bool) -> ActivationReport:
    """Run the model eagerly once and report what every layer gave."""
    from keras import tree

    layers: list[LayerReport] = []

    def around(layer: Any, call: Any, *args: Any, **kwargs: Any) -> Any:
        outputs = call(*args, **kwargs)
        for output in tree.flatten(outputs):
            values = np.asarray(output)
            if values.dtype.kind == "f" and values.size:
                layers.append(_layer_report(layer.name, values))
        return outputs

    with intercept(model, around):
        outputs = run(model, inputs)
    flat: list[Any] = tree.flatten(outputs)
    scores = np.asarray(flat[0])
    return ActivationReport(tuple(layers), _class_report(scores) if classifier else None)


def _layer_report(name: str, values: NDArray[Any]) -> LayerReport:
    magnitudes = np.abs(values)
    zeros = values.size - np.count_nonzero(values)
    tiny = np.count_nonzero(magnitudes < TINY) - zeros
    hidden = np.isfinite(values) & (values <= _MASKED)
    largest = magnitudes[~hidden].max(initial=0.0)
    return LayerReport(name, float(tiny / values.size), float(zeros / values.size), float(largest))


def _class_report(scores: NDArray[Any]) -> ClassReport:
    rows = scores.reshape(-1, scores.shape[-1]).astype(np.float64)
    if not _are_probabilities(rows):
        rows = np.exp(rows - rows.max(axis=-1, keepdims=True))
        rows /= rows.sum(axis=-1, keepdims=True)
    second, best = np.partition(rows, (-2, -1), axis=-1)[:, -2:].T
    return ClassReport(
        answers=len(rows),
        distinct=len(np.unique(rows.argmax(axis=-1))),
        probability=float(np.median(best)),
        margin=float(np.median((best - second) / best)),
    )


def _are_probabilities(rows: NDArray[np.float64]) -> bool:
    return bool(rows.min() >= 0.0 and np.allclose(rows.sum(axis=-1), 1.0, atol=1e-3))


def _layer_problems(layer: LayerReport) -> tuple[str, ...]:
    if not np.isfinite(layer.largest):
        return (f"layer {layer.name} gives NaN or infinity",)
    if layer.largest > LARGEST:
        return (f"layer {layer.name} gives values as large as {layer.largest:.3g}",)
    if layer.tiny > MOST_TINY:
        return (f"{layer.tiny:.1%} of the values of layer {layer.name} are so small that they slow a runtime down",)
    if layer.zero > MOST_ZERO:
        return (f"{layer.zero:.1%} of the values of layer {layer.name} are zero",)
    return ()


def _class_problems(classes: ClassReport) -> tuple[str, ...]:
    if not np.isfinite(classes.probability):
        return ()  # the layer that gave NaN is named already
    found: list[str] = []
    if classes.probability > SATURATED:
        found.append(f"the classifier is saturated: its best class has probability {classes.probability:.5f}")
    if classes.margin < FLAT_MARGIN:
        found.append(f"the classifier is undecided: its best class leads by {classes.margin:.2e} of its probability")
    if classes.answers >= ENOUGH_ANSWERS and classes.distinct == 1:
        found.append("the classifier gives every sample the same class")
    return tuple(found)
