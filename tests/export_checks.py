"""What the export tests run inside workers: tiny Keras models, and what becomes of them."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from irbench import feeds
from irbench.errors import IrbenchError
from irbench.spec import TensorSpec

__all__ = [
    "LAYERS_FILE",
    "MODELS_FILE",
    "TRAINED_FILE",
    "conversions",
    "joined_reshapes",
    "save_custom_layer",
    "save_keras_file",
    "save_saved_model",
    "save_weights",
]

MODELS_FILE = """
import keras

def image_net():
    image = keras.Input((12, 12, 3), name="image")
    hidden = keras.layers.Conv2D(8, 3, padding="same", use_bias=False)(image)
    hidden = keras.layers.BatchNormalization()(hidden)
    hidden = keras.layers.ReLU()(hidden)
    hidden = keras.layers.GlobalAveragePooling2D()(hidden)
    return keras.Model(image, keras.layers.Dense(5, activation="softmax", name="scores")(hidden))

def not_a_model():
    return [1, 2, 3]

def fails():
    raise RuntimeError("the data set is gone")

def shapeless():
    return keras.Sequential([keras.layers.Dense(3)])

def mixes_samples():
    rows = keras.Input((4,), name="rows")
    return keras.Model(rows, keras.layers.Lambda(lambda x: x - keras.ops.mean(x, axis=0, keepdims=True))(rows))
"""

LAYERS_FILE = """
import keras
from gains import GAIN

@keras.saving.register_keras_serializable(package="own")
class Gain(keras.layers.Layer):
    def call(self, x):
        return x * GAIN
"""

TRAINED_FILE = """
import keras
import tensorflow as tf

def build():
    rows = keras.Input((4,), name="rows")
    model = keras.Model(rows, keras.layers.Dense(3)(rows), name="trained_net")
    model.load_weights("net.weights.h5")
    tf.train.Checkpoint(model).restore("checkpoint-1").expect_partial()
    tf.saved_model.load("saved")
    return model
"""


def save_custom_layer(path: Path) -> None:
    """Save a model with a layer of the module ``own_layers``, which must be importable."""
    import keras

    layers = __import__("own_layers")
    rows = keras.Input((4,), name="rows")
    keras.Model(rows, keras.layers.Dense(3)(layers.Gain()(rows))).save(path)


def save_weights(folder: Path) -> None:
    """Save the weights of a dense layer in the three ways that are not Python's own."""
    import keras
    import tensorflow as tf

    rows = keras.Input((4,), name="rows")
    model = keras.Model(rows, keras.layers.Dense(3)(rows))
    model.save_weights(folder / "net.weights.h5")
    tf.train.Checkpoint(model).save(str(folder / "checkpoint"))
    model.export(folder / "saved", verbose=False)


def save_keras_file(path: Path, unsafe: bool) -> None:
    """Save an embedding over a vocabulary of 50, or a model with code inside."""
    import keras

    tokens = keras.Input((6,), dtype="int32", name="tokens")
    vectors = keras.layers.Embedding(50, 4)(tokens)
    if unsafe:
        vectors = keras.layers.Lambda(lambda x: x * 2)(vectors)
    keras.Model(tokens, keras.layers.Dense(3)(vectors)).save(path)


def save_saved_model(path: Path, signatures: tuple[str, ...]) -> None:
    """Save a function with two inputs under each of some signature names."""
    import tensorflow as tf

    class Two(tf.Module):
        def __init__(self) -> None:
            self.weight = tf.Variable(np.arange(12.0, dtype=np.float32).reshape(4, 3) / 10)

        @tf.function(
            input_signature=[
                tf.TensorSpec([None, 4], tf.float32, "left"),
                tf.TensorSpec([None, 3], tf.float32, "right"),
            ]
        )
        def __call__(self, left: Any, right: Any) -> dict[str, Any]:
            product = left @ self.weight
            return {"total": product + right, "difference": product - right}

    module = Two()
    tf.saved_model.save(module, str(path), signatures=dict.fromkeys(signatures, module.__call__))


Conversion = tuple[dict[str, int], float, tuple[TensorSpec, ...]]
"""ONNX operations, worst relative error, and outputs."""


def conversions(folder: Path) -> dict[str, Conversion | str]:
    """Convert every tiny model, or tell why it cannot be converted."""
    found: dict[str, Conversion | str] = {}
    for case in _CASES:
        try:
            found[case] = _conversion(case, folder)
        except IrbenchError as error:
            found[case] = f"{error.message} {error.hint}"
    return found


def joined_reshapes(shapes: tuple[tuple[int, ...], ...]) -> list[tuple[int, bool]]:
    """Let tf2onnx optimise pairs of a Reshape from 4 x 6 to 2 x 2 x 6 and one to each of some shapes.

    Returns:
        Of each pair, how many are left, and whether the answer is the same.
    """
    return [_joined_reshapes(shape) for shape in shapes]


def _joined_reshapes(second: tuple[int, ...]) -> tuple[int, bool]:
    from onnx import TensorProto, helper, numpy_helper
    from onnx.reference import ReferenceEvaluator
    from tf2onnx.graph import GraphUtil
    from tf2onnx.optimizer import back_to_back_optimizer

    from irbench_tf.handlers import optimizers

    shapes = {"first": (2, 2, 6), "second": second}
    graph = helper.make_graph(
        [helper.make_node("Reshape", ["x", "first"], ["y"]), helper.make_node("Reshape", ["y", "second"], ["z"])],
        "reshapes",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [4, 6])],
        [helper.make_tensor_value_info("z", TensorProto.FLOAT, [None] * len(second))],
        [numpy_helper.from_array(np.array(shape, np.int64), name) for name, shape in shapes.items()],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)
    rules = dict(back_to_back_optimizer._func_map)
    optimised = GraphUtil.optimize_model_proto(model, catch_errors=False, optimizers=optimizers())
    assert rules == back_to_back_optimizer._func_map, "other conversions keep their rules"
    feed = {"x": np.arange(24, dtype=np.float32).reshape(4, 6)}
    expected, answer = (ReferenceEvaluator(each).run(None, feed)[0] for each in (model, optimised))
    left = sum(node.op_type == "Reshape" for node in optimised.graph.node)
    return left, answer.shape == expected.shape and bool((answer == expected).all())


def _conversion(case: str, folder: Path) -> Conversion:
    """Convert one of the tiny models, and compare its answers at batch 3 with those of TensorFlow."""
    from onnx.reference import ReferenceEvaluator

    from irbench.onnx.rewriting.detached_weights import write
    from irbench_tf import exporter, signatures, tracing
    from irbench_tf.convert import convert, name_dimensions
    from irbench_tf.reference_run import run_reference
    from irbench_tf.sources import Loaded

    model = _CASES[case]()
    inputs, fixed = signatures.keras_inputs(model)
    names = signatures.keras_output_names(model)
    sizes = signatures.default_sizes(inputs)
    loaded = Loaded(case, signatures.keras_call(model), inputs, fixed, names, sizes, False, model, False, model)
    traced = tracing.trace(loaded, None)
    detached = convert(traced, 18, ())
    run = run_reference(traced, loaded, 0)
    name_dimensions(detached.model, traced.inputs, run.specs)
    exporter._fold(detached)
    path = folder / f"{case}.onnx"
    write(detached, path)
    feed = feeds.generate(inputs, {**sizes, "batch": 3}, 0)
    answers = ReferenceEvaluator(str(path)).run(
        None, {spec.name: array for spec, array in zip(traced.inputs, feed, strict=True)}
    )
    if run.draws:
        return dict(Counter(node.op_type for node in detached.model.graph.node)), math.nan, run.specs
    expected = feeds.repeat_pool(run.outputs, 3, run.axes)
    worst = max(
        float(np.abs(answer - reference).max() / np.abs(reference).max())
        for answer, reference in zip(answers, expected, strict=True)
    )
    return dict(Counter(node.op_type for node in detached.model.graph.node)), worst, run.specs


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


_CASES: dict[str, Callable[[], Any]] = {
    "hard sigmoid": _hard_sigmoid,
    "grouped convolution": _grouped_convolution,
    "exact gelu": _exact_gelu,
    "erfc": _complementary_error,
    "recurrent": _recurrent,
    "free length": _free_length,
    "wide dense": _wide_dense,
    "without counterpart": _without_counterpart,
    "noise": _noise,
    "noisy dropout": _noisy_dropout,
    "mixing tokens": _mixing_tokens,
    "spectrum and back": _spectrum_and_back,
    "spectrogram": _spectrogram,
    "complex output": _complex_output,
    "spectral convolution": _spectral_convolution,
    "turned by angles": _turned_by_angles,
    "named outputs": _named_outputs,
    "outputs without leading batch": _outputs_without_leading_batch,
    "greatest length": _greatest_length,
}
