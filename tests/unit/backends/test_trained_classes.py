"""Losses tell which outputs of a Keras model hold scores of classes."""

from __future__ import annotations

from typing import Any

import pytest

from irbench_tf.loading.signatures import trains_classes


class Own:
    """A loss of the user's."""


class CategoricalFocalCrossentropy:
    """Called as one of Keras's."""


@pytest.mark.parametrize(
    ("losses", "known"),
    [
        (None, (None, None)),
        ("sparse_categorical_crossentropy", (True, True)),
        ({"box": "mse", "label": CategoricalFocalCrossentropy()}, (False, True)),
        ({"label": {"class_name": "SparseCategoricalCrossentropy", "config": {}}}, (None, True)),
        ([Own(), "binary_crossentropy"], (None, False)),
        (["mse"], (None, None)),
        ({"class_name": "MeanSquaredError", "config": {}}, (False, False)),
    ],
    ids=["none", "one for all", "by name", "of a file", "by place", "too few", "one of a file"],
)
def test_a_loss_is_of_classes_of_numbers_or_not_known(losses: Any, known: tuple[bool | None, ...]) -> None:
    assert trains_classes(losses, ("box", "label")) == known
