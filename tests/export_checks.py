"""What the export tests run inside workers: tiny Keras models, and what becomes of them."""

from __future__ import annotations

import math
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
from conversion_models import CASES

from irbench.core import feeds
from irbench.errors import IrbenchError
from irbench.spec import TensorSpec

MODELS_FILE = """
import keras

def image_net():
    image = keras.Input((12, 12, 3), name="image")
    hidden = keras.layers.Conv2D(8, 3, padding="same", use_bias=False)(image)
    hidden = keras.layers.BatchNormalization()(hidden)
    hidden = keras.layers.ReLU()(hidden)
    hidden = keras.layers.GlobalAveragePooling2D()(hidden)
    return keras.Model(image, keras.layers.Dense(5, activation="softmax", name="scores")(hidden))

def detector():
    image = keras.Input((4, 4, 3), name="image")
    flat = keras.layers.Flatten()(image)
    label = keras.layers.Dense(5, activation="softmax")(flat)
    return keras.Model(image, {"label": label, "box": keras.layers.Dense(4)(flat)})

def linear(loss):
    model = keras.Sequential([keras.Input((8,)), keras.layers.Dense(4)])
    model.compile("sgd", loss)
    return model

def regression():
    return linear("mse")

def logits():
    return linear(keras.losses.SparseCategoricalCrossentropy(from_logits=True))

def not_a_model():
    return [1, 2, 3]

def fails():
    raise RuntimeError("the data set is gone")

def shapeless():
    return keras.Sequential([keras.layers.Dense(3)])

def stateful():
    return keras.Sequential([keras.Input(batch_shape=(1, 5, 4)), keras.layers.LSTM(3, stateful=True)])

class Subclassed(keras.Model):
    def __init__(self):
        super().__init__(name="subclassed")
        self.dense = keras.layers.Dense(3)

    def call(self, x):
        return keras.ops.relu(self.dense(x))

def subclassed():
    model = Subclassed()
    model.build((None, 4))
    return model

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
    for case in CASES:
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

    from irbench_tf.convert import optimizers

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
    from irbench_tf import exporter, tracing
    from irbench_tf.convert import convert, name_dimensions
    from irbench_tf.loading import signatures
    from irbench_tf.loading.sources import Loaded
    from irbench_tf.reference_run import run_reference

    model = CASES[case]()
    inputs, fixed = signatures.keras_inputs(model)
    names = signatures.keras_output_names(model)
    sizes = signatures.default_sizes(inputs)
    loaded = Loaded(case, signatures.keras_call(model), inputs, fixed, names, sizes, False, model, False, model)
    traced = tracing.trace(loaded, None)
    detached = convert(traced, 18, ())
    run = run_reference(traced, loaded, 0)
    name_dimensions(detached.model, traced.inputs, run.specs)
    exporter.fold_detached(detached)
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
