"""Tiny frozen TensorFlow graphs for tests. Everything here imports TensorFlow: call it in a worker."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from irbench.spec import Artifact, TensorSpec


def write_dense(folder: Path) -> Artifact:
    """Two dense layers: "x" float32 (batch, 8) to "y" (batch, 4)."""
    return _write("dense", folder)


def write_convolution(folder: Path) -> Artifact:
    """Convolution, batch normalisation, pooling, dense: "image" float32 (batch, 16, 16, 3) to "scores" (batch, 5)."""
    return _write("convolution", folder)


def write_recurrent(folder: Path) -> Artifact:
    """Embedding and an LSTM's loop: "tokens" int32 (batch, 6) to "scores" (batch, 6, 7)."""
    return _write("recurrent", folder)


def write_sequence(folder: Path) -> Artifact:
    """Attention over a free length: "tokens" int32 (batch, length) to "states" (batch, length, 8)."""
    return _write("sequence", folder)


def write_sum(folder: Path) -> Artifact:
    """The sum of integers along an axis, which no precision changes: "x" int32 (batch, 3) to "total" (batch)."""
    return _write("sum", folder)


def build(kind: str) -> tuple[Any, tuple[TensorSpec, ...], tuple[TensorSpec, ...]]:
    """Return a concrete function of one of the kinds above, with its inputs and outputs."""
    os.environ["CUDA_VISIBLE_DEVICES"] = "-1"
    import tensorflow as tf

    function, inputs, outputs, keeps_alive = _BUILDERS[kind]()
    specs = [
        tf.TensorSpec([size if isinstance(size, int) else None for size in spec.shape], spec.dtype, spec.name)
        for spec in inputs
    ]
    concrete = tf.function(function, autograph=False).get_concrete_function(*specs)
    concrete.keeps_alive = keeps_alive
    return concrete, inputs, outputs


def expected(kind: str, feed: tuple[Any, ...]) -> list[Any]:
    """Return what the function, with variables, answers to ``feed``."""
    import tensorflow as tf

    concrete, _, _ = build(kind)
    return [np.array(item) for item in tf.nest.flatten(concrete(*map(tf.constant, feed)))]


def _write(kind: str, folder: Path) -> Artifact:
    from irbench_tf.frozen import freeze

    folder.mkdir(parents=True, exist_ok=True)
    artifact = freeze(*build(kind)).write(folder)
    return replace(artifact, path=folder / artifact.path)


def _variable(*shape: int, low: float = -0.5, high: float = 0.5) -> Any:
    import tensorflow as tf

    values = np.random.default_rng((5, *shape)).uniform(low, high, shape)
    return tf.Variable(values.astype(np.float32))


def _dense() -> Any:
    import tensorflow as tf

    first, bias, second = _variable(8, 16), _variable(16), _variable(16, 4)

    def call(x: Any) -> Any:
        return tf.matmul(tf.nn.relu(tf.matmul(x, first) + bias), second)

    x, y = TensorSpec("x", "float32", ("batch", 8)), TensorSpec("y", "float32", ("batch", 4))
    return call, (x,), (y,), (first, bias, second)


def _convolution() -> Any:
    import tensorflow as tf

    kernel, bias, scale, shift = _variable(3, 3, 3, 8), _variable(8), _variable(8, low=0.5, high=1.5), _variable(8)
    dense = _variable(8 * 8 * 8, 5)

    def call(image: Any) -> Any:
        maps = tf.nn.relu((tf.nn.conv2d(image, kernel, 1, "SAME") + bias) * scale + shift)
        return tf.nn.softmax(tf.matmul(tf.reshape(tf.nn.max_pool2d(maps, 2, 2, "SAME"), (-1, 8 * 8 * 8)), dense))

    image = TensorSpec("image", "float32", ("batch", 16, 16, 3))
    scores = TensorSpec("scores", "float32", ("batch", 5))
    return call, (image,), (scores,), (kernel, bias, scale, shift, dense)


def _recurrent() -> Any:
    import keras

    keras.utils.set_random_seed(5)
    layers = [keras.Input((6,), dtype="int32"), keras.layers.Embedding(11, 8)]
    layers += [keras.layers.LSTM(8, return_sequences=True, use_cudnn=False), keras.layers.Dense(7)]
    model = keras.Sequential(layers)
    tokens, scores = TensorSpec("tokens", "int32", ("batch", 6)), TensorSpec("scores", "float32", ("batch", 6, 7))
    return lambda tokens: model(tokens, training=False), (tokens,), (scores,), model


def _sequence() -> Any:
    import tensorflow as tf

    table, query = _variable(11, 8), _variable(8, 8)

    def call(tokens: Any) -> Any:
        embedded = tf.gather(table, tokens)
        weights = tf.nn.softmax(tf.matmul(tf.matmul(embedded, query), embedded, transpose_b=True))
        return tf.matmul(weights, embedded)

    tokens = TensorSpec("tokens", "int32", ("batch", "length"))
    states = TensorSpec("states", "float32", ("batch", "length", 8))
    return call, (tokens,), (states,), (table, query)


def _sum() -> Any:
    import tensorflow as tf

    x, total = TensorSpec("x", "int32", ("batch", 3)), TensorSpec("total", "int32", ("batch",))
    return lambda x: tf.reduce_sum(x, axis=1), (x,), (total,), None


_BUILDERS: dict[str, Callable[[], Any]] = {
    "dense": _dense,
    "convolution": _convolution,
    "recurrent": _recurrent,
    "sequence": _sequence,
    "sum": _sum,
}
