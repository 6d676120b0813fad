"""What a model is trained with: all that it was compiled with, but for what the user gives."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from irbench.errors import IrbenchError
from irbench.spec.training import TrainedModel
from irbench_tf.training.models import load_trained, model_facts

pytestmark = [pytest.mark.ci, pytest.mark.usefixtures("fp32_afterwards")]

MODELS = """
import keras
from keras import layers

def two_outputs(optimizer="adam", **more):
    values = keras.Input((8,))
    price, sold = layers.Dense(1, name="price")(values), layers.Dense(1, "sigmoid", name="sold")(values)
    model = keras.Model(values, {"price": price, "sold": sold})
    model.compile(
        optimizer,
        loss={"price": "mse", "sold": "binary_crossentropy"},
        loss_weights={"price": 0.5, "sold": 2.0},
        metrics={"sold": "accuracy"},
        weighted_metrics={"price": "mae"},
        **more,
    )
    return model

def eager():
    return two_outputs(run_eagerly=True, steps_per_execution=4)

def scheduled():
    rate = keras.optimizers.schedules.ExponentialDecay(0.5, 10, 0.9)
    return two_outputs(keras.optimizers.SGD(rate, momentum=0.9, clipnorm=3.0))

def several():
    encoder = keras.optimizers.OptimizerMap(keras.optimizers.Adam())
    return two_outputs(keras.optimizers.MultiOptimizer(encoder))

class Own(keras.Model):
    def compile(self, rate):
        super().compile("rmsprop", "mse", metrics=["mae"])
        self.optimizer, self.rate = keras.optimizers.SGD(rate), rate

def own_compile():
    values = keras.Input((8,))
    model = Own(values, layers.Dense(1)(values))
    model.compile(0.25)
    return model
"""
COMPILED = ("loss_weights", "metrics", "weighted_metrics", "run_eagerly", "steps_per_execution", "jit_compile")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "models_to_train.py"
    path.write_text(MODELS)
    return path


def losses(model: Any) -> dict[str, float]:
    """Return what the model reports of a batch whose losses, weights and metrics all differ."""
    import numpy as np

    values = np.random.default_rng(0).normal(size=(16, 8)).astype("float32")
    labels = {"price": values[:, :1] + 1, "sold": (values[:, :1] > 0).astype("float32")}
    weights = {"price": np.linspace(0, 1, 16, dtype="float32"), "sold": np.ones(16, dtype="float32")}
    return dict(model.evaluate(values, labels, sample_weight=weights, return_dict=True, verbose=0))


@pytest.mark.parametrize(
    "changed", [{"learning_rate": 0.1}, {"optimizer": "sgd"}, {"optimizer": "sgd", "learning_rate": 0.1}]
)
@pytest.mark.parametrize("name", ["two_outputs", "eager"])
def test_another_optimizer_or_rate_leaves_all_else_that_was_compiled(
    file: Path, name: str, changed: dict[str, Any]
) -> None:
    usual = load_trained(TrainedModel(f"{file}:{name}"))
    other = load_trained(TrainedModel(f"{file}:{name}", **changed))
    assert losses(other) == pytest.approx(losses(usual))
    assert len(losses(usual)) >= 4
    assert {key: getattr(other, key, None) for key in ("run_eagerly", "jit_compile", "steps_per_execution")} == {
        key: getattr(usual, key, None) for key in ("run_eagerly", "jit_compile", "steps_per_execution")
    }
    assert type(other.optimizer).__name__ == ("SGD" if "optimizer" in changed else "Adam")
    assert float(other.optimizer.learning_rate) == pytest.approx(changed.get("learning_rate", 0.01))


def test_another_loss_leaves_all_else_that_was_compiled(file: Path) -> None:
    usual = load_trained(TrainedModel(f"{file}:eager"))
    other = load_trained(TrainedModel(f"{file}:eager", loss="mse"))
    ours, theirs = (model._compile_config.config for model in (other, usual))
    assert {key: ours[key] for key in COMPILED} == {key: theirs[key] for key in COMPILED}
    assert losses(other).keys() == losses(usual).keys()
    assert losses(other)["sold_loss"] != pytest.approx(losses(usual)["sold_loss"])


def test_what_a_compile_of_the_models_own_did_stays_where_the_loss_changes(file: Path) -> None:
    model = load_trained(TrainedModel(f"{file}:own_compile", loss="mae"))
    assert (model.rate, type(model.optimizer).__name__, model.loss.__name__) == (0.25, "SGD", "mean_absolute_error")
    assert float(model.optimizer.learning_rate) == 0.25


def test_a_schedule_gives_way_to_a_rate_and_the_optimizer_stays_as_it_is(file: Path) -> None:
    optimizer = load_trained(TrainedModel(f"{file}:scheduled", learning_rate=0.125)).optimizer
    assert (float(optimizer.learning_rate), optimizer.momentum, optimizer.clipnorm) == (0.125, 0.9, 3.0)


def test_an_optimizer_that_takes_no_rate_is_refused_by_name(file: Path) -> None:
    with pytest.raises(IrbenchError, match="takes no learning rate"):
        load_trained(TrainedModel(f"{file}:several", learning_rate=0.125))


@pytest.mark.parametrize("changed", [{"optimizer": "sgd"}, {"learning_rate": 0.5}])
def test_a_loss_that_is_scaled_for_16_bits_is_scaled_with_another_optimizer(
    file: Path, changed: dict[str, Any]
) -> None:
    optimizer = load_trained(TrainedModel(f"{file}:two_outputs", **changed), "mixed_float16").optimizer
    assert type(optimizer).__name__ == "LossScaleOptimizer"
    assert type(optimizer.inner_optimizer).__name__ == ("SGD" if "optimizer" in changed else "Adam")


def test_losses_of_several_outputs_are_named_by_output(file: Path) -> None:
    facts = model_facts(TrainedModel(f"{file}:two_outputs"))
    assert facts.loss == "price: mse, sold: binary_crossentropy"
