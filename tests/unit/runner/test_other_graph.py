"""Which form of its graph each row runs once a runtime refused one."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import launches

from irbench.runner.plan import GraphRefused, PlannedGroup, other_form, with_other_graphs
from irbench.spec import Artifact

BOUND = Artifact("onnx", Path("/scratch/bound/m.onnx"), (), ())
DYNAMIC = replace(BOUND, path=Path("/models/m.onnx"))
FRAMEWORK = Artifact("framework-graph", Path("/models/m"), (), ())


def planned(*names: str) -> PlannedGroup:
    """Return rows with bound graphs, but a row called framework."""
    group = launches.group(*names)
    cells = tuple(replace(cell, artifact=FRAMEWORK if cell.id == "framework" else BOUND) for cell in group.cells)
    others = {cell.id: DYNAMIC for cell in cells if cell.id != "framework"}
    return PlannedGroup(replace(group, cells=cells), others=others)


def forms(group: PlannedGroup) -> dict[str, tuple[Artifact | None, bool]]:
    return {cell.id: (cell.artifact, cell.dynamic) for cell in group.group.cells}


def test_all_rows_get_dynamic_shapes_when_one_refuses_bound_ones() -> None:
    found = with_other_graphs(planned("a", "b", "framework"), GraphRefused("b", f"{BOUND.path}: impossible"))
    assert forms(found) == {"a": (DYNAMIC, True), "b": (DYNAMIC, True), "framework": (FRAMEWORK, False)}
    assert found.others == {"a": BOUND}
    (note,) = found.notes
    assert note.refused == "bound"
    assert note.reason == "m.onnx: impossible"


def test_a_row_that_refuses_dynamic_shapes_alone_gets_bound_ones_back() -> None:
    once = with_other_graphs(planned("a", "b", "c"), GraphRefused("b", "bound"))
    found = with_other_graphs(once, GraphRefused("c", "dynamic"))
    assert forms(found) == {"a": (DYNAMIC, True), "b": (DYNAMIC, True), "c": (BOUND, False)}
    assert found.others == {"a": BOUND}
    assert [note.refused for note in found.notes] == ["bound", "dynamic"]


def test_a_row_is_never_sent_back_to_a_graph_that_it_refused() -> None:
    found = with_other_graphs(planned("a", "b"), GraphRefused("b", "bound"))
    assert other_form(next(cell for cell in found.group.cells if cell.id == "b"), found.others) is None


def test_a_row_that_is_refused_after_others_were_measured_changes_alone() -> None:
    found = with_other_graphs(planned("a", "b"), GraphRefused("b", "bound"), alone=True)
    assert forms(found) == {"a": (BOUND, False), "b": (DYNAMIC, True)}
    assert found.others == {"a": DYNAMIC}


def test_the_label_says_that_shapes_are_dynamic() -> None:
    (cell,) = launches.group("a").cells
    assert replace(cell, dynamic=True).label == f"{cell.label} dynamic"
