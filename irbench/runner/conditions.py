"""Rows that differ only in what runs beside them: a session alone, alone once more, and beside each neighbour."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from irbench.runner.plan import PlannedGroup
from irbench.runner.request import RunRequest
from irbench.spec import AGAIN, Cell, CorunPlan, Neighbour


def with_conditions(
    groups: Sequence[PlannedGroup], request: RunRequest, names: Mapping[str, str]
) -> tuple[PlannedGroup, ...]:
    """Return a group for each row, with the row under every condition; the row alone is the baseline.

    Args:
        groups: One for each model and batch.
        request: Has the plan of a co-run.
        names: What each model is called in tables, by how the user named it, in the order of the request.
    """
    assert request.corun is not None
    plan = replace(request.corun, neighbours=tuple(_renamed(each, names) for each in request.corun.neighbours))
    rows = [(planned, cell) for planned in groups for cell in planned.group.cells]
    return tuple(_under_conditions(planned, cell, plan, tuple(names.values()), rows) for planned, cell in rows)


def _renamed(neighbour: Neighbour, names: Mapping[str, str]) -> Neighbour:
    return replace(neighbour, target=names[neighbour.target]) if neighbour.kind == "model" else neighbour


def _under_conditions(
    planned: PlannedGroup,
    cell: Cell,
    plan: CorunPlan,
    models: Sequence[str],
    rows: Sequence[tuple[PlannedGroup, Cell]],
) -> PlannedGroup:
    group = planned.group
    workload = group.workload_of(cell)
    beside = tuple(_neighbours_of(workload.bundle.name, plan, models))
    others = {each.target: _model_beside(cell, each.target, rows) for each in beside if each.kind == "model"}
    alone = replace(cell, workload=0, shared_session=cell.id)
    again = replace(alone, id=f"{cell.id}{AGAIN}")
    cells = (alone, again, *(_beside(alone, neighbour) for neighbour in beside))
    return replace(
        planned,
        group=replace(group, workloads=(workload,), cells=cells, baseline=cell.id),
        absent={each.id: planned.absent[cell.id] for each in cells} if cell.id in planned.absent else {},
        others={each.id: planned.others[cell.id] for each in cells} if cell.id in planned.others else {},
        neighbours=others,
    )


def _neighbours_of(model: str, plan: CorunPlan, models: Sequence[str]) -> Iterator[Neighbour]:
    """Yield what a model is measured beside; one that was named as a neighbour only, beside those it was named for."""
    if model in models[: plan.measured]:
        yield from plan.neighbours
        return
    for neighbour in plan.neighbours:
        if neighbour.target == model:
            yield from (replace(neighbour, target=measured, rate=None) for measured in models[: plan.measured])


def _model_beside(cell: Cell, model: str, rows: Sequence[tuple[PlannedGroup, Cell]]) -> tuple[PlannedGroup, Cell]:
    """Return the row of another model that is called beside a cell: on the same backend where there is one."""
    own = [(planned, other) for planned, other in rows if planned.group.workload_of(other).bundle.name == model]
    return min(own, key=lambda row: (row[1].id in row[0].absent, row[1].address != cell.address))


def _beside(cell: Cell, neighbour: Neighbour) -> Cell:
    facts = (neighbour.target, str(neighbour.rate), *neighbour.controls)
    digest = hashlib.sha256("\n".join(facts).encode()).hexdigest()[:6]
    name = f"{cell.id}-beside-{neighbour.kind}-{neighbour.intensity}-{digest}"
    return replace(cell, id=name, load=replace(cell.load, beside=neighbour))
