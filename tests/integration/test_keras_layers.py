"""Layers of Keras models at any depth, and those that are to be in training always."""

from __future__ import annotations

import pytest

from irbench_tf.layer_calls import called_in_training
from irbench_tf.loading.signatures import keras_inputs

pytestmark = pytest.mark.ci  # TensorFlow is imported in the process of the tests


@pytest.fixture(scope="module")
def keras():
    """Import Keras when a test needs it: the import takes seconds, which a mere listing of tests should not."""
    return pytest.importorskip("keras")


def test_layers_that_are_called_with_training_are_named_at_any_depth(keras):
    outer = keras.Input((4,))
    inner = keras.Input((4,))
    part = keras.Model(inner, keras.layers.Dropout(0.5, name="within")(inner, training=True), name="part")
    x = keras.layers.Dropout(0.5, name="usual")(outer)
    x = keras.layers.BatchNormalization(name="norm")(x, training=True)
    x = keras.layers.Dropout(0.5, name="stays off")(part(x), training=False)
    model = keras.Model(outer, x)
    assert called_in_training(model) == ("norm (BatchNormalization)", "within (Dropout)")
    assert called_in_training(keras.Sequential([keras.Input((4,)), keras.layers.Dropout(0.5)])) == ()


def test_the_ways_to_give_a_model_several_inputs_that_an_error_names_work(keras):
    class OfTwo(keras.Model):
        def call(self, inputs):
            first, second = inputs
            return first + keras.ops.sum(second, axis=1, keepdims=True)

    class OneAfterTheOther(keras.Model):
        def call(self, first, second):
            return first + keras.ops.sum(second, axis=1, keepdims=True)

    with pytest.raises(Exception, match="does not know the shapes of its inputs") as caught:
        keras_inputs(OfTwo())
    x = [keras.Input((16,), name="a"), keras.Input((8,), name="b")]
    assert "x = [keras.Input((16,), name='a'), keras.Input((8,), name='b')]" in caught.value.hint
    for model in (keras.Model(x, OfTwo()(x)), keras.Model(x, OneAfterTheOther()(*x))):
        assert [spec.tensor.name for spec in keras_inputs(model)[0]] == ["a", "b"]
