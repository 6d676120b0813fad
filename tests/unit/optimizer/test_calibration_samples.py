"""As many different inputs as are asked for, whatever the batch, and none that is both calibrated and judged on."""

from dataclasses import replace
from pathlib import Path

import models
import numpy as np
import pytest

from irbench.core.feeds import write_sample
from irbench.optimizer.calibration_samples import CALIBRATION, EVALUATION, CheckSamples, halves
from irbench.spec import BATCH, Bundle, Feeding


@pytest.fixture
def bundle(tmp_path: Path) -> Bundle:
    artifact = models.mlp(tmp_path)
    return Bundle("mlp", models.logical_inputs(artifact), (artifact,), seed=5)


def feeds(made: CheckSamples):
    return made.feeds(made.artifact)


def samples(bundle: Bundle, least: int = 64, first_seed: int = EVALUATION, **bound: int) -> CheckSamples:
    artifact = bundle.artifacts[0]
    if bound:
        artifact = type(artifact)("onnx", artifact.path, tuple(tensor.bind(bound) for tensor in artifact.inputs), ())
    return CheckSamples(artifact, bundle, {BATCH: 1, **bound}, least, first_seed)


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


def written(folder: Path, bundle: Bundle, count: int) -> Feeding:
    paths = tuple(folder / f"{number}.npz" for number in range(count))
    for number, path in enumerate(paths):
        write_sample(path, bundle.inputs, {"pixels": np.full((2, 3, 8, 8), number, np.float32)})
    return Feeding(samples=paths)


def test_given_samples_take_the_place_of_generated_ones(bundle: Bundle, tmp_path: Path):
    given = replace(samples(bundle, 5, batch=2), feeding=written(tmp_path, bundle, 4))
    assert [feed[0].flat[0] for feed in feeds(given)] == [0, 1, 2]
    assert given.count == 6
    assert replace(given, min_count=64).count == 8


def test_no_graph_is_judged_on_the_samples_that_it_was_calibrated_on(bundle: Bundle, tmp_path: Path):
    calibration, evaluation = halves(written(tmp_path, bundle, 5))
    assert [path.stem for path in calibration.samples] == ["0", "3"]
    assert [path.stem for path in evaluation.samples] == ["1", "2", "4"]
    alone, too = halves(written(tmp_path, bundle, 1))
    assert alone.samples == too.samples


@pytest.mark.parametrize("classes", [2, 3, 4, 8])
@pytest.mark.parametrize("in_a_row", [1, 2, 3])
def test_both_halves_have_all_classes_in_whatever_order_these_repeat(classes: int, in_a_row: int) -> None:
    samples = tuple(Path(f"{place // in_a_row % classes}/{place}") for place in range(8 * classes * in_a_row))
    for half in halves(Feeding(samples=samples)):
        assert len(half.samples) == len(samples) / 2
        assert {sample.parent.name for sample in half.samples} == {str(label) for label in range(classes)}


def test_constants_stay_while_other_inputs_are_generated(bundle: Bundle):
    given = replace(samples(bundle, 16), feeding=Feeding(values={"pixels": (0.5,)}))
    assert all((feed[0] == 0.5).all() for feed in feeds(given))
