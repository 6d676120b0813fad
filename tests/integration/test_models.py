import gc
import os
from collections import Counter
from importlib.metadata import entry_points

import numpy as np
import pytest

from irbench.feeds import POOL, generate
from irbench.spec import BATCH
from irbench_tf.activations import check_activations
from irbench_tf.layers import run
from irbench_tf.weights import randomise

# Read when TensorFlow is first imported.
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

pytestmark = pytest.mark.slow

POINTS = {point.name: point for point in entry_points(group="irbench.models")}
PARAMETERS = {
    "alexnet": 61_100_840,
    "cnn_cifar10": 122_570,
    "densenet121": 8_062_504,
    "efficientnet_b0": 5_330_571,
    "inception_v3": 23_851_784,
    "lstm_ptb_1": 28_882_704,
    "lstm_ptb_2": 37_275_408,
    "lstm_ptb_4": 54_060_816,
    "mobilenet_v2": 3_538_984,
    "resnet50": 25_636_712,
    "resnet152": 60_419_944,
    "transformer_base": 37_858_304,
    "vgg16": 138_357_544,
}


@pytest.fixture
def build():
    """Builds zoo models and forgets them afterwards: together they would not fit into a small machine."""
    import keras

    yield lambda name: POINTS[name].load().build()
    keras.backend.clear_session()
    gc.collect()


def tokens_or_pixels(source, batch, seed=0):
    return generate(source.inputs, {BATCH: batch, **source.defaults}, seed)


@pytest.mark.parametrize("name", sorted(POINTS))
def test_a_model_takes_what_its_source_says(name, build):
    source, model = POINTS[name].load(), build(name)
    assert [one.name for one in model.inputs] == [spec.tensor.name for spec in source.inputs]
    for one, spec in zip(model.inputs, source.inputs, strict=True):
        assert one.dtype == spec.tensor.dtype
        assert [size or "free" for size in one.shape] == [
            size if isinstance(size, int) else "free" for size in spec.tensor.shape
        ]
    assert name not in PARAMETERS or model.count_params() == PARAMETERS[name]


@pytest.mark.parametrize("name", sorted(POINTS))
@pytest.mark.parametrize("seed", [0, 1])
def test_seeded_weights_make_a_model_that_a_runtime_can_be_judged_by(name, seed, build):
    source, model = POINTS[name].load(), build(name)
    samples = tokens_or_pixels(source, POOL, seed)
    randomise(model, seed, tokens_or_pixels(source, 4, seed))
    report = check_activations(model, samples, classifier=source.classifier)
    for variable in model.weights:
        if variable.name in {"bias", "gamma", "beta", "moving_mean", "moving_variance"}:
            assert np.std(variable.numpy()) > 0.01, variable.path
    assert (report.classes is not None) == source.classifier
    first, second, *_ = np.asarray(run(model, samples))
    assert np.max(np.abs(first - second)) > 0.01 * np.max(np.abs(first))


@pytest.mark.parametrize("name", ["densenet121", "efficientnet_b0", "resnet50", "transformer_base"])
def test_rounding_errors_do_not_grow_on_their_way_through(name, build):
    source, model = POINTS[name].load(), build(name)
    samples = tokens_or_pixels(source, 4)
    randomise(model, 0, samples)
    exact = np.asarray(run(model, samples))
    generator = np.random.default_rng(0)
    for variable in model.weights:
        values = variable.numpy()
        if values.dtype == np.float32:
            variable.assign(values * (1 + 1e-6 * generator.uniform(-1, 1, values.shape).astype(np.float32)))
    assert np.max(np.abs(np.asarray(run(model, samples)) - exact)) < 2e-4 * np.max(np.abs(exact))


def converted(model, monkeypatch) -> Counter[str]:
    """Return how often each operator stands in the graph that tf2onnx makes."""
    import tensorflow as tf
    import tf2onnx

    # tf2onnx keeps weights outside the graph with a function that NumPy 2 has no more.
    monkeypatch.setattr(np, "product", np.prod, raising=False)
    signature = [tf.TensorSpec(one.shape, one.dtype, one.name) for one in model.inputs]
    function = tf.function(lambda values: model(values, training=False), input_signature=signature)
    proto, _ = tf2onnx.convert.from_function(function, signature, opset=18, large_model=True)
    return Counter(node.op_type for node in proto.graph.node)


@pytest.mark.parametrize("depth", [1, 2, 4])
def test_recurrent_layers_become_onnx_lstm_nodes(depth, build, monkeypatch):
    operators = converted(build(f"lstm_ptb_{depth}"), monkeypatch)
    assert operators["LSTM"] == depth
    assert not operators.keys() & {"Loop", "Scan", "If"}


def test_the_transformer_has_no_einsum(build, monkeypatch):
    operators = converted(build("transformer_base"), monkeypatch)
    assert operators["Einsum"] == 0
    assert operators["Softmax"] == 6
    assert operators["MatMul"] == 6 * 8
