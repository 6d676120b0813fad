"""Tiny Keras models, of which each needs a conversion of its own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np


def _hard_sigmoid() -> Any:
    import keras

    image = keras.Input((8, 8, 3), name="image")
    hidden = keras.layers.Conv2D(4, 3, padding="same", use_bias=False)(image)
    hidden = keras.ops.relu6(hidden + 3.0) / 6.0
    return keras.Model(image, keras.layers.Conv2D(2, 3)(hidden))


def _grouped_convolution() -> Any:
    import keras

    image = keras.Input((8, 8, 6), name="image")
    return keras.Model(image, keras.layers.Conv2D(6, 3, padding="same", groups=3)(image))


def _exact_gelu() -> Any:
    import keras

    rows = keras.Input((6,), name="rows")
    return keras.Model(rows, keras.activations.gelu(keras.layers.Dense(8)(rows), approximate=False))


def _complementary_error() -> Any:
    import keras
    import tensorflow as tf

    rows = keras.Input((6,), name="rows")
    return keras.Model(rows, keras.layers.Lambda(tf.math.erfc)(rows))


def _cache_update() -> Any:
    import keras

    cache, new = keras.Input((8, 4), name="cache"), keras.Input((1, 4), name="new")

    def updated(parts: Any) -> Any:
        rows = keras.ops.slice_update(parts[0], (0, 5, 0), parts[1])
        return keras.ops.slice_update(rows, (0, 7, 0), parts[1] * 2)

    return keras.Model([cache, new], keras.layers.Lambda(updated)([cache, new]))


def _cache_update_of_any_length() -> Any:
    import keras

    cache, new = keras.Input((512, 4), name="cache"), keras.Input((None, 4), name="new")
    written = keras.layers.Lambda(lambda parts: keras.ops.slice_update(parts[0], (0, 3, 0), parts[1]))
    return keras.Model([cache, new], written([cache, new]))


def _squeezed_row() -> Any:
    import keras
    import tensorflow as tf

    place, table = keras.Input((), dtype="int32", name="place"), np.random.default_rng(0).normal(size=(6, 4))

    def row(places: Any) -> Any:
        begin = tf.stack([places[0] % 6, 0])
        return tf.squeeze(tf.slice(tf.constant(table, tf.float32), begin, [1, 4]))

    return keras.Model(place, keras.layers.Lambda(row, output_shape=())(place))


def _recurrent() -> Any:
    import keras

    tokens = keras.Input((5,), dtype="int32", name="tokens")
    hidden = keras.layers.Embedding(20, 80)(tokens)
    hidden = keras.layers.LSTM(80, return_sequences=True)(hidden)
    return keras.Model(tokens, keras.layers.LSTM(8, return_sequences=True)(hidden))


def _free_length() -> Any:
    import keras

    tokens = keras.Input((None, 4), name="tokens")
    weights = keras.ops.matmul(tokens, keras.ops.transpose(tokens, (0, 2, 1)))
    return keras.Model(tokens, [keras.layers.Dense(3, name="rows")(tokens), weights])


def _wide_dense() -> Any:
    import keras

    rows = keras.Input((7, 96), name="rows")
    return keras.Model(rows, keras.layers.Dense(96)(rows))


def _without_counterpart() -> Any:
    import keras
    import tensorflow as tf

    rows = keras.Input((6,), name="rows")
    return keras.Model(rows, keras.layers.Lambda(lambda x: tf.math.betainc(x + 1.0, x + 2.0, x))(rows))


def _noise() -> Any:
    import keras

    generator = keras.random.SeedGenerator(1)
    rows = keras.Input((6,), name="rows")
    draw = keras.layers.Lambda(lambda x: x + keras.random.normal(keras.ops.shape(x), seed=generator), name="noise")
    return keras.Model(rows, draw(rows))


def _seeded_noise() -> Any:
    import keras
    import tensorflow as tf

    def noisy(x: Any) -> Any:
        return x + keras.random.normal((6,), seed=42) + tf.random.stateless_uniform((6,), seed=[1, 2])

    rows = keras.Input((6,), name="rows")
    return keras.Model(rows, keras.layers.Lambda(noisy)(rows))


def _gamma_noise() -> Any:
    import keras

    generator = keras.random.SeedGenerator(1)
    rows = keras.Input((6,), name="rows")
    draw = keras.layers.Lambda(lambda x: x + keras.random.gamma((6,), 2.0, seed=generator), name="noise")
    return keras.Model(rows, draw(rows))


def _fourier(transform: Callable[[Any], Any], *shape: int | None) -> Any:
    import keras

    signal = keras.Input(shape, name="signal")
    return keras.Model(signal, keras.layers.Lambda(transform)(signal))


def _mixing_tokens() -> Any:
    import keras

    return _fourier(lambda x: keras.ops.fft2((x, keras.ops.zeros_like(x)))[0], None, 12)


def _spectrum_and_back() -> Any:
    import tensorflow as tf

    def filtered(x: Any) -> Any:
        spectrum = tf.signal.rfft(x)
        shares = tf.complex(tf.linspace(0.5, 1.5, 9), tf.linspace(1.0, -1.0, 9))
        return tf.signal.irfft(spectrum * shares / tf.complex(2.0, 0.5), [16])

    return _fourier(filtered, 5, 16)


def _spectrogram() -> Any:
    import tensorflow as tf

    return _fourier(lambda x: tf.abs(tf.signal.stft(x, 16, 8, 16)), 64)


def _spectrum_of_any_length() -> Any:
    import tensorflow as tf

    return _fourier(lambda x: tf.abs(tf.signal.rfft2d(x)), 6, None)


def _padded_spectrum() -> Any:
    import tensorflow as tf

    return _fourier(lambda x: tf.abs(tf.signal.rfft(x, [20])), 5, 15)


def _spectral_convolution() -> Any:
    import tensorflow as tf

    random = np.random.default_rng(0)
    weights = tf.constant(random.normal(size=(9, 16, 16)) + 1j * random.normal(size=(9, 16, 16)), tf.complex64)

    def mixed(x: Any) -> Any:
        spectrum = tf.transpose(tf.signal.fft2d(tf.cast(x, tf.complex64)), (0, 2, 1))
        product = tf.einsum("bkc,kcd->bkd", spectrum[:, :9], weights)
        shifted = tf.signal.fftshift(tf.concat([product, tf.zeros_like(product)[:, :3]], axis=1), axes=1)
        matrix = tf.linalg.matmul(shifted, shifted, adjoint_b=True)
        return tf.math.real(tf.signal.ifft(matrix)) + tf.math.imag(tf.reduce_sum(matrix, axis=-1, keepdims=True))

    return _fourier(mixed, 16, 12)


def _turned_by_angles() -> Any:
    import tensorflow as tf

    def turned(x: Any) -> Any:
        pairs = tf.complex(x[..., ::2], x[..., 1::2])
        angles = tf.range(6, dtype=tf.float32)[:, tf.newaxis] * tf.constant([1.0, 0.1])
        product = tf.math.conj(pairs) * tf.exp(tf.complex(tf.zeros_like(angles), angles))
        parts = tf.stack([tf.math.real(product), tf.math.imag(product)], axis=-1)
        return tf.concat([tf.reshape(parts, tf.shape(x)), tf.math.angle(product + 2.0)], axis=-1)

    return _fourier(turned, 6, 4)


def _named_outputs() -> Any:
    import keras

    first, second = keras.Input((4,), name="left"), keras.Input((4,), name="right")
    hidden = keras.layers.Dense(3, name="shared")(first)
    outputs = {"logits": hidden + second[:, :3], "states": {"last": hidden, "all": [hidden, second]}}
    return keras.Model({"left": first, "right": second}, outputs)


def _outputs_without_leading_batch() -> Any:
    import keras

    class Table(keras.layers.Layer):
        def build(self, _: Any) -> None:
            self.table = self.add_weight(shape=(3, 2), initializer="random_normal")

        def call(self, _: Any) -> Any:
            return self.table * 2.0

        def compute_output_shape(self, _: Any) -> tuple[int, ...]:
            return (3, 2)

    tokens = keras.Input((None, 4), name="tokens")
    time_first = keras.ops.transpose(tokens, (1, 0, 2))
    rows = keras.ops.reshape(keras.layers.Dense(6)(tokens[:, 0]), (-1, 2))
    return keras.Model(tokens, {"rows": rows, "table": Table()(tokens), "time_first": time_first})


def _greatest_length() -> Any:
    import keras

    class Positions(keras.layers.Layer):
        def build(self, shape: Any) -> None:
            self.table = self.add_weight(shape=(128, shape[-1]), initializer="random_normal")

        def call(self, x: Any) -> Any:
            return x + self.table[: keras.ops.shape(x)[1]]

    tokens = keras.Input((None, 4), name="tokens")
    return keras.Model(tokens, Positions()(tokens))


def _noisy_dropout() -> Any:
    import keras

    generator = keras.random.SeedGenerator(1)
    rows = keras.Input((6,), name="rows")
    dropped = keras.layers.Lambda(lambda x: keras.random.dropout(x, 0.5, seed=generator), name="noise")
    return keras.Model(rows, dropped(rows))


def _complex_output() -> Any:
    import tensorflow as tf

    return _fourier(tf.signal.rfft, 8)


CASES: dict[str, Callable[[], Any]] = {
    "hard sigmoid": _hard_sigmoid,
    "grouped convolution": _grouped_convolution,
    "exact gelu": _exact_gelu,
    "erfc": _complementary_error,
    "cache update": _cache_update,
    "cache update of any length": _cache_update_of_any_length,
    "squeezed row": _squeezed_row,
    "recurrent": _recurrent,
    "free length": _free_length,
    "wide dense": _wide_dense,
    "without counterpart": _without_counterpart,
    "noise": _noise,
    "noisy dropout": _noisy_dropout,
    "seeded noise": _seeded_noise,
    "gamma noise": _gamma_noise,
    "mixing tokens": _mixing_tokens,
    "spectrum and back": _spectrum_and_back,
    "spectrogram": _spectrogram,
    "spectrum of any length": _spectrum_of_any_length,
    "padded spectrum": _padded_spectrum,
    "complex output": _complex_output,
    "spectral convolution": _spectral_convolution,
    "turned by angles": _turned_by_angles,
    "named outputs": _named_outputs,
    "outputs without leading batch": _outputs_without_leading_batch,
    "greatest length": _greatest_length,
}
