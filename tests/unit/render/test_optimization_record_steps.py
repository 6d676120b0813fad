"""The table of passes, at every width."""

from __future__ import annotations

import pytest
from rich.console import Console

from irbench.core.graph_record import GraphStep, Obstacle
from irbench.render.optimized_graphs import steps_view

PLAIN = {"Add": 20, "Gelu": 6, "LayerNormalization": 12}
SKIPPED = {"Add": 8, "com.microsoft.SkipLayerNormalization": 12, "com.microsoft.Gelu": 6}
STEPS = (
    GraphStep("original", False, PLAIN),
    GraphStep("fuse_skip_layer_normalization", True, SKIPPED, 2e-6, "com.microsoft"),
    GraphStep("raise_opset", False, SKIPPED, obstacle=Obstacle("opset-not-raised", 17, "Upsample 9 to 10 has no way")),
)


def shown(width: int) -> str:
    console = Console(width=width)
    with console.capture() as capture:
        console.print(steps_view("bert", "all", STEPS, (17, 17)))
    return capture.get()


@pytest.mark.parametrize("width", [60, 80, 120, 200])
def test_what_changed_is_never_cut(width: int) -> None:
    lines = shown(width).splitlines()
    assert max(map(len, lines)) <= width
    text = " ".join(" ".join(lines).split())
    for words in ("+12 SkipLayerNormalization,", "-12 Add,", "-12 LayerNormalization", "-12", "skipped"):
        assert words in text
    assert "cut at column" not in text


def test_a_domain_is_said_of_an_operator_only_where_another_has_its_name() -> None:
    assert "+6 com.microsoft.Gelu, -12 Add" in shown(200)
    assert "uses operators of com.microsoft" in shown(200)


def test_columns_without_room_are_named() -> None:
    assert "hidden, the terminal is too narrow: nodes, max err; see --format json" in " ".join(shown(60).split())
    assert "hidden" not in shown(80)
