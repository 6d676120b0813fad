"""Whether a cell still fits into memory beside those that are loaded."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import models

from irbench.runner.launch_state import needs_split
from irbench.spec import Cell, GraphFiles, Load


def test_a_cell_that_does_not_fit_beside_two_others_asks_for_a_split(tmp_path: Path) -> None:
    cell = Cell("third", models.mlp(tmp_path), "fake-a", "cpu", Load())
    assert needs_split(cell, [4_000_000_000, 1_000_000_000], 3_000_000_000)
    assert not needs_split(cell, [4_000_000_000, 1_000_000_000], 5_000_000_000)
    assert not needs_split(cell, [4_000_000_000], 1)


def test_weights_outside_a_graph_count_towards_what_a_cell_will_need(tmp_path: Path) -> None:
    artifact = replace(models.mlp(tmp_path), files=GraphFiles("", 1_000_000_000))
    cell = Cell("third", artifact, "fake-a", "cpu", Load())
    assert needs_split(cell, [1, 1], 3_000_000_000)
    assert not needs_split(cell, [1, 1], 4_000_000_000)
