"""What the exporter draws, and the samples that it judges it by."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from irbench.errors import IrbenchError
from irbench.spi import ExportRequest
from irbench_tf import exporter, weights
from irbench_tf.loading import sources

pytestmark = pytest.mark.ci  # TensorFlow is imported in the process of the tests


def request(drawn: str | None) -> ExportRequest:
    return ExportRequest("cnn_cifar10", Path("unused"), 18, None, 0, drawn, "nchw")


def favour_one_class(model: Any) -> None:
    last = model.get_layer("predictions")
    for variable in last.weights:
        variable.assign(variable.numpy() * np.float32(0.05))
    last.bias.assign(last.bias.numpy() + 2.0 * np.eye(10, dtype=np.float32)[4])


def test_random_weights_that_give_every_sample_one_class_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    loaded = sources.load("cnn_cifar10")
    draw = weights.randomise

    def spoil(model: Any, seed: int, inputs: Any) -> None:
        draw(model, seed, inputs)
        favour_one_class(model)

    monkeypatch.setattr(weights, "randomise", spoil)
    with pytest.raises(IrbenchError, match="every sample the same class"):
        exporter.prepare_weights(loaded, request("random"), lambda _line: None)


def test_random_weights_are_fitted_to_as_many_samples_as_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    fitted: list[int] = []
    monkeypatch.setattr(weights, "fit", lambda _model, inputs: fitted.append(len(inputs[0])))
    with pytest.raises(IrbenchError):  # weights that were not fitted are not fit for a benchmark
        exporter.prepare_weights(sources.load("cnn_cifar10"), request("random"), lambda _line: None)
    assert fitted == [4]
