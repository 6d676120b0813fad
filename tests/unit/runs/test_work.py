"""What rows have to compute and to move, and the roof of that."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from made_peaks import peaks
from planned_groups import BOTH, GRAPH, planned

from irbench.cost_model.costs import ModelCost, NodeCost, UncountedNode
from irbench.errors import IrbenchError
from irbench.onnx.operator_classes import OperatorClass
from irbench.requests import graph_costs
from irbench.runner.plan import PlannedGroup
from irbench.runs import work
from irbench.runs.work import with_work
from irbench.spec import Cell, Load, TensorSpec


def cost(**changes: Any) -> ModelCost:
    """Return one product of 2,000 operations, with weights of 400 bytes and activations of 240."""
    node = NodeCost(
        name="product",
        op_type="MatMul",
        domain="",
        operator_class=OperatorClass.MATRIX,
        macs=1000,
        flops=2000,
        parameters=100,
        weight_bytes=400,
        read_bytes=520,
        written_bytes=120,
        executions=1,
        activation_bytes=240,
    )
    return ModelCost((replace(node, **changes),))


@pytest.fixture(autouse=True)
def counted(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    seen: list[Path] = []

    def call(path: Path, _inputs: Sequence[TensorSpec]) -> ModelCost:
        seen.append(path)
        return cost()

    monkeypatch.setattr(graph_costs, "read_cost", call)
    return seen


def answering(monkeypatch: pytest.MonkeyPatch, answer: ModelCost | IrbenchError) -> None:
    def call(*_: Any, **__: Any) -> ModelCost:
        if isinstance(answer, IrbenchError):
            raise answer
        return answer

    monkeypatch.setattr(graph_costs, "read_cost", call)


def group(**changes: Any) -> PlannedGroup:
    """Return a table whose rows have graphs with bound shapes."""
    (made,) = planned()
    bound = replace(GRAPH, inputs=(TensorSpec("x", "float32", (1, 3)),), outputs=(TensorSpec("y", "float32", (1, 5)),))
    cells = tuple(replace(cell, artifact=bound, **changes) for cell in made.group.cells)
    return replace(made, group=replace(made.group, cells=cells))


def first(groups: Sequence[PlannedGroup]) -> Cell:
    return groups[0].group.cells[0]


def test_weights_inputs_and_outputs_are_moved_once():
    found = first(with_work([group()], peaks())).work
    assert found is not None
    assert (found.operations, found.moved_bytes) == (2000, 400 + 12 + 20)


def test_there_is_a_roof_for_each_precision_that_was_measured():
    found = first(with_work([group()], peaks())).work
    assert found is not None
    assert set(found.roofs) == {"fp32", "bf16", "int8"}
    roof = found.roofs["int8"]
    assert (roof.bound, roof.level) == ("compute", "L1d")
    assert roof.gflop_per_s == 600.0


def test_a_graph_is_counted_once_however_many_rows_run_it(counted: list[Path]):
    table = group()
    assert len(table.group.cells) > 1
    with_work([table], peaks())
    assert len(counted) == 1


def test_rows_that_gather_few_of_their_weights_move_only_those(monkeypatch: pytest.MonkeyPatch):
    answering(monkeypatch, cost(weight_bytes=4_000_000))
    found = first(with_work([group()], peaks())).work
    assert found is not None
    assert found.moved_bytes == 400 + 12 + 20


def test_without_peaks_nothing_is_counted(counted: list[Path]):
    table = group()
    assert with_work([table], None) == (table,)
    assert counted == []


@pytest.mark.parametrize("threads", [3, None])
def test_a_number_of_threads_that_was_not_measured_has_no_roof(threads: int | None):
    found = first(with_work([group(load=Load(threads=threads))], peaks())).work
    assert found is not None
    assert found.roofs == {}


@pytest.mark.parametrize(
    ("versions", "consumes", "version"),
    [
        ({"fake-a": "1.0"}, ("onnx",), "1.0"),
        ({"ort": "1.23"}, ("onnx",), ""),
        ({"ort": "1.23"}, ("tf-graph",), None),
        ({}, ("onnx",), None),
    ],
)
def test_work_tells_when_and_with_what_peaks_were_measured(
    monkeypatch: pytest.MonkeyPatch, versions: dict[str, str], consumes: tuple[str, ...], version: str | None
):
    monkeypatch.setattr(work.registry, "backend", lambda _name: SimpleNamespace(consumes=consumes))
    found = first(with_work([group(backend="fake-a")], replace(peaks(), versions=versions))).work
    assert found is not None
    assert (found.peaks_measured, found.peaks_version) == ("2026-01-31T14:05:00+00:00", version)


def test_what_runs_elsewhere_has_no_work():
    assert first(with_work([group(device="gpu")], peaks())).work is None


@pytest.mark.parametrize(
    "answer",
    [
        cost(flops=0),
        ModelCost(()),
        replace(cost(), uncounted=(UncountedNode("strange", "my.Strange", "no-rule", lacks_macs=False),)),
        IrbenchError("Shapes cannot be inferred.", hint="Give sizes."),
    ],
)
def test_what_cannot_be_counted_has_no_work(monkeypatch: pytest.MonkeyPatch, answer: ModelCost | IrbenchError):
    answering(monkeypatch, answer)
    assert first(with_work([group()], peaks())).work is None


def test_a_row_that_reads_no_onnx_has_the_work_of_the_models_onnx_graph(counted: list[Path]):
    (made,) = planned(BOTH)
    cells = tuple(
        replace(cell, artifact=None if cell.artifact is None else replace(cell.artifact, kind="framework-graph"))
        for cell in made.group.cells
    )
    found = with_work([replace(made, group=replace(made.group, cells=cells))], peaks())
    assert counted == [GRAPH.path]
    assert first(found).work is not None


def test_an_unknown_dimension_of_an_output_counts_no_bytes():
    table = group()
    cells = tuple(
        replace(cell, artifact=replace(GRAPH, inputs=(TensorSpec("x", "float32", ("length", 3)),)))
        for cell in table.group.cells
    )
    found = first(with_work([replace(table, group=replace(table.group, cells=cells))], peaks())).work
    assert found is not None
    assert found.moved_bytes == 400
