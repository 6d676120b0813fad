import hashlib
import subprocess
import sys

import numpy as np
import pytest

from irbench.core.feeds import generate
from irbench.spec import BATCH
from irbench_tf.layer_calls import every_layer, intercept, run
from irbench_tf.weights import randomise
from irbench_zoo.plain_cnns import cnn_cifar10

pytestmark = pytest.mark.ci  # TensorFlow is imported in the process of the tests


def samples(source=cnn_cifar10, batch=4):
    return generate(source.inputs, {BATCH: batch, **source.defaults}, 0)


def randomised(model, seed=0, inputs=None):
    randomise(model, seed, samples() if inputs is None else inputs)
    return [variable.numpy() for variable in model.weights]


def residual_network():
    """Every kind of layer the zoo's networks normalise, gate or merge with, eight pixels wide."""
    import keras
    from keras import layers

    pixels = keras.Input((16, 16, 3), name="image")
    x = layers.Normalization(name="scaled")(pixels)
    x = layers.Conv2D(8, 3, padding="same", name="stem")(x)
    skip = layers.BatchNormalization(name="stem_norm")(x)
    x = layers.ReLU()(skip)
    x = layers.DepthwiseConv2D(3, padding="same", use_bias=False, name="depthwise")(x)
    x = layers.BatchNormalization(name="depthwise_norm")(x)
    gate = layers.GlobalAveragePooling2D(keepdims=True)(x)
    gate = layers.Conv2D(8, 1, activation="sigmoid", name="gate")(gate)
    x = layers.add([skip, layers.multiply([x, gate])])
    scores = layers.Dense(10, activation="softmax", name="scores")(layers.GlobalAveragePooling2D()(x))
    return keras.Model(pixels, scores)


IMAGES = (np.random.default_rng(1).uniform(0, 255, (4, 16, 16, 3)).astype(np.float32),)


def test_equal_seeds_give_equal_weights():
    for first, second in zip(randomised(cnn_cifar10.build()), randomised(cnn_cifar10.build()), strict=True):
        assert np.array_equal(first, second)


@pytest.mark.ci
def test_equal_seeds_give_equal_weights_in_another_process():
    program = (
        "import hashlib\n"
        "from irbench.core.feeds import generate\n"
        "from irbench_tf.weights import randomise\n"
        "from irbench_zoo.plain_cnns import cnn_cifar10 as source\n"
        "model = source.build()\n"
        "randomise(model, 3, generate(source.inputs, {'batch': 4}, 0))\n"
        "print(hashlib.sha256(b''.join(one.numpy().tobytes() for one in model.weights)).hexdigest())\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    here = hashlib.sha256(b"".join(item.tobytes() for item in randomised(cnn_cifar10.build(), 3))).hexdigest()
    assert done.stdout.strip() == here


def test_another_seed_changes_every_weight():
    model = cnn_cifar10.build()
    for first, second in zip(randomised(model, 0), randomised(model, 1), strict=True):
        assert not np.allclose(first, second)


def test_what_the_model_held_before_does_not_matter():
    model = cnn_cifar10.build()
    first = randomised(model)
    for variable in model.weights:
        variable.assign(variable.numpy() * 100.0)
    for before, after in zip(first, randomised(model), strict=True):
        assert np.array_equal(before, after)


def test_biases_and_statistics_would_show_a_wrong_fusion():
    model = residual_network()
    randomised(model, inputs=IMAGES)
    for variable in model.weights:
        if variable.name in {"bias", "gamma", "beta", "moving_mean", "moving_variance", "mean", "variance"}:
            values = variable.numpy()
            assert np.std(values) > 0.01, variable.path
            assert not np.any(np.isin(values, (0.0, 1.0))), variable.path
    assert all(np.all(weight.numpy() > 0) for weight in model.weights if weight.name in {"moving_variance", "variance"})


def test_each_weighted_layer_gives_signals_of_ordinary_size():
    model = residual_network()
    randomised(model, inputs=IMAGES)
    sizes = {}

    def around(layer, call, *args, **kwargs):
        outputs = call(*args, **kwargs)
        sizes[layer.name] = float(np.sqrt(np.mean(np.square(outputs))))
        return outputs

    with intercept(model, around):
        run(model, IMAGES)
    for name in ("stem", "stem_norm", "depthwise", "depthwise_norm"):
        assert 0.5 < sizes[name] < 2.5, (name, sizes[name])


def test_a_model_leaves_as_it_came_but_for_its_weights():
    model = residual_network()
    before = model.get_config()
    randomised(model, inputs=IMAGES)
    assert model.get_config() == before
    assert not any("call" in vars(layer) for layer in every_layer(model))


def test_layers_are_whole_again_after_a_failure():
    model = residual_network()
    with pytest.raises(Exception, match=r"incompatible|shape"):
        randomise(model, 0, (np.zeros((4, 5), np.float32),))
    assert not any("call" in vars(layer) for layer in every_layer(model))


def test_a_subclassed_model_is_fitted_too():
    import keras

    class Small(keras.Model):
        def __init__(self):
            super().__init__()
            self.hidden = keras.layers.Dense(32, activation="relu")
            self.scores = keras.layers.Dense(10, activation="softmax")

        def call(self, values):
            return self.scores(self.hidden(values))

    values = np.random.default_rng(0).normal(scale=1000.0, size=(8, 20)).astype(np.float32)
    model = Small()
    model(values)
    randomised(model, inputs=(values,))
    scores = np.asarray(model(values))
    assert 0.1 < np.median(scores.max(axis=-1)) < 0.999
    assert len(set(scores.argmax(axis=-1))) > 1


def test_recurrent_states_do_not_saturate():
    import keras
    from keras import layers

    ids = keras.Input((6,), dtype="int32", name="tokens")
    states = layers.LSTM(32, return_sequences=True, name="states")(layers.Embedding(50, 16)(ids))
    model = keras.Model(ids, layers.Dense(50)(states))
    tokens = np.random.default_rng(0).integers(0, 50, (4, 6)).astype(np.int32)
    randomised(model, inputs=(tokens,))
    values = np.abs(np.asarray(keras.Model(ids, states)(tokens)))
    assert np.mean(values > 0.95) < 0.01
    assert np.median(values) > 0.02


def test_samples_get_classes_of_their_own():
    model = cnn_cifar10.build()
    randomised(model)
    scores = np.asarray(run(model, samples(batch=8)))
    entropy = -(scores * np.log(scores)).sum(axis=-1)
    assert len(set(scores.argmax(axis=-1))) >= 3
    assert np.all(entropy > 0.05)
    assert np.all(entropy < np.log(10) - 0.05)


def test_logits_of_a_tied_embedding_are_of_ordinary_size():
    import keras
    from keras import layers

    ids = keras.Input((6,), dtype="int32", name="tokens")
    words = layers.ReversibleEmbedding(97, 256)
    model = keras.Model(ids, words(layers.LayerNormalization()(words(ids)), reverse=True))
    tokens = (np.random.default_rng(1).integers(0, 97, (4, 6)).astype(np.int32),)
    randomised(model, inputs=tokens)
    assert 0.5 < np.std(run(model, tokens)) < 2


def test_a_layer_that_is_called_with_keywords_alone_is_fitted_too():
    import keras
    from keras import layers

    class Branch(layers.Layer):
        def __init__(self):
            super().__init__()
            self.dense = layers.Dense(8)

        def call(self, features):
            return self.dense(inputs=features)

    features = keras.Input((16,), name="features")
    model = keras.Model(features, Branch()(features=features))
    rows = np.random.default_rng(1).normal(0, 100, (64, 16)).astype(np.float32)
    randomise(model, 0, (rows,))
    assert 0.5 < np.std(np.asarray(run(model, (rows,)))) < 2
