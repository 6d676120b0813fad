"""Which form of its graph each row runs where an optimised graph has dynamic shapes only."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import launches

from irbench.notices.notes import GraphUnbound
from irbench.runner.plan import Forms, alike
from irbench.spec import Artifact

BOUND = Artifact("onnx", Path("/scratch/bound/m.onnx"), (), ())
DYNAMIC = replace(BOUND, path=Path("/models/m.onnx"))
OPTIMISED = replace(BOUND, path=Path("/optimized/m.onnx"), variant="basic")


def forms() -> Forms:
    """Return a row with a bound graph, one with an optimised dynamic graph, and one that cannot be bound."""
    plain, optimised, framework = launches.group("plain", "optimised", "framework").cells
    cells = (replace(plain, artifact=BOUND), replace(optimised, artifact=OPTIMISED, dynamic=True), framework)
    return Forms(cells, {"plain": DYNAMIC})


def test_all_rows_that_can_run_dynamic_shapes() -> None:
    found = alike(forms(), {"basic": "ShapeInferenceError"})
    assert [(cell.artifact, cell.dynamic) for cell in found.cells] == [
        (DYNAMIC, True),
        (OPTIMISED, True),
        (None, False),
    ]
    assert found.others == {"plain": BOUND}


def test_a_note_says_which_level_fails_and_why() -> None:
    (note,) = alike(forms(), {"basic": "ShapeInferenceError"}).notes
    assert note == GraphUnbound(variant="basic", reason="ShapeInferenceError")


def test_without_such_a_graph_rows_stay_as_they_are() -> None:
    assert alike(forms(), {}) == forms()
