import gc
import math
import os
from functools import partial

import numpy as np
import pytest
from zoo_parts import MOST_MACS, skipped_without_its_parts

import irbench_zoo
from irbench.core.feeds import POOL, generate
from irbench.spec import BATCH
from irbench_tf.activations import check_activations
from irbench_tf.layer_calls import run
from irbench_tf.weights import randomise
from irbench_zoo.applications import build_application

# Read when TensorFlow is first imported.
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

pytestmark = pytest.mark.slow

SOURCES = {source.name: source for source in irbench_zoo.models()}
SMALLEST = {source.family: source.name for source in sorted(SOURCES.values(), key=lambda item: -(item.parameters or 0))}
"""One of each family stands for it where every model would take hours."""


def models(names, most_macs=math.inf):
    return [pytest.param(name, marks=marks_of(name, most_macs)) for name in sorted(names)]


def marks_of(name, most_macs):
    theirs = pytest.mark.filterwarnings("ignore::UserWarning:keras.*")  # of keras-hub's layers
    has_smaller_one = name not in SMALLEST.values()
    is_large = (SOURCES[name].macs or 0) > most_macs
    return (
        *skipped_without_its_parts(name),
        *([theirs] if SOURCES[name].requires else []),
        *([pytest.mark.zoo] if is_large or has_smaller_one else []),
    )


def named_by_keras(tensor):
    """Whether the author of a model gave an input no name: Keras numbers such inputs over the whole process."""
    return tensor.name.startswith("keras_tensor")


@pytest.fixture
def build():
    """Builds zoo models and forgets them afterwards: together they would not fit into a small machine."""
    import keras

    yield lambda name: SOURCES[name].build()
    keras.backend.clear_session()
    gc.collect()


def tokens_or_pixels(source, batch, seed=0):
    return generate(source.inputs, {BATCH: batch, **source.defaults}, seed)


@pytest.mark.parametrize("name", models(SOURCES))
def test_a_model_is_what_its_source_says(name, build):
    source, model = SOURCES[name], build(name)
    names = [spec.tensor.name for spec in source.inputs]
    assert [
        name if named_by_keras(tensor) else tensor.name for tensor, name in zip(model.inputs, names, strict=True)
    ] == names
    for tensor, spec in zip(model.inputs, source.inputs, strict=True):
        assert tensor.dtype == spec.tensor.dtype
        assert [size or "free" for size in tensor.shape] == [
            size if isinstance(size, int) else "free" for size in spec.tensor.shape
        ]
    assert model.count_params() == source.parameters
    if isinstance(source.build, partial) and source.build.func is build_application:
        assert source.summary.startswith(f"{longest_way(model)} layers, ")


def longest_way(model) -> int:
    """Return how many kernels a signal passes at most."""
    passed: dict[int, int] = {}
    for layer in model.operations:
        kernels = sum(weight.name.endswith("kernel") for weight in getattr(layer, "weights", ()))
        for node in layer._inbound_nodes:
            before = max((passed[id(input_tensor)] for input_tensor in node.input_tensors), default=0)
            passed |= {id(tensor): before + kernels for tensor in node.outputs}
    return max(passed[id(tensor)] for tensor in model.outputs)


@pytest.mark.parametrize("name", models(SMALLEST.values(), most_macs=MOST_MACS))
def test_seeded_weights_make_a_model_that_a_runtime_can_be_judged_by(name, build):
    from keras import tree

    source, model = SOURCES[name], build(name)
    for seed in (0, 1):
        samples = tokens_or_pixels(source, POOL, seed)
        randomise(model, seed, tokens_or_pixels(source, 4, seed))
        report = check_activations(model, samples, classifier=source.classifier)
        for variable in model.weights:
            if variable.name in {"bias", "gamma", "beta", "moving_mean", "moving_variance"}:
                assert np.std(variable.numpy()) > 0.01 or np.size(variable) == 1, variable.path
        assert (report.classes is not None) == source.classifier
        first, second, *_ = np.asarray(tree.flatten(run(model, samples))[0])
        assert np.max(np.abs(first - second)) > 0.01 * np.max(np.abs(first))


@pytest.mark.parametrize("name", ["densenet121", "efficientnet_b0", "resnet50", "transformer_base"])
def test_rounding_errors_do_not_grow_on_their_way_through(name, build):
    source, model = SOURCES[name], build(name)
    samples = tokens_or_pixels(source, 4)
    randomise(model, 0, samples)
    exact = np.asarray(run(model, samples))
    generator = np.random.default_rng(0)
    for variable in model.weights:
        values = variable.numpy()
        if values.dtype == np.float32:
            variable.assign(values * (1 + 1e-6 * generator.uniform(-1, 1, values.shape).astype(np.float32)))
    assert np.max(np.abs(np.asarray(run(model, samples)) - exact)) < 2e-4 * np.max(np.abs(exact))
