"""As many different inputs as are asked for, whatever the batch, and none that is both calibrated and judged on."""

from pathlib import Path

import models
import numpy as np
import pytest

from irbench.optimizer.samples import CALIBRATION, EVALUATION, Samples
from irbench.spec import BATCH, Bundle


@pytest.fixture
def bundle(tmp_path: Path) -> Bundle:
    artifact = models.mlp(tmp_path)
    return Bundle("mlp", models.logical_inputs(artifact), (artifact,), seed=5)


def feeds(made: Samples):
    return made.feeds(made.artifact)


def samples(bundle: Bundle, least: int = 64, first_seed: int = EVALUATION, **bound: int) -> Samples:
    artifact = bundle.artifacts[0]
    if bound:
        artifact = type(artifact)("onnx", artifact.path, tuple(tensor.bind(bound) for tensor in artifact.inputs), ())
    return Samples(artifact, bundle, {BATCH: 1, **bound}, least, first_seed)


@pytest.mark.parametrize("bound", [{}, {"batch": 1}, {"batch": 3}, {"batch": 20}])
def test_inputs_are_all_different_and_at_least_so_many(bundle: Bundle, bound: dict[str, int]):
    made = samples(bundle, 10, **bound)
    images = np.concatenate([feed[0] for feed in feeds(made)])
    assert len(np.unique(images.reshape(len(images), -1), axis=0)) == made.count >= 10


def test_a_batch_that_is_free_is_filled(bundle: Bundle):
    assert [feed[0].shape[0] for feed in feeds(samples(bundle, 20))] == [8, 8, 8]


def test_they_are_the_same_each_time(bundle: Bundle):
    made = samples(bundle, 8)
    for (first,), (second,) in zip(feeds(made), feeds(made), strict=True):
        assert (first == second).all()


def test_nothing_is_judged_on_what_it_was_calibrated_on(bundle: Bundle):
    judged, calibrated = (next(feeds(samples(bundle, 8, seed)))[0] for seed in (EVALUATION, CALIBRATION))
    assert not (judged == calibrated).any()
