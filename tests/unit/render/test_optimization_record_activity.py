"""What an optimisation does now is said in words, with the model's name."""

from __future__ import annotations

from typing import get_args, get_type_hints

import pytest

from irbench.core.graph_record import OptimizerActivity
from irbench.render.optimized_graphs import in_words


@pytest.mark.parametrize(
    ("activity", "words"),
    [
        (OptimizerActivity("pass", "fold_shapes", "mlp"), "mlp: fold_shapes"),
        (OptimizerActivity("raise-opset", "20", "mlp"), "mlp: raising the operator set to 20"),
    ],
)
def test_an_activity_is_said_in_words(activity: OptimizerActivity, words: str) -> None:
    said: list[str] = []
    shown: list[str] = []
    in_words(said.append, shown.append)(activity)
    assert (said, shown) == ([], [words])


def test_a_graph_is_one_line_at_the_end_which_ends_the_status() -> None:
    said: list[str] = []
    shown: list[str] = []
    in_words(said.append, shown.append)(OptimizerActivity("done", "basic", "mlp", (19, 3), (22, 18)))
    assert shown == [""]
    assert said == ["mlp: optimised as basic: 22 to 18 nodes, changed by 3 of 19 steps (irbench optimize lists them)"]


def test_every_activity_has_words() -> None:
    codes = get_args(get_type_hints(OptimizerActivity)["code"])
    said: list[str] = []
    for code in codes:
        in_words(said.append, lambda text: said.append(text) if text else None)(
            OptimizerActivity(code, "fold_shapes", "mlp")
        )
    assert len(set(said)) == len(codes)
    assert all(words.removeprefix("mlp: ") for words in said)
