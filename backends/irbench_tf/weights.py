"""Seeded random weights that a runtime can be judged by.

Weights straight from an initialiser hide errors and distort speed: biases of zero and batch-norm statistics of
0 and 1 let a wrong fusion pass, and signals that shrink or grow from layer to layer end in subnormal numbers or in a
classifier that always says the same. So every weight is drawn, and then fitted to a few samples.

The draws are exact on every platform: uniform numbers from PCG64, one generator per weight, keyed by the seed and the
weight's position.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from irbench_tf.fitting import fit
from irbench_tf.layers import every_layer

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

    Args:
        model: A built ``keras.Model`` on TensorFlow.
        seed: Not negative. Equal seeds and inputs give equal weights.
        inputs: One array per model input: the samples that weights are fitted to; four are enough.
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
    from keras import layers

    kinds = (layers.Dense, layers.Conv1D, layers.Conv2D, layers.Conv3D)
    found: list[Any] = [layer for layer in every_layer(model) if isinstance(layer, kinds)]
    kernels = (layer.kernel for layer in found)
    return frozenset(id(kernel) for kernel in kernels if math.prod(kernel.shape[:-1]) >= _LEAST_CENTRED)


def _tied_embeddings(model: Any) -> frozenset[int]:
    """Return the ids of embeddings that also give the logits (Press and Wolf, 2017).

    Their products with a state would grow with its width, until every token were sure to be followed by itself.
    """
    from keras import layers

    kind = layers.ReversibleEmbedding
    found: list[Any] = [layer for layer in every_layer(model) if isinstance(layer, kind) and layer.tie_weights]
    return frozenset(id(layer.embeddings) for layer in found)
