"""Check that the activations of a model with random weights are finite and varied before anything uses them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from irbench.errors import IrbenchError
from irbench_tf.layer_calls import intercept, run

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
        of_layers = [problem for layer in self.layers for problem in _layer_problems(layer)]
        return (*of_layers, *(() if self.classes is None else _class_problems(self.classes)))


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
    problems: list[str] = []
    if classes.probability > SATURATED:
        problems.append(f"the classifier is saturated: its best class has probability {classes.probability:.5f}")
    if classes.margin < FLAT_MARGIN:
        problems.append(f"the classifier is undecided: its best class leads by {classes.margin:.2e} of its probability")
    if classes.answers >= ENOUGH_ANSWERS and classes.distinct == 1:
        problems.append("the classifier gives every sample the same class")
    return tuple(problems)
