"""Models as other people write them, exported by the command line: subclassed, nested, with dictionaries and masks."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from irbench.errors import ExitCode, IrbenchError
from irbench.features.export.command import command
from irbench.spec import RANDOM_DRAWS
from irbench.store import bundles

pytestmark = pytest.mark.slow

MODELS = """
import keras
from keras import layers, ops


class Positions(layers.Layer):
    def build(self, shape):
        self.table = self.add_weight(shape=(64, shape[-1]), name="table")

    def call(self, x):
        return x + self.table[: ops.shape(x)[1]]


class Encoder(keras.Model):
    def __init__(self):
        super().__init__()
        self.words, self.positions = layers.Embedding(50, 16), Positions(name="positions")
        self.attention, self.norm = layers.MultiHeadAttention(2, 8), layers.LayerNormalization()

    def call(self, inputs, training=False):
        x = self.positions(self.words(inputs["tokens"]))
        kept = ops.expand_dims(ops.cast(inputs["padding_mask"], "bool"), 1)
        x = self.norm(x + self.attention(x, x, attention_mask=kept, training=training))
        return {"hidden": x, "states": {"first": x[:, 0], "time_first": ops.transpose(x, (1, 0, 2))}}


def encoder():
    inputs = {name: keras.Input((None,), dtype="int32", name=name) for name in ("tokens", "padding_mask")}
    return keras.Model(inputs, Encoder()(inputs), name="encoder")


class Sample(layers.Layer):
    def __init__(self):
        super().__init__()
        self.seed = keras.random.SeedGenerator(3)

    def call(self, mean, log_variance):
        return mean + ops.exp(0.5 * log_variance) * keras.random.normal(ops.shape(mean), seed=self.seed)


def vae():
    x = keras.Input((6,), name="x")
    mean, log_variance = layers.Dense(2)(x), layers.Dense(2)(x)
    return keras.Model(x, {"mean": mean, "sample": Sample()(mean, log_variance)}, name="vae")
"""


@pytest.fixture
def others(tmp_path: Path) -> Path:
    path = tmp_path / "others.py"
    path.write_text(MODELS)
    return path


def call(*arguments: object) -> Result:
    return CliRunner().invoke(command, [str(argument) for argument in arguments])


def test_a_model_with_a_greatest_length_is_refused_with_the_cause_and_exported_at_a_size_that_it_takes(others: Path):
    error = call(f"{others}:encoder").exception
    assert isinstance(error, IrbenchError)
    assert error.exit_code is ExitCode.USAGE
    assert error.message.startswith(
        "encoder cannot be run with batch=8, sequence=128: InvalidArgumentError: Incompatible"
    )
    assert error.message.endswith("(in Positions)")
    assert f"irbench export {others}:encoder --shape sequence=64" in error.hint

    result = call(f"{others}:encoder", "--shape", "tokens=64")
    assert result.exit_code == 0, result.output or result.exception
    bundle = bundles.load(bundles.find("encoder"))
    assert bundle.defaults == {"sequence": 64}
    assert {spec.tensor.name: spec.is_mask for spec in bundle.inputs} == {"padding_mask": True, "tokens": False}
    graph = bundle.artifact(("onnx",))
    assert {spec.name: spec.shape for spec in graph.outputs} == {
        "hidden": ("batch", "sequence", 16),
        "states_first": ("batch", 16),
        "states_time_first": ("sequence", "batch", 16),
    }
    assert bundle.batch_axes == (0, 0, 1)


def test_a_model_that_draws_random_numbers_is_exported_with_a_warning(others: Path):
    result = call(f"{others}:vae")
    assert result.exit_code == 0, result.output or result.exception
    said = " ".join(result.output.split())
    assert "it draws random numbers (RandomStandardNormal in" in said
    assert "draws random numbers: only shapes compared" in said
    bundle = bundles.load(bundles.find("vae"))
    assert RANDOM_DRAWS in bundle.details
    assert bundle.reference is None
