"""What an optimisation does now is said in words, with the model's name."""

from __future__ import annotations

from typing import get_args, get_type_hints

import pytest

from irbench.graph_record import OptimizerActivity
from irbench.render.optimize import in_words


@pytest.mark.parametrize(
    ("activity", "words"),
    [
        (OptimizerActivity("pass", "fold_shapes", "mlp"), "mlp: fold_shapes"),
        (OptimizerActivity("raise-opset", "20", "mlp"), "mlp: raising the operator set to 20"),
    ],
)
def test_an_activity_is_said_in_words(activity: OptimizerActivity, words: str) -> None:
    said: list[str] = []
    in_words(said.append)(activity)
    assert said == [words]


def test_every_activity_has_words() -> None:
    codes = get_args(get_type_hints(OptimizerActivity)["code"])
    said: list[str] = []
    for code in codes:
        in_words(said.append)(OptimizerActivity(code, "fold_shapes", "mlp"))
    assert len(set(said)) == len(codes)
    assert all(words.removeprefix("mlp: ") for words in said)
