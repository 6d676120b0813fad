"""The script that trains as a row does: what it says of each setting."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any

import pytest

from irbench.spec import Load
from irbench.spec.training import TrainedModel, TrainingArtifact, TrainingData, TrainingSettings
from irbench_tf.training.program import program

MODEL, ONE_THREAD = TrainedModel("model.py:make"), Load()
IMAGES = TrainingData("photos", ("cat", "dog"), 100)


def written(
    model: TrainedModel = MODEL,
    data: TrainingData = IMAGES,
    load: Load = ONE_THREAD,
    **settings: Any,
) -> str:
    training = TrainingArtifact(
        "training", Path("model.py"), (), (), model=model, data=data, settings=TrainingSettings(**settings)
    )
    text = program(training, load)
    ast.parse(text)
    return text


def test_what_is_left_to_keras_and_tf_data_is_said_as_such() -> None:
    text = written(load=Load(batch=64, threads=None))
    assert "model.jit_compile = False" in text
    assert "batch(64, drop_remainder=True).prefetch(tf.data.AUTOTUNE)" in text
    assert not any(word in text for word in ("dtype_policy", "threading", "cache()", "tf.data.Options"))


def test_the_policy_is_set_before_the_model_is_made() -> None:
    text = written(precision="mixed_bfloat16")
    assert text.index("set_dtype_policy('mixed_bfloat16')") < text.index("model = make()")


@pytest.mark.parametrize(
    ("settings", "line"),
    [
        ({"xla": "on"}, "model.jit_compile = True"),
        ({"prefetch": "2"}, ".prefetch(2)"),
        ({"prefetch": "0"}, "inject_prefetch = False"),
        ({"workers": "1"}, "map_parallelization = False"),
        ({"workers": "4"}, "map(decode, num_parallel_calls=4)"),
        ({"cache": "on"}, "map(decode, num_parallel_calls=tf.data.AUTOTUNE).cache().shuffle(len(files))"),
    ],
)
def test_each_setting_has_its_line(settings: dict[str, Any], line: str) -> None:
    assert line in written(**settings)
    assert line not in written()


def test_a_loss_an_optimizer_and_a_rate_that_were_given_are_in_it() -> None:
    text = written(TrainedModel("net.keras", (), "mse", "sgd", 0.1), xla="on")
    assert "keras.models.load_model('net.keras')" in text
    assert "model.compile(optimizer='sgd', loss='mse')" in text
    assert "model.optimizer = keras.optimizers.get('sgd')" in text
    assert "learning_rate = 0.1\nmodel.jit_compile = True" in text


def test_modules_that_register_layers_are_imported_before_the_model_is_loaded() -> None:
    text = written(TrainedModel("net.keras", ("code/my_layers.py", "ours.losses")))
    assert text.index("import my_layers\nimport ours.losses\n") < text.index("load_model('net.keras')")


def test_threads_and_the_mode_of_a_gpus_threads_are_set_before_anything_runs() -> None:
    text = written(load=Load(threads=3, options={"gpu_thread_mode": "gpu_private"}))
    assert text.index("'TF_GPU_THREAD_MODE'] = 'gpu_private'") < text.index("import tensorflow")
    assert "set_intra_op_parallelism_threads(3)" in text


def test_samples_of_a_function_are_taken_from_it() -> None:
    text = written(data=TrainingData("data/mine.py:samples"), load=Load(batch=8))
    assert "from mine import samples" in text
    assert "decode" not in text


@pytest.mark.ci
@pytest.mark.parametrize(
    ("changed", "optimizer", "rate", "loss"),
    [
        ({}, "Adam", 0.001, "mse"),
        ({"learning_rate": 0.125}, "Adam", 0.125, "mse"),
        ({"optimizer": "sgd"}, "SGD", 0.01, "mse"),
        ({"loss": "mae", "learning_rate": 0.5}, "Adam", 0.5, "mae"),
    ],
)
def test_the_script_keeps_what_the_model_was_compiled_with_but_for_what_was_given(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    changed: dict[str, Any],
    optimizer: str,
    rate: float,
    loss: str,
) -> None:
    (tmp_path / "net_of_two_outputs.py").write_text(
        "import keras\n"
        "def make():\n"
        "    values = keras.Input((2,))\n"
        "    outputs = {name: keras.layers.Dense(1, name=name)(values) for name in 'ab'}\n"
        "    model = keras.Model(values, outputs)\n"
        "    model.compile('adam', {'a': 'mse', 'b': 'mse'}, loss_weights={'a': 3, 'b': 4}, metrics={'a': 'mae'})\n"
        "    return model\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    text = written(TrainedModel("net_of_two_outputs.py:make", **changed), load=Load(threads=None), xla="on")
    made: dict[str, Any] = {}
    exec(text.partition("# yours:")[0], made)
    compiled = made["model"]._compile_config.config
    assert (type(made["model"].optimizer).__name__, made["model"].jit_compile) == (optimizer, True)
    assert float(made["model"].optimizer.learning_rate) == pytest.approx(rate)
    assert [getattr(part, "name", part) for part in compiled["loss"].values()] == [loss, loss]
    assert (compiled["loss_weights"], compiled["metrics"]) == ({"a": 3, "b": 4}, {"a": "mae"})
