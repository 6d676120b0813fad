"""Steps of models in every form that ``fit`` takes: what they report, what is built by the first, and why they fail."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from irbench.errors import IrbenchError
from irbench.measure.kernel_evidence import PhaseLog
from irbench.spec import Load
from irbench.spec.training import TrainedModel, TrainingArtifact, TrainingData, TrainingSettings
from irbench.spi import Refusal
from irbench_tf.loading.sources import call_function
from irbench_tf.training.models import model_facts
from irbench_tf.training.pipeline import is_batched
from irbench_tf.training.session import KerasTrainingSession, make_session

pytestmark = [pytest.mark.ci, pytest.mark.usefixtures("fp32_afterwards")]

CODE = """
import keras
import numpy as np
import tensorflow as tf
from keras import layers

values = np.random.default_rng(0).normal(size=(64, 8)).astype("float32")
sums = values.sum(axis=1, keepdims=True)

def dataset(*parts):
    return tf.data.Dataset.from_tensor_slices(parts if len(parts) > 1 else parts[0])

def pairs(): return dataset(values, sums)
def weighted(): return dataset(values, sums, np.linspace(0, 1, 64, dtype="float32"))
def unlabelled(): return dataset(values)
def batches(): return pairs().batch(16)
def whole_batches(): return pairs().shuffle(64).batch(16, drop_remainder=True).prefetch(2)
def unlabelled_batches(): return unlabelled().batch(16)
def mapped_batches(): return batches().map(lambda x, y: (2 * x, y))
def unbatched(): return batches().unbatch()
def windows():
    flat = dataset(values.ravel()).batch(8, drop_remainder=True)
    return flat.map(lambda window: (window, tf.reduce_sum(window, keepdims=True)))
def expanded(): return pairs().map(lambda x, y: (x[None], y[None]))
def narrower_batches(): return batches().map(lambda x, y: (tf.cast(x[:, :4], "int8"), y)).repeat().prefetch(1)
def sequences():
    made = ((np.zeros((1 + number % 5, 2), "float32"), np.zeros(1 + number % 5, "float32")) for number in range(40))
    signature = tf.TensorSpec((None, 2)), tf.TensorSpec((None,))
    return tf.data.Dataset.from_generator(lambda: made, output_signature=signature)
def batched_generator(): return sequences().map(lambda x, y: (x[0], y[0])).batch(16, drop_remainder=True)
def padded_batches(): return sequences().padded_batch(16, ((5, 2), (None,)))
def ragged_batches(): return sequences().ragged_batch(16)
def buckets(): return sequences().bucket_by_sequence_length(lambda x, y: tf.shape(y)[0], [3], [16, 16])
def generated(): return sequences().map(lambda x, y: (tf.ones((8,)), y[0]))
def repeated_and_mapped_batches(): return pairs().repeat().batch(8, drop_remainder=True).map(lambda x, y: (x[:, :4], y))
def generated_and_mapped_batches(): return generated().batch(8).map(lambda x, y: (x[:, :4], y), num_parallel_calls=2)
def filtered_and_mapped_batches():
    return pairs().filter(lambda x, y: y[0] > 0).batch(8).map(
        lambda x, y: (x, tf.one_hot(tf.cast(y[:, 0], "int32"), 2)))
def shuffled_and_mapped_batches():
    return pairs().shuffle(64).repeat().batch(8).map(lambda x, y: (x[:, :4], y)).cache().prefetch(2)
def mapped_and_filtered_batches(): return batches().map(lambda x, y: (x[:, :4], y)).filter(lambda x, y: True)
def divided_again_batches(): return pairs().batch(8).rebatch(4, drop_remainder=True)
def expanded_generator(): return generated().map(lambda x, y: (x[None], y[None]))
def texts(): return dataset(["one two", "three"], ["four", "five six"]).map(
    lambda x, y: (tf.strings.split(x), tf.strings.split(y)))
def read_from_batches_of_files():
    return dataset(np.arange(40)).batch(4).flat_map(lambda numbers: sequences())
def sequences_of_batches(): return sequences_of(batches())
def sequences_of(given): return given.flat_map(lambda x, y: tf.data.Dataset.from_tensors((x[:, :2], y[:, 0])).unbatch())
def divided_batches(): return batches().flat_map(lambda x, y: tf.data.Dataset.from_tensor_slices((x, y)))
def empty(): return pairs().take(0)
def unequal():
    made = ((np.zeros(1 + number % 5, "float32"), np.zeros(1, "float32")) for number in range(40))
    return tf.data.Dataset.from_generator(lambda: made, output_signature=(tf.TensorSpec((None,)), tf.TensorSpec((1,))))
def arrays(): return values, sums

class Unbuilt(keras.Model):
    def __init__(self):
        super().__init__()
        self.hidden, self.dropout, self.score = layers.Dense(16, "relu"), layers.Dropout(0.1), layers.Dense(1)

    def call(self, x, training=False):
        return self.score(self.dropout(self.hidden(x), training=training))

def unbuilt():
    model = Unbuilt()
    model.compile("adam", "mse", metrics=["mae"], weighted_metrics=["mse"])
    return model

class WithoutTraining(Unbuilt):
    def call(self, x):
        return self.score(self.hidden(x))

def without_training():
    model = WithoutTraining()
    model.compile("adam", "mse")
    return model

class OwnLoss(Unbuilt):
    def compute_loss(self, x, y, y_pred, sample_weight):  # as classes before Keras 3.3 have it
        return tf.reduce_mean((y - y_pred) ** 2) + 100.0

    def compute_metrics(self, x, y, y_pred, sample_weight=None):
        return {"error": tf.reduce_mean(abs(y - y_pred)), "vector": y[0], **self.get_metrics_result()}

def own_loss():
    model = OwnLoss()
    model.compile("adam")
    return model

class AddsLoss(keras.Model):
    def __init__(self):
        super().__init__()
        self.hidden, self.restored = layers.Dense(4), layers.Dense(8)

    def call(self, x):
        restored = self.restored(self.hidden(x))
        self.add_loss(tf.reduce_mean((x - restored) ** 2))
        return restored

def adds_loss():
    model = AddsLoss()
    model.compile("adam")
    return model

def layers_alone():
    model = keras.Sequential([layers.Dense(16, "relu"), layers.Dense(1)])
    model.compile("adam", "mse")
    return model

def functional(**how):
    inputs = keras.Input((8,))
    model = keras.Model(inputs, layers.Dense(1)(layers.Dense(16, "relu")(inputs)))
    model.compile("adam", "mse", **how)
    return model

def fast():
    return functional(jit_compile=True, steps_per_execution=8)

class Gan(keras.Model):
    def __init__(self):
        super().__init__()
        self.generator = keras.Sequential([keras.Input((4,)), layers.Dense(8)])
        self.discriminator = keras.Sequential([keras.Input((8,)), layers.Dense(1)])
        self.d_tracker, self.g_tracker = keras.metrics.Mean("d_loss"), keras.metrics.Mean("g_loss")

    def compile(self, d_optimizer, g_optimizer, loss_fn):
        super().compile()
        self.d_optimizer, self.g_optimizer, self.loss_fn = d_optimizer, g_optimizer, loss_fn

    @property
    def metrics(self):
        return [self.d_tracker, self.g_tracker]

    def train_step(self, real):
        count = tf.shape(real)[0]
        made = self.generator(tf.random.normal((count, 4)))
        labels = tf.concat([tf.ones((count, 1)), tf.zeros((count, 1))], 0)
        with tf.GradientTape() as tape:
            d_loss = self.loss_fn(labels, self.discriminator(tf.concat([made, real], 0)))
        weights = self.discriminator.trainable_weights
        self.d_optimizer.apply_gradients(zip(tape.gradient(d_loss, weights), weights))
        with tf.GradientTape() as tape:
            made = self.generator(tf.random.normal((count, 4)))
            g_loss = self.loss_fn(tf.zeros((count, 1)), self.discriminator(made))
        weights = self.generator.trainable_weights
        self.g_optimizer.apply_gradients(zip(tape.gradient(g_loss, weights), weights))
        self.d_tracker.update_state(d_loss)
        self.g_tracker.update_state(g_loss)
        return {"d_loss": self.d_tracker.result(), "g_loss": self.g_tracker.result()}

def gan():
    model = Gan()
    loss = keras.losses.BinaryCrossentropy(from_logits=True)
    model.compile(keras.optimizers.Adam(), keras.optimizers.SGD(), loss)
    return model

def gan_as_it_is():
    return Gan()

class OwnStep(Unbuilt):
    def train_step(self, data):
        x, y = data
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((y - self(x, training=True)) ** 2)
        self.optimizer.apply_gradients(zip(tape.gradient(loss, self.trainable_weights), self.trainable_weights))
        return {"loss": loss}

class Eager(OwnStep):
    def train_step(self, data):
        return {name: float(value.numpy()) for name, value in super().train_step(data).items()}

class OptimizerByTwoNames(Eager):
    def compile(self, optimizer, **others):
        super().compile(**others)
        self.optimizer = self.own = optimizer

def eager(run_eagerly=True):
    model = OptimizerByTwoNames()
    model.compile(keras.optimizers.Adam(), run_eagerly=run_eagerly)
    return model

def numpy_in_a_graph():
    return eager(False)

def own_step_as_it_is():
    return OwnStep()

class OwnLossAndUsual(OwnLoss):
    def compute_loss(self, x, y, y_pred, sample_weight):
        return 1.0 + keras.Model.compute_loss(self, x, y, y_pred, sample_weight)

def own_loss_and_usual():
    model = OwnLossAndUsual()
    model.compile("adam", "mse")
    return model

def own_loss_beside_a_compiled_one():
    model = OwnLoss()
    model.compile("adam", "mse")
    return model

class UsualStep(Unbuilt):
    def train_step(self, data):
        x, y = data
        with tf.GradientTape() as tape:
            loss = self.compute_loss(x=x, y=y, y_pred=self(x, training=True))
        self.optimizer.apply_gradients(zip(tape.gradient(loss, self.trainable_weights), self.trainable_weights))
        return {"loss": loss}

def usual_step_as_it_is():
    return UsualStep()

class KeepsWhatItIsGiven(Unbuilt):
    def compile(self, optimizer, loss):
        super().compile()
        self.own_optimizer, self.own_loss = optimizer, loss

    def train_step(self, data):
        x, y = data
        with tf.GradientTape() as tape:
            loss = self.own_loss(y, self(x, training=True))
        self.own_optimizer.apply_gradients(zip(tape.gradient(loss, self.trainable_weights), self.trainable_weights))
        return {"loss": loss}

def keeps_what_it_is_given():
    return KeepsWhatItIsGiven()

class IgnoresWhatItIsGiven(KeepsWhatItIsGiven):
    def compile(self, optimizer, loss):
        super().compile(keras.optimizers.Adam(), keras.losses.MeanSquaredError())

def ignores_what_it_is_given():
    return IgnoresWhatItIsGiven()

class ChoosesItsOptimizer(OwnLossAndUsual):
    def compile(self, optimizer, loss=None):
        super().compile(keras.optimizers.Adam(1e-7), loss)

def chooses_its_optimizer():
    return ChoosesItsOptimizer()

class Descends(OwnStep):
    def train_step(self, data):
        x, y = data
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((y - self(x, training=True)) ** 2)
        for weight, gradient in zip(self.trainable_weights, tape.gradient(loss, self.trainable_weights)):
            weight.assign_sub(0.01 * gradient)
        return {"loss": loss}

def descends():
    model = Descends()
    model.compile("adam")
    return model

def no_loss():
    model = Unbuilt()
    model.compile("adam")
    return model

def wrong_loss():
    model = Unbuilt()
    model.compile("adam", lambda y, scores: tf.reduce_mean(tf.matmul(y, scores)))
    return model

def other_size():
    model = keras.Sequential([keras.Input((9,)), layers.Dense(1)])
    model.compile("adam", "mse")
    return model
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "forms_of_models.py"
    path.write_text(CODE)
    return path


def session(file: Path, model: str, data: str, trained: Any = None, **settings: Any) -> KerasTrainingSession:
    training = TrainingArtifact(
        "training", file, (), (),
        model=TrainedModel(f"{file}:{model}", **(trained or {})), data=TrainingData(f"{file}:{data}"),
        settings=TrainingSettings(**settings),
    )  # fmt: skip
    return make_session(training, Load(batch=16, threads=None), "cpu", PhaseLog())


def stepped(opened: KerasTrainingSession, steps: int = 2) -> list[dict[str, float]]:
    reported = []
    for _ in range(steps):
        opened.next_batch()
        opened.step()
        reported.append(dict(opened.metrics()))
    return reported


PARTS = ["host", "forward", "backward", "optimizer"]


@pytest.mark.parametrize(
    ("model", "data", "metrics", "parts"),
    [
        ("unbuilt", "pairs", ["loss", "mae", "mse"], PARTS),
        ("unbuilt", "weighted", ["loss", "mae", "mse"], PARTS),
        ("without_training", "pairs", ["loss"], PARTS),
        ("own_loss", "pairs", ["error", "loss"], PARTS),
        ("adds_loss", "unlabelled", ["loss"], PARTS),
        ("layers_alone", "pairs", ["loss"], PARTS),
        ("functional", "unbatched", ["loss"], PARTS),
        ("functional", "windows", ["loss"], PARTS),
        ("unbuilt", "windows", ["loss", "mae", "mse"], PARTS),
        ("gan", "unlabelled", ["d_loss", "g_loss"], []),
        ("eager", "pairs", ["loss"], []),
        ("own_step_as_it_is", "pairs", ["loss"], []),
    ],
)
def test_what_fit_runs_is_stepped_and_reports_its_metrics(
    file: Path, model: str, data: str, metrics: list[str], parts: list[str]
) -> None:
    opened = session(file, model, data)
    first, second = stepped(opened)
    assert list(first) == metrics
    assert first != second
    beginnings = opened.beginnings
    assert list(beginnings) == parts
    for call in beginnings.values():
        call()
    assert opened.effective["parameters"]


def test_each_metric_is_that_of_the_last_step_alone(file: Path) -> None:
    import numpy as np

    opened = session(file, "own_loss", "pairs", {"learning_rate": 1e-9})
    losses = [reported["loss"] for reported in stepped(opened, 8)]
    assert min(losses) > 100
    assert np.std(losses) > 0.1, "a mean over all steps would settle"


def test_which_optimizers_are_used_is_known_after_the_first_step(file: Path) -> None:
    opened = session(file, "gan", "unlabelled")
    stepped(opened, 1)
    assert opened.effective["optimizer"] == "Adam, SGD"


def test_facts_name_optimizers_by_attribute_and_say_how_fit_would_compile(file: Path) -> None:
    facts = model_facts(TrainedModel(f"{file}:gan"))
    assert (facts.loss, "d_optimizer: adam" in facts.optimizer) == ("", True)
    facts = model_facts(TrainedModel(f"{file}:fast"))
    assert (facts.is_jit_compiled, facts.steps_per_execution) == (True, 8)
    facts = model_facts(TrainedModel(f"{file}:functional"))
    assert (facts.is_jit_compiled, facts.steps_per_execution) == (False, 1)


def test_an_optimizer_is_replaced_under_all_its_names(file: Path) -> None:
    opened = session(file, "eager", "pairs", {"optimizer": "sgd", "learning_rate": 0.125})
    stepped(opened, 1)
    assert opened.effective["optimizer"] == "SGD"


@pytest.mark.parametrize("model", ["functional", "unbuilt"])
@pytest.mark.parametrize("data", ["batches", "whole_batches", "mapped_batches"])
def test_a_dataset_of_batches_is_recognised_and_named(file: Path, model: str, data: str) -> None:
    with pytest.raises(IrbenchError, match=rf"{data} returned a dataset of batches: .*, 8\) and") as caught:
        session(file, model, data)
    assert "unbatch()" in (caught.value.hint or "")


@pytest.mark.parametrize(
    ("data", "holds_batches"),
    [
        ("narrower_batches", True),
        ("batched_generator", True),
        ("padded_batches", True),
        ("ragged_batches", True),
        ("buckets", True),
        ("repeated_and_mapped_batches", True),
        ("generated_and_mapped_batches", True),
        ("filtered_and_mapped_batches", True),
        ("shuffled_and_mapped_batches", True),
        ("mapped_and_filtered_batches", True),
        ("divided_again_batches", True),
        ("pairs", False),
        ("generated", False),
        ("expanded_generator", False),
        ("texts", False),
        ("expanded", False),
        ("sequences", False),
        ("read_from_batches_of_files", False),
        ("sequences_of_batches", False),
        ("divided_batches", False),
        ("windows", False),
    ],
)
def test_batches_are_known_by_the_axis_that_a_step_of_the_pipeline_adds(
    file: Path, data: str, holds_batches: bool
) -> None:
    assert is_batched(call_function(f"{file}:{data}"), None) == holds_batches


def test_unlabelled_batches_are_recognised_for_a_step_of_the_models_own(file: Path) -> None:
    with pytest.raises(IrbenchError, match="dataset of batches"):
        session(file, "gan", "unlabelled_batches")


@pytest.mark.parametrize(
    ("model", "data", "settings", "said", "hint"),
    [
        ("no_loss", "pairs", {}, "No loss to compute", "--loss"),
        ("other_size", "pairs", {}, "to have value 9", "model.fit"),
        ("wrong_loss", "pairs", {}, "Dimensions must be equal", "model.fit"),
        ("wrong_loss", "pairs", {"xla": "on"}, "Dimensions must be equal", "--xla off"),
        ("numpy_in_a_graph", "pairs", {}, "numpy", "run_eagerly"),
        ("eager", "pairs", {"xla": "on"}, "run_eagerly=True", "--xla on"),
        ("unbuilt", "empty", {}, "has no samples", "not empty"),
        ("unbuilt", "unequal", {}, "different shapes", "one shape"),
        ("unbuilt", "arrays", {}, "returned tuple", "dataset"),
        ("gan_as_it_is", "unlabelled", {}, "is not compiled.*optimizer", "a function that compiles the model"),
    ],
)
def test_a_step_that_fails_gives_its_cause_in_one_line(
    file: Path, model: str, data: str, settings: dict[str, Any], said: str, hint: str
) -> None:
    with pytest.raises(IrbenchError, match=said) as caught:
        stepped(session(file, model, data, **settings))
    assert "in user code" not in caught.value.message
    assert "\n" not in caught.value.message
    assert hint in (caught.value.hint or "")


@pytest.mark.parametrize("trained", [{"learning_rate": 0.1}, {"optimizer": "sgd"}])
def test_an_optimizer_or_a_rate_is_refused_where_a_step_has_several_optimizers(
    file: Path, trained: dict[str, Any]
) -> None:
    with pytest.raises(IrbenchError, match=r"several optimizers: .*d_optimizer, g_optimizer"):
        session(file, "gan", "unlabelled", trained)


@pytest.mark.parametrize(
    ("model", "trained", "unused"),
    [
        ("gan", {"loss": "mse"}, "--loss mse"),
        ("own_loss", {"loss": "mse"}, "--loss mse"),
        ("own_loss_beside_a_compiled_one", {"loss": "MeanAbsoluteError"}, "--loss MeanAbsoluteError"),
        ("own_step_as_it_is", {"loss": "mse"}, "--loss mse"),
        ("ignores_what_it_is_given", {"loss": "mae"}, "--loss mae"),
        ("ignores_what_it_is_given", {"loss": "mae", "optimizer": "sgd"}, "--loss mae"),
        ("keeps_what_it_is_given", {"loss": "mae", "learning_rate": 0.5}, "--learning-rate 0.5"),
        ("chooses_its_optimizer", {"loss": "mse", "optimizer": "adam"}, "--optimizer adam"),
        ("chooses_its_optimizer", {"loss": "mse", "optimizer": "sgd"}, "--optimizer sgd"),
        ("descends", {"optimizer": "sgd"}, "--optimizer sgd"),
        ("descends", {"learning_rate": 0.5}, "--learning-rate 0.5"),
    ],
)
def test_an_option_that_the_steps_of_a_model_do_not_use_is_refused(
    file: Path, model: str, trained: dict[str, Any], unused: str
) -> None:
    opened = session(file, model, "unlabelled" if model == "gan" else "pairs", trained)
    with pytest.raises(IrbenchError, match=f"^{unused} changes nothing: a training step of .*{model}") as caught:
        stepped(opened, 1)
    assert caught.value.hint == f"Leave out {unused}, or change it in the code of the model."


@pytest.mark.parametrize(
    ("model", "trained"),
    [
        ("functional", {"loss": "mae", "optimizer": "sgd", "learning_rate": 0.5}),
        ("functional", {"loss": "MeanAbsoluteError"}),
        ("own_loss_and_usual", {"loss": "mae"}),
        ("own_loss", {"optimizer": "sgd", "learning_rate": 0.5}),
        ("usual_step_as_it_is", {"loss": "mse", "optimizer": "sgd", "learning_rate": 0.5}),
        ("usual_step_as_it_is", {"loss": "MeanSquaredError"}),
        ("keeps_what_it_is_given", {"loss": "mae", "optimizer": "sgd"}),
        ("eager", {"optimizer": "sgd", "learning_rate": 0.125}),
    ],
)
def test_an_option_that_they_use_is_not(file: Path, model: str, trained: dict[str, Any]) -> None:
    stepped(session(file, model, "pairs", trained), 1)


def test_nor_is_one_whose_loss_is_scaled_for_16_bits(file: Path) -> None:
    every = {"loss": "mae", "optimizer": "sgd", "learning_rate": 0.5}
    stepped(session(file, "functional", "pairs", every, precision="mixed_float16"), 1)


class Shape(int):
    def num_elements(self) -> int:
        return self


def test_the_device_of_a_training_is_read_from_its_weights(file: Path):
    opened = session(file, "unbuilt", "pairs")
    stepped(opened, 1)
    assert opened.effective["device"] == "cpu"
    weights = [
        SimpleNamespace(value=SimpleNamespace(device=f"/job:localhost/task:0/device:{device}:0"), shape=Shape(size))
        for device, size in (("CPU", 3), ("GPU", 40))
    ]
    opened._model = SimpleNamespace(trainable_variables=weights, _flatten_layers=list)
    assert opened.effective["device"] == "gpu"


def test_a_training_on_a_gpu_that_tensorflow_does_not_find_is_refused(file: Path):
    training = TrainingArtifact(
        "training", file, (), (), model=TrainedModel(f"{file}:unbuilt"), data=TrainingData(f"{file}:pairs"),
        settings=TrainingSettings(),
    )  # fmt: skip
    with pytest.raises(Refusal, match="finds no GPU"):
        make_session(training, Load(batch=16, threads=None), "gpu", PhaseLog())
