"""Seeded random weights that a runtime can be judged by: drawn, and fitted to samples layer by layer in one pass.

Signals so stay in a healthy range. After Mishkin and Matas, *All you need is a good init*, ICLR 2016:

* a kernel is scaled until its layer's output, before the activation, has a root mean square of 1;
* the bias of a linear layer takes away what all samples share, which attention would pile up in a residual stream;
* batch-norm statistics are those of the samples, displaced by what was drawn;
* a softmax layer is shifted and scaled until samples get classes of their own, none of them certain.

What is fitted is rounded to a coarse grid, which the rounding errors of a processor's own order of additions hardly
ever cross: weights are equal wherever they are made, but for a rare neighbouring value.

Weights straight from an initialiser hide errors and distort speed: biases of zero and batch-norm statistics of
0 and 1 let a wrong fusion pass, and signals that shrink or grow from layer to layer end in subnormal numbers or in a
classifier that always says the same. So every weight is drawn, and then fitted to a few samples.

The draws are exact on every platform: uniform numbers from PCG64, one generator per weight, keyed by the seed and the
weight's position.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
from keras import activations, layers
from numpy.typing import NDArray

from irbench_tf.layer_calls import every_layer, intercept, run

LOGIT_SPREAD = 3.0
"""Standard deviation of a classifier's logits: enough for a best class to stand out, too little to make it certain."""

LIFT = 1.0
"""Added to biases before an activation, in units of the signal's spread.

Five sixths of it then pass a ReLU. Around zero, a ReLU's kink turns every rounding error into a larger one from layer
to layer: dividing by the spread that is left, as batch normalisation does, multiplies errors by 1.21, and by 1.06 with
the lift (the root of E[f'(z)^2] / Var f(z) for f(z) = max(z, 0) and z normal with mean 0, or 1, and deviation 1).
"""

# Rounding errors are about 1e-6 of a layer's spread: one statistic in 30,000 would cross a grid of 1/32.
_GRID = 1 / 32
# The least variance of a batch-norm channel, relative to its layer's: the rounding errors of a channel that is
# almost constant over the samples must not be blown up.
_LEAST_VARIANCE = 1 / 16
# Of the spread, a sample's own part gets this times the share it has of the features. Deep features are wrong by some
# percent in bfloat16; so little gain keeps probabilities from being wrong by more.
_OWN_GAIN = 1 / 3
# At least this many classes, and a hundredth of all, are equally favoured by what samples share.
_LEAST_CONTENDERS = 3

Floats = NDArray[np.floating[Any]]


def fit(model: Any, inputs: Sequence[NDArray[Any]]) -> None:
    """Fit scales, classifier biases and batch-norm statistics of ``model`` to ``inputs``, in place.

    Args:
        model: A built ``keras.Model`` whose weights are drawn: statistics hold a displacement (``moving_mean``) and
            a factor (``moving_variance``).
        inputs: One array per model input.
    """
    with intercept(model, _LayerFit()):
        run(model, inputs)


class _LayerFit:
    """Fits each layer when it is first called, from the inputs that the layers before it then give."""

    def __init__(self) -> None:
        self._fitted: set[int] = set()
        self._normalisation = layers.BatchNormalization

    def __call__(self, layer: Any, call: Any, *args: Any, **kwargs: Any) -> Any:
        if id(layer) not in self._fitted:
            self._fitted.add(id(layer))
            first = next(iter((*args, *kwargs.values())), None)  # layers may be called with keywords alone
            if isinstance(layer, self._normalisation):
                _fit_normalisation(layer, first)
            elif hasattr(getattr(layer, "cell", None), "recurrent_kernel"):
                _fit_recurrence(layer.cell, first)
            elif _kernel(layer) is not None:
                with _without_activation(layer) as activation:
                    _fit_kernel(layer, first, lambda: call(*args, **kwargs), activation)
        return call(*args, **kwargs)


def _kernel(layer: Any) -> Any:
    """Return the kernel that scales the layer's output; ``None`` for a layer that has none, or is recurrent."""
    kernels = [weight for weight in layer.weights if weight.name.endswith("kernel")]
    recurrent = any("recurrent" in kernel.name for kernel in kernels)
    return kernels[-1] if kernels and not recurrent and hasattr(layer, "activation") else None


@contextmanager
def _without_activation(layer: Any) -> Iterator[str]:
    """Make the layer linear for a while; yield its activation's name."""
    activation = layer.activation
    layer.activation = activations.linear
    try:
        yield getattr(activation, "__name__", "")
    finally:
        layer.activation = activation


def _fit_kernel(layer: Any, inputs: Any, output: Callable[[], Any], activation: str) -> None:
    kernel, bias = _kernel(layer), getattr(layer, "bias", None)
    drawn = None if bias is None else bias.numpy()
    if bias is not None:
        bias.assign(np.zeros_like(drawn))
    signal = _rows(output())
    if activation == "softmax" and bias is not None and len(signal) > 1:
        scale, drawn = _spread_classes(_rows(inputs), signal)
    else:
        scale = _to_size_one(signal)
        if drawn is not None:
            drawn = drawn + (_to_grid(signal.mean(axis=0) * -scale, _GRID) if activation == "linear" else LIFT)
    _scale(kernel, scale)
    if bias is not None:
        bias.assign(drawn)


def _fit_recurrence(cell: Any, sequence: Any) -> None:
    """Scale the kernel alone: the recurrent one sees the cell's own outputs, which are bounded."""
    _scale(cell.kernel, _to_size_one(_rows(sequence)))


def _scale(variable: Any, factor: float) -> None:
    variable.assign(variable.numpy() * np.float32(factor))


def _spread_classes(features: Floats, logits: Floats) -> tuple[float, Floats]:
    """Return the scale of the kernel and the bias of each class that give samples classes of their own.

    Logits have a part that all samples share and one of each sample's own. Where a network has pooled over an image
    of noise little is left of the second; amplified to the full spread it would carry the rounding errors of low
    precisions along. So its part of the spread follows the share it has of the features, and the shared part gets the
    rest. The classes that the shared part favours most are levelled, so that samples still choose among them.
    """
    shared = logits.mean(axis=0, dtype=np.float64)
    own_size = _own_size(logits)
    if own_size == 0:
        return 1.0, np.zeros_like(shared)
    own_target = _OWN_GAIN * LOGIT_SPREAD * min(_own_size(features) / _size(features), 1.0)
    scale = _to_quarter_octave(own_target / own_size)
    common = (shared - shared.mean()) * scale
    favour = math.sqrt(LOGIT_SPREAD**2 - own_target**2) / (common.std() or 1.0)
    spread = common * favour
    contenders = max(_LEAST_CONTENDERS, len(common) // 100)
    spread = np.minimum(spread, np.sort(spread)[-contenders:][0])
    return scale, _to_grid(spread - common, _GRID)


def _rows(values: Any) -> Floats:
    array = np.asarray(values)
    return array.reshape(-1, array.shape[-1])


def _size(rows: Floats) -> float:
    return math.sqrt(np.square(rows).mean(dtype=np.float64))


def _own_size(rows: Floats) -> float:
    return math.sqrt(rows.var(axis=0, dtype=np.float64, ddof=1).mean())


def _fit_normalisation(layer: Any, inputs: Any) -> None:
    channels = _rows(np.moveaxis(np.asarray(inputs), layer.axis, -1))
    mean: Floats = channels.mean(axis=0, dtype=np.float64)
    variance: Floats = np.square(channels - mean.astype(channels.dtype)).mean(axis=0, dtype=np.float64)
    unit = _to_power_of_two(math.sqrt(variance.mean()) or 1.0)
    least = unit * unit * _LEAST_VARIANCE
    variance = np.maximum(_to_grid(variance, unit * unit * _GRID), least)
    if layer.center:
        layer.beta.assign(layer.beta.numpy() + LIFT)
    layer.moving_mean.assign(_to_grid(mean, unit * _GRID) + unit * layer.moving_mean.numpy())
    layer.moving_variance.assign(variance * layer.moving_variance.numpy())


def _to_size_one(signal: Floats) -> float:
    size = _size(signal)
    return _to_quarter_octave(1.0 / size) if size > 0 else 1.0


def _to_grid(values: Floats, step: float) -> Floats:
    return np.round(values / step) * step


def _to_power_of_two(value: float) -> float:
    return math.ldexp(1.0, round(math.log2(value)))


def _to_quarter_octave(value: float) -> float:
    return math.pow(2.0, round(4.0 * math.log2(value)) / 4.0)


_RANGES: Mapping[str, tuple[float, float]] = {
    "bias": (-0.5, 0.5),
    "gamma": (0.75, 1.25),
    "beta": (-0.5, 0.5),
    "moving_mean": (-0.3, 0.3),
    "moving_variance": (0.75, 1.25),
    "mean": (-0.3, 0.3),
    "variance": (0.75, 1.25),
    "embeddings": (-math.sqrt(3.0), math.sqrt(3.0)),
}
# A vector of unknown purpose moves at most this far from its initial value.
_UNKNOWN_SHIFT = 0.1
# Below this many inputs to a sum, taking their weights' mean away would leave too little of them.
_LEAST_CENTRED = 8


def randomise(model: Any, seed: int, inputs: Sequence[NDArray[Any]]) -> None:
    """Give every weight of ``model`` a seeded random value, in place.

    Equal seeds, which are not negative, and inputs give equal weights. ``inputs`` has an array per input of the model:
    the samples that weights are fitted to; four are enough.
    """
    centred, tied = _centred_kernels(model), _tied_embeddings(model)
    for position, variable in enumerate(model.weights):
        if "float" in str(variable.dtype):
            values = _draw(variable, np.random.default_rng((seed, position)))
            if id(variable) in centred:
                values -= values.mean(axis=tuple(range(values.ndim - 1)), dtype=np.float64)
            if id(variable) in tied:
                values /= math.sqrt(values.shape[-1])
            variable.assign(values)
    for layer in every_layer(model):
        if hasattr(layer, "finalize_state"):  # preprocessing layers copy their weights into constants
            layer.finalize_state()
    fit(model, inputs)


def _draw(variable: Any, generator: np.random.Generator) -> NDArray[np.float32]:
    shape = tuple(variable.shape)
    values = generator.random(shape, dtype=np.float32)
    if variable.name in _RANGES:
        low, high = _RANGES[variable.name]
    elif len(shape) >= 2:
        # The variance that keeps that of the input (LeCun et al., Efficient BackProp, 1998).
        high = math.sqrt(3.0 / math.prod(shape[:-1]))
        low = -high
    else:
        return np.asarray(variable.numpy() + _UNKNOWN_SHIFT * (2.0 * values - 1.0), np.float32)
    values *= np.float32(high - low)
    values += np.float32(low)
    return values


def _centred_kernels(model: Any) -> frozenset[int]:
    """Return the ids of kernels whose weights sum to zero for each output.

    Behind a ReLU every signal is positive, so plain random sums are dominated by the signals' common mean and forget,
    layer by layer, which sample they came from (Brock et al., *Characterizing signal propagation*, ICLR 2021).
    """
    kinds = (layers.Dense, layers.Conv1D, layers.Conv2D, layers.Conv3D)
    scaling: list[Any] = [layer for layer in every_layer(model) if isinstance(layer, kinds)]
    kernels = (layer.kernel for layer in scaling)
    return frozenset(id(kernel) for kernel in kernels if math.prod(kernel.shape[:-1]) >= _LEAST_CENTRED)


def _tied_embeddings(model: Any) -> frozenset[int]:
    """Return the ids of embeddings that also give the logits (Press and Wolf, 2017).

    Their products with a state would grow with its width, until every token were sure to be followed by itself.
    """
    kind = layers.ReversibleEmbedding
    embeddings: list[Any] = [layer for layer in every_layer(model) if isinstance(layer, kind) and layer.tie_weights]
    return frozenset(id(layer.embeddings) for layer in embeddings)
