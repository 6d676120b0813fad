"""Training steps of real Keras models, through the front door."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import fake_uv
import pytest
from front_door import Called, irbench_process
from PIL import Image

from irbench.store.runs import Store

pytestmark = pytest.mark.ci

MODELS = """
import keras

def layers(activation="softmax"):
    return [keras.Input((8, 8, 3)), keras.layers.Conv2D(4, 3, activation="relu"), keras.layers.Flatten(),
            keras.layers.Dense(4, activation=activation)]

def bare():
    return keras.Sequential(layers())

def compiled():
    model = keras.Sequential(layers(None))
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile(keras.optimizers.Adam(0.01), loss, metrics=["accuracy"])
    return model

class Own(keras.Model):
    def train_step(self, data):
        return super().train_step(data)

def own_step():
    pixels = keras.Input((8, 8, 3))
    model = Own(pixels, keras.layers.Dense(4, activation="softmax")(keras.layers.Flatten()(pixels)))
    model.compile("adam", "categorical_crossentropy")
    return model

class Unbuilt(keras.Model):
    def __init__(self):
        super().__init__()
        self.score = keras.layers.Dense(1)

    def call(self, x):
        return self.score(x)

class TwoLosses(Unbuilt):
    def compile(self, rate):
        super().compile()
        self.optimizer = keras.optimizers.SGD(rate)

    def train_step(self, data):
        import tensorflow as tf
        x, y = data
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((y - self(x)) ** 2)
        self.optimizer.apply_gradients(zip(tape.gradient(loss, self.trainable_weights), self.trainable_weights))
        return {"far": 100 - loss, "near": loss}

def unbuilt():
    model = Unbuilt()
    model.compile("adam", "mse")
    return model

def two_losses():
    model = TwoLosses()
    model.compile(0.05)
    return model

def labelled():
    import numpy as np
    import tensorflow as tf
    values = np.random.default_rng(0).normal(size=(64, 6)).astype("float32")
    return tf.data.Dataset.from_tensor_slices((values, values.sum(axis=1, keepdims=True)))

def batches():
    return labelled().batch(8)

def two_inputs():
    a, b = keras.Input((3,), name="a"), keras.Input((3,), name="b")
    model = keras.Model({"a": a, "b": b}, keras.layers.Dense(1)(keras.layers.concatenate([a, b])))
    model.compile(keras.optimizers.SGD(0.05), "mse")
    return model

def samples():
    import numpy as np
    import tensorflow as tf
    values = np.random.default_rng(0).normal(size=(64, 6)).astype("float32")
    inputs = {"a": values[:, :3], "b": values[:, 3:]}
    return tf.data.Dataset.from_tensor_slices((inputs, values.sum(axis=1, keepdims=True)))
"""
FAST = ("--launches", "1", "--format", "json", "--batch", "8")


@pytest.fixture
def models(tmp_path: Path) -> Path:
    path = tmp_path / "models.py"
    path.write_text(MODELS)
    return path


def train(model: object, *options: object) -> Called:
    few_images = () if "--data" in options else ("--samples", "64")
    return irbench_process("train", model, *FAST, *few_images, *options)


def test_a_step_has_its_parts_its_losses_and_effects(models: Path) -> None:
    called = train(f"{models}:compiled", "--xla", "off,on", "--prefetch", "0,auto")
    assert called.code == 0, called.err
    (table,) = called.document["groups"]
    assert len(table["cells"]) == 4
    for row in table["cells"]:
        assert [stage["name"] for stage in row["stages"]] == ["input", "step"]
        assert [part["name"] for part in row["step_parts"]] == [
            "whole", "input", "compute", "host", "forward", "backward", "optimizer", "beside",
        ]  # fmt: skip
        assert row["loss"]["last"] < row["loss"]["first"]
    assert [effect["settings"] for effect in table["effects"]] == [
        {"xla": "on"}, {"prefetch": "auto"}, {"xla": "on", "prefetch": "auto"},
    ]  # fmt: skip


def test_a_step_of_the_models_own_class_is_timed_whole(models: Path) -> None:
    called = train(f"{models}:own_step")
    assert called.code == 0, called.err
    (row,) = called.document["groups"][0]["cells"]
    assert row["stages"]
    assert [part["name"] for part in row["step_parts"]] == ["whole", "input", "compute"]


def test_a_step_with_several_losses_is_timed_once_one_is_chosen_that_must_fall(models: Path) -> None:
    called = train(f"{models}:two_losses", "--data", f"{models}:labelled")
    assert called.code == 2
    assert "reports far, near, and no loss" in called.err
    called = train(f"{models}:two_losses", "--data", f"{models}:labelled", "--check-metric", "near")
    assert called.code == 0, called.err
    (row,) = called.document["groups"][0]["cells"]
    assert (row["loss"]["metric"], row["loss"]["last"] < row["loss"]["first"]) == ("near", True)


def test_a_model_that_its_first_step_builds_is_timed_with_the_parts_of_its_step(models: Path) -> None:
    called = train(f"{models}:unbuilt", "--data", f"{models}:labelled", "--learning-rate", "0.1")
    assert called.code == 0, called.err
    (row,) = called.document["groups"][0]["cells"]
    assert "backward" in [part["name"] for part in row["step_parts"]]


def test_a_model_of_several_inputs_is_trained_on_a_dataset_of_the_users(models: Path) -> None:
    called = train(f"{models}:two_inputs", "--data", f"{models}:samples", "--precision", "fp32,mixed_bfloat16")
    assert called.code == 0, called.err
    assert [row["state"] for row in called.document["groups"][0]["cells"]] == ["ok", "ok"]


def test_a_row_that_does_not_train_has_a_reason_and_no_speed(models: Path) -> None:
    called = train(f"{models}:compiled", "--learning-rate", "1e-12")
    assert called.code == 2
    assert "not timed: the loss" in called.err


def test_a_run_that_was_killed_goes_on_without_checking_losses_again(models: Path, own_home: Path) -> None:
    options = ("--launches", "3", "--samples", "64", "--batch", "8")
    command = [sys.executable, "-m", "irbench", "train", f"{models}:compiled", *options]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as run:
        assert run.stderr is not None
        assert any("launch 1 done" in line for line in run.stderr)
        run.kill()
    store = Store(own_home / "results")
    (entry,) = store.listing().entries
    before = store.load(Path(entry.folder))
    assert (before.complete, entry.resumable) == (False, True)
    refused = irbench_process("run", "--resume")
    assert (refused.code, f"{models}:compiled" in refused.err, "--allow-own-code" in refused.err) == (2, True, True)
    called = irbench_process("run", "--resume", "--allow-own-code", "--format", "json")
    assert called.code == 0, called.err
    assert "checking that the loss" not in called.err
    assert (called.document["run_id"], called.document["complete"]) == (entry.run_id, True)
    assert {name: called.document["launches"][name] for name in before.launches} == dict(before.launches)
    assert len(called.document["launches"]) == 3
    assert called.document["groups"][0]["cells"][0]["loss"] is not None


@pytest.mark.parametrize(
    ("model", "options", "said"),
    [
        ("bare", (), "no loss"),
        ("bare", ("--loss", "sparse_crossentropy"), "sparse_crossentropy"),
        ("bare", ("--loss", "mse", "--optimizer", "adamm"), "adamm"),
        ("two_inputs", (), "image"),
        ("compiled", ("--device", "gpu"), "GPU"),
        ("unbuilt", (), "built by its first batch"),
        ("unbuilt", ("--data", "{file}:batches"), "dataset of batches"),
        ("compiled", ("--data", "{file}:labelled"), "incompatible"),
        ("compiled", ("--batch", "100"), "64 samples"),
    ],
)
def test_what_cannot_be_trained_is_refused_in_a_line(
    models: Path, model: str, options: tuple[str, ...], said: str
) -> None:
    called = train(f"{models}:{model}", *(option.format(file=models) for option in options))
    assert called.code == 2
    assert said in called.err
    assert "Traceback" not in called.err
    assert "in user code" not in called.err


def test_what_is_no_keras_model_is_refused_without_tensorflow(
    models: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "without" / "tensorflow").mkdir(parents=True)
    (tmp_path / "without" / "tensorflow" / "__init__.py").write_text("raise AssertionError('TensorFlow was imported')")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "without"), prepend=os.pathsep)
    (tmp_path / "net.onnx").touch()
    (tmp_path / "saved").mkdir()
    (tmp_path / "saved" / "saved_model.pb").touch()
    for name, said in {
        "net.onnx": "net.onnx is not a Keras model",
        "saved": "saved is not a Keras model",
        "nowhere.keras": "There is no file",
        "models.py:nothing": "nothing",
    }.items():
        called = train(tmp_path / name)
        assert (called.code, said in called.err.splitlines()[0]) == (2, True), called.err


def test_a_broken_image_is_named(models: Path, tmp_path: Path) -> None:
    for name in ("cat", "dog"):
        (tmp_path / "photos" / name).mkdir(parents=True)
        Image.new("RGB", (20, 10)).save(tmp_path / "photos" / name / "one.png")
    broken = tmp_path / "photos" / "dog" / "two.jpg"
    broken.write_bytes(b"not an image")
    called = train(f"{models}:compiled", "--data", tmp_path / "photos")
    assert called.code == 2
    assert str(broken) in called.err


def test_a_huge_file_among_the_images_is_refused_before_it_is_read(models: Path, tmp_path: Path) -> None:
    for name in ("cat", "dog"):
        (tmp_path / "photos" / name).mkdir(parents=True)
        Image.new("RGB", (20, 10)).save(tmp_path / "photos" / name / "one.png")
    (tmp_path / "photos" / "dog" / "zz.png").touch()
    os.truncate(tmp_path / "photos" / "dog" / "zz.png", 6 << 30)
    called = train(f"{models}:compiled", "--data", tmp_path / "photos")
    assert called.code == 2
    assert called.err.splitlines()[0].endswith("zz.png has 6.4 GB, and images have at most 0.27 GB.")


def test_images_are_trained_on_whose_names_are_not_utf_8(models: Path, tmp_path: Path) -> None:
    for name, colour in (("cat", "red"), ("dog", "blue")):
        (tmp_path / "photos" / name).mkdir(parents=True)
        for number in range(8):
            Image.new("RGB", (20, 10), colour).save(
                tmp_path / "photos" / name / os.fsdecode(b"caf\xe9-%d.png" % number)
            )
    called = train(f"{models}:compiled", "--data", tmp_path / "photos")
    assert called.code == 0, called.err


def test_a_folder_named_like_an_image_is_none(models: Path, tmp_path: Path) -> None:
    for name, colour in (("cat", "red"), ("dog", "blue")):
        folder = tmp_path / "photos" / name
        (folder / "folder.png").mkdir(parents=True)
        for number in range(8):
            Image.new("RGB", (20, 10), colour).save(folder / f"{number}.png")
    called = train(f"{models}:compiled", "--data", tmp_path / "photos")
    assert called.code == 0, called.err


def test_the_table_for_people_shows_input_compute_and_step_side_by_side(models: Path) -> None:
    called = irbench_process("train", f"{models}:compiled", "--launches", "1", "--samples", "64", "--batch", "8")
    assert called.code == 0, called.err
    assert all(heading in called.out for heading in ("step ms", "input ms", "compute ms"))


@pytest.mark.slow
def test_what_xprof_says_stands_below_what_was_measured_and_its_traces_are_kept(models: Path, own_home: Path) -> None:
    called = train(f"{models}:compiled", "--xprof")
    assert called.code == 0, called.err
    (table,) = called.document["step_traces"]
    if table["unread"] is not None:
        pytest.skip(f"xprof cannot be installed here: {table['unread']['message']}")
    (row,) = table["rows"]
    assert row["overview"]["steps"] >= 8
    assert {"Input", "Host compute"} <= row["overview"]["parts_ms"].keys()
    (entry,) = Store(own_home / "results").listing().entries
    assert (Path(entry.folder) / row["trace"]).stat().st_size > 0
    assert row["overview"]["conclusion"].split()[0] in irbench_process("show").out


@pytest.mark.slow
def test_without_xprof_the_measured_table_remains_and_a_line_says_why(
    models: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake_uv.install(tmp_path / "uv", {}, monkeypatch)
    called = train(f"{models}:compiled", "--xprof")
    assert called.code == 0, called.err
    assert "warning: rows are measured without xprof" in called.err
    (table,) = called.document["step_traces"]
    assert "xprof" in table["unread"]["message"]
    assert table["rows"][0]["trace"]
    assert called.document["groups"][0]["cells"][0]["step_parts"]
