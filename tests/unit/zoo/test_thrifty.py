import gc
import weakref

import numpy as np
import pytest

from irbench_tf.layer_calls import every_layer, release_early, run

pytestmark = pytest.mark.ci  # TensorFlow is imported in the process of the tests

IMAGES = (np.linspace(-1, 1, 2 * 4 * 4 * 3, dtype=np.float32).reshape(2, 4, 4, 3),)


@pytest.fixture
def keras():
    return pytest.importorskip("keras")


def branching(keras):
    """A skip over two layers, an output in the middle, and a layer that is called twice."""
    image = keras.Input((4, 4, 3))
    early = keras.layers.Conv2D(3, 1, name="early")(image)
    twice = keras.layers.Activation("relu")
    late = keras.layers.Add()([twice(keras.layers.Conv2D(3, 1)(early)), twice(early)])
    return keras.Model(image, [early, keras.layers.Flatten()(late)])


def nested(keras):
    inner = keras.Sequential([keras.Input((4, 4, 3)), keras.layers.Conv2D(2, 3), keras.layers.ReLU()])
    image = keras.Input((4, 4, 3))
    return keras.Model(image, keras.layers.Flatten()(inner(image)))


@pytest.mark.parametrize("build", [branching, nested])
def test_what_is_released_changes_no_answer(keras, build):
    model = build(keras)
    expected = keras.tree.flatten(model(IMAGES[0], training=False))
    given = keras.tree.flatten(run(model, IMAGES))
    for item, right in zip(given, expected, strict=True):
        np.testing.assert_array_equal(item, right)


@pytest.mark.ci
def test_a_tensor_is_gone_once_its_last_reader_has_run(keras):
    image = keras.Input((4, 4, 3))
    layers = [keras.layers.Conv2D(3, 1, name=f"conv{number}") for number in range(5)]
    answer = image
    for layer in layers:
        answer = layer(answer)
    model = keras.Model(image, answer)
    given: list[weakref.ref[object]] = []
    alive: list[int] = []

    for layer in layers:

        def remember(tensor, call=layer.call):
            gc.collect()
            alive.append(sum(item() is not None for item in given))
            output = call(tensor)
            given.append(weakref.ref(output))
            return output

        layer.call = remember
    run(model, IMAGES)
    assert max(alive) == 1  # the layer's own input


def test_a_model_keeps_its_own_way_of_running_afterwards(keras):
    model = branching(keras)
    with release_early([model, *every_layer(model)]):
        assert "_run_through_graph" in vars(model)
    assert "_run_through_graph" not in vars(model)
