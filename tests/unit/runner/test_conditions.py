"""Rows that differ in what runs beside them: one session, alone, once more, and beside each neighbour."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from planned_groups import FAKES, MLP, QUANTISED, prepared
from run_requests import run_request

from irbench.core.address import BackendAddress
from irbench.core.record import Failure
from irbench.runner.conditions import with_conditions
from irbench.runner.plan import PlannedGroup, plan
from irbench.spec import AGAIN, CorunPlan, Neighbour

BANDWIDTH = tuple(Neighbour("bandwidth", intensity=share, cpus=(1,)) for share in (0, 50, 100))


def conditions(
    corun: CorunPlan,
    *,
    backends: tuple[tuple[str, str], ...] = FAKES[:1],
    refused: tuple[str, str] = ("", ""),
    **changes: Any,
) -> tuple[PlannedGroup, ...]:
    """Return the groups of both models; ``refused`` is a model and the backend on which it cannot run."""
    request = run_request(
        (MLP, QUANTISED), tuple(BackendAddress(*each) for each in backends), apart=True, corun=corun, **changes
    )
    groups = [_without(planned, *refused) for planned in plan(request, prepared(request, {}, "fp32"))]
    return with_conditions(groups, request, {"./mlp.onnx": "mlp", "./quantised.onnx": "quantised"})


def _without(planned: PlannedGroup, model: str, backend: str) -> PlannedGroup:
    own = planned.group.cells if planned.group.main.bundle.name == model else ()
    return replace(planned, absent={cell.id: Failure("bind", "no") for cell in own if cell.backend == backend})


MEETING = CorunPlan((Neighbour("model", "./quantised.onnx"),), measured=1)


def test_a_row_is_measured_alone_once_more_and_at_each_intensity() -> None:
    group = conditions(CorunPlan(BANDWIDTH, measured=2))[0].group
    assert [cell.load.beside for cell in group.cells] == [None, None, *BANDWIDTH]
    assert group.cells[0].id == group.baseline
    assert group.cells[1].id == group.baseline + AGAIN
    assert len({cell.id for cell in group.cells}) == len(group.cells)


def test_all_conditions_share_the_session_of_the_row_alone() -> None:
    for planned in conditions(CorunPlan(BANDWIDTH, measured=2)):
        assert {cell.session for cell in planned.group.cells} == {planned.group.baseline}


def test_each_backend_has_a_table_of_its_own() -> None:
    groups = conditions(CorunPlan(BANDWIDTH, measured=2), backends=FAKES)
    assert len(groups) == 4
    assert all(len({cell.backend for cell in planned.group.cells}) == 1 for planned in groups)


def test_one_process_serves_all_intensities_of_a_pressure_and_each_command_has_its_own() -> None:
    assert len({neighbour.process for neighbour in BANDWIDTH}) == 1
    commands = [Neighbour("command", "burn {intensity}", intensity=share) for share in (50, 100)]
    assert len({neighbour.process for neighbour in commands}) == 2
    assert commands[0].command_line == "burn 50"


def test_a_model_that_is_named_as_a_neighbour_only_is_measured_beside_the_other() -> None:
    corun = CorunPlan((Neighbour("model", "./quantised.onnx", rate=20.0, cpus=(0,)),), measured=1)
    first, second = conditions(corun)
    beside = [[cell.load.beside for cell in planned.group.cells[2:]] for planned in (first, second)]
    assert [(each.target, each.rate) for row in beside for each in row if each] == [("quantised", 20.0), ("mlp", None)]
    assert first.neighbours["quantised"][1].backend == "fake-a"
    assert second.neighbours["mlp"][0].group.main.bundle.name == "mlp"


def test_models_that_are_named_on_both_sides_meet_each_other_and_themselves() -> None:
    corun = CorunPlan((Neighbour("model", "./mlp.onnx"), Neighbour("model", "./quantised.onnx")), measured=2)
    met = [
        (planned.group.main.bundle.name, cell.load.beside.target)
        for planned in conditions(corun)
        for cell in planned.group.cells
        if cell.load.beside is not None
    ]
    assert met == [(one, other) for one in ("mlp", "quantised") for other in ("mlp", "quantised")]


@pytest.mark.parametrize(
    ("neighbour", "label"),
    [
        (BANDWIDTH[1], "bandwidth 50%"),
        (Neighbour("model", "bert", rate=20.0), "bert at 20/s"),
        (Neighbour("command", "sleep 100"), "sleep 100"),
        (Neighbour("cpu", controls=("nice",)), "cpu (nice) 100%"),
    ],
)
def test_a_neighbour_is_called_by_what_tells_it_apart(neighbour: Neighbour, label: str) -> None:
    assert neighbour.label == label


def test_rounds_last_two_periods_of_the_slowest_calls() -> None:
    slow, fast, unpaced = (Neighbour("model", "bert", rate=rate) for rate in (5.0, 100.0, None))
    assert CorunPlan((slow, fast, unpaced), measured=1).round_s == pytest.approx(0.4)
    assert CorunPlan(BANDWIDTH, measured=1).round_s == 0


def test_the_model_beside_a_row_has_its_settings() -> None:
    groups = conditions(MEETING, threads=(1, 4), streams=(1, 2), variants=("none", "basic"))
    for planned in groups:
        (called,) = (cell for _, cell in planned.neighbours.values())
        alone = planned.group.cells[0]
        assert (called.load.threads, called.load.streams) == (alone.load.threads, alone.load.streams)
        assert called.artifact is not None
        assert alone.artifact is not None
        assert called.artifact.variant == alone.artifact.variant
        assert not any(cell.load.beside.differs for cell in planned.group.cells if cell.load.beside is not None)
    assert len({planned.group.baseline for planned in groups[: len(groups) // 2]}) == 8


def test_in_what_the_model_beside_a_row_differs_is_kept_where_it_cannot_be_like_it() -> None:
    request = run_request((MLP, QUANTISED), (BackendAddress(*FAKES[0]),), apart=True, corun=MEETING, batch=(1, 8))
    groups = [
        planned
        for planned in plan(request, prepared(request, {}, "fp32"))
        if (planned.group.main.bundle.name, planned.group.main.batch) in {("mlp", 1), ("quantised", 8)}
    ]
    first, _ = with_conditions(groups, request, {"./mlp.onnx": "mlp", "./quantised.onnx": "quantised"})
    beside = first.group.cells[2].load.beside
    assert beside is not None
    assert beside.differs == (("batch", "8"),)


def test_a_row_beside_a_model_that_cannot_run_on_its_backend_says_so_and_the_others_are_measured() -> None:
    groups = conditions(MEETING, backends=FAKES, refused=("quantised", "fake-b"))
    first, second = (planned for planned in groups if planned.group.main.bundle.name == "mlp")
    assert not first.absent
    assert [cell.id for cell in second.group.cells if cell.id in second.absent] == [second.group.cells[2].id]
    assert "quantised cannot run beside it: no" in second.absent[second.group.cells[2].id].message
    assert not second.neighbours
