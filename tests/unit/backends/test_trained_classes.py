"""Losses tell which outputs of a Keras model hold scores of classes."""

from __future__ import annotations

from typing import Any

import pytest

from irbench_tf.loading.signatures import trains_classes


class Own:
    """A loss of the user's."""


class CategoricalFocalCrossentropy:
    """Called as one of Keras's."""


def function(name: object) -> dict[str, object]:
    """Return a function as a file stores it."""
    return {"module": "builtins", "class_name": "function", "config": name, "registered_name": "function"}


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
        ({"box": function("mean_squared_error"), "label": function("categorical_crossentropy")}, (False, True)),
        ({"box": function("distance"), "label": function("ours>sparse_categorical_focal")}, (None, True)),
        ({"box": function("mean_squared_error>ours"), "label": function({"a": 1})}, (None, None)),
    ],
    ids=[
        *("none", "one for all", "by name", "of a file", "by place", "too few", "one of a file"),
        *("functions of a file", "functions of the user's", "registered in a package called as a loss"),
    ],
)
def test_a_loss_is_of_classes_of_numbers_or_not_known(losses: Any, known: tuple[bool | None, ...]) -> None:
    assert trains_classes(losses, ("box", "label")) == known
