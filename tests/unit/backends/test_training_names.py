"""A loss or an optimizer that Keras does not have is answered by those that it has."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from irbench.errors import IrbenchError
from irbench.spec.training import TrainedModel
from irbench_tf.training.models import known_losses, known_optimizers, load_trained

pytestmark = pytest.mark.ci


def test_each_name_that_is_told_is_one_that_keras_makes() -> None:
    import keras

    assert {"sparse_categorical_crossentropy", "mean_squared_error", "huber"} <= set(known_losses())
    assert not {"get", "serialize", "deserialize"} & set(known_losses())
    assert {"adam", "sgd"} <= set(known_optimizers())
    assert all(callable(keras.losses.get(name)) for name in known_losses())
    assert all(isinstance(keras.optimizers.get(name), keras.optimizers.Optimizer) for name in known_optimizers())


@pytest.mark.parametrize(
    ("asked", "flag", "known"),
    [
        (TrainedModel("cnn_cifar10", loss="no-such"), "`--loss ", known_losses),
        (TrainedModel("cnn_cifar10", optimizer="no-such"), "`--optimizer ", known_optimizers),
    ],
)
def test_an_unknown_name_is_answered_by_all_names_and_an_example(
    asked: TrainedModel, flag: str, known: Callable[[], list[str]]
) -> None:
    with pytest.raises(IrbenchError, match="no-such") as caught:
        load_trained(asked)
    hint = caught.value.hint or ""
    assert flag in hint
    assert all(name in hint for name in known())
