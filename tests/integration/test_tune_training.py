"""A search among training settings of real Keras models, through the front door."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from front_door import Called, irbench_process

pytestmark = pytest.mark.slow

MODELS = """
import keras

class Deaf(keras.layers.Layer):
    def call(self, pixels):
        return pixels * (0.0 if self.compute_dtype == "bfloat16" else 1.0)

def compiled():
    model = keras.Sequential([keras.Input((8, 8, 3)), keras.layers.Flatten(), Deaf(), keras.layers.Dense(4)])
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile(keras.optimizers.Adam(0.01), loss)
    return model
"""
DATA = """
import numpy as np
import tensorflow as tf
files, labels = np.arange(8), np.arange(8) % 4
decode = lambda file, label: (tf.zeros((8, 8, 3)) + tf.cast(file, tf.float32), label)
"""


def tuned(folder: Path, *options: object, budget: str = "20s") -> Called:
    (folder / "models.py").write_text(MODELS)
    return irbench_process(
        "tune-training", folder / "models.py:compiled", "--samples", "64", "--batch", "8", "--workers", "auto",
        "--budget", budget, "--deadline", "300s", "--results", folder / "results", "--format", "json", *options,
    )  # fmt: skip


def test_a_setting_is_recommended_with_a_command_and_a_script_that_runs(tmp_path: Path) -> None:
    called = tuned(tmp_path, "--prefetch", "0,1,2", "--xla", "off")
    assert called.code == 0, called.err
    report = called.document
    assert report["is_training"]
    assert report["settings"] == 2
    confirmed = [report["leader"], *(other["setting"] for other in report["alternatives"])]
    assert {"prefetch": "0"} in [setting["options"] for setting in confirmed]
    assert report["command"][:2] == ["irbench", "train"]
    again = irbench_process(*report["command"][1:], "--launches", "1", "--format", "json")
    assert again.code == 0, again.err
    script = subprocess.run([sys.executable, "-c", f"{DATA}\n{report['code']}"], cwd=tmp_path, check=False)
    assert script.returncode == 0


def test_what_does_not_train_is_not_confirmed_and_says_why(tmp_path: Path) -> None:
    called = tuned(tmp_path, "--prefetch", "auto", "--xla", "off", "--precision", "fp32,mixed_bfloat16", budget="4m")
    assert called.code == 0, called.err
    (refused,) = (other for other in called.document["alternatives"] if other["failure"])
    assert refused["setting"]["options"] == {"precision": "mixed_bfloat16"}
    assert refused["failure"].startswith("the loss ")
    assert called.document["setting"]["options"] == {"precision": "fp32"}


def test_a_single_setting_is_nothing_to_search(tmp_path: Path) -> None:
    called = tuned(tmp_path, "--prefetch", "0", "--xla", "off")
    assert called.code == 2
    assert "one setting" in called.err
