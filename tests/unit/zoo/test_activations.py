import numpy as np
import pytest

from irbench.core.feeds import generate
from irbench.errors import IrbenchError
from irbench_tf.activations import check_activations, inspect_activations
from irbench_tf.weights import randomise
from irbench_zoo.plain_cnns import cnn_cifar10

pytestmark = pytest.mark.ci  # TensorFlow is imported in the process of the tests

SAMPLES = generate(cnn_cifar10.inputs, {"batch": 8}, 0)


@pytest.fixture
def model():
    built = cnn_cifar10.build()
    randomise(built, 0, SAMPLES)
    return built


def scale(model, layer, factor):
    for variable in model.get_layer(layer).weights:
        variable.assign(variable.numpy() * np.float32(factor))


def problems(model):
    return inspect_activations(model, SAMPLES, classifier=True).problems


def test_a_randomised_model_is_clean_and_every_layer_was_seen(model):
    report = check_activations(model, SAMPLES, classifier=True)
    assert {layer.name for layer in report.layers} >= {"conv1", "pool1", "conv3", "dense1", "predictions"}
    assert report.classes is not None
    assert report.classes.answers == 8
    assert report.classes.distinct > 1


def test_signals_that_shrink_towards_subnormal_numbers_are_named(model):
    scale(model, "conv2", 1e-32)
    assert any("conv2" in problem and "slow a runtime" in problem for problem in problems(model))


def test_signals_that_overflow_half_precision_are_named(model):
    scale(model, "conv2", 1e6)
    assert any("conv2 gives values as large as" in problem for problem in problems(model))


@pytest.mark.parametrize(("low", "found"), [(-1e9, ()), (-np.inf, ("layer masked gives NaN or infinity",))])
def test_the_finite_number_that_hides_scores_is_no_signal_that_overflows(low, found):
    import keras

    scores = keras.Input((4,))
    hidden = keras.layers.Lambda(lambda x: keras.ops.where(x > 0, x, low), name="masked")(scores)
    masked = keras.Model(scores, keras.layers.Softmax()(hidden))
    samples = [np.random.default_rng(0).standard_normal((8, 4), np.float32) + np.float32([2, 0, 0, 0])]
    assert inspect_activations(masked, samples, classifier=False).problems[:1] == found


def test_nan_is_named(model):
    scale(model, "conv3", np.nan)
    assert any("conv3 gives NaN" in problem for problem in problems(model))


def test_a_dead_layer_is_named(model):
    bias = model.get_layer("conv1").bias
    bias.assign(np.full(bias.shape, -1e3, np.float32))
    assert any("conv1 are zero" in problem for problem in problems(model))


def test_a_saturated_classifier_is_named(model):
    scale(model, "predictions", 1000.0)
    assert any("saturated" in problem for problem in problems(model))


def test_a_flat_classifier_is_named(model):
    scale(model, "predictions", 1e-6)
    assert any("undecided" in problem for problem in problems(model))


def test_a_classifier_with_one_answer_for_all_is_named(model):
    scale(model, "predictions", 0.05)
    bias = model.get_layer("predictions").bias
    bias.assign(bias.numpy() + 2.0 * np.eye(10, dtype=np.float32)[4])
    assert any("every sample the same class" in problem for problem in problems(model))


def test_classes_are_not_judged_where_there_are_none(model):
    scale(model, "predictions", 1000.0)
    report = inspect_activations(model, SAMPLES, classifier=False)
    assert report.classes is None
    assert not report.problems


def test_the_check_says_what_is_wrong_and_what_to_do(model):
    scale(model, "conv2", 1e6)
    with pytest.raises(IrbenchError, match=r"The activations of cnn_cifar10 are not fit .*conv2 .* more\)\.") as caught:
        check_activations(model, SAMPLES, classifier=True)
    assert "--seed" in caught.value.hint
