"""Rows that differ only in what runs beside them: a session alone, alone once more, and beside each neighbour."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace

from irbench.core.record import Failure
from irbench.runner.plan import PlannedGroup
from irbench.runner.request import RunRequest
from irbench.spec import AGAIN, Cell, CorunPlan, Neighbour

_SETTINGS: Mapping[str, Callable[[Cell], object]] = {
    "threads": lambda cell: cell.load.threads or "native",
    "streams": lambda cell: cell.load.streams,
    "precision": lambda cell: cell.load.precision,
    "optimize": lambda cell: (cell.artifact.variant if cell.artifact is not None else "") or "none",
    "batch": lambda cell: cell.load.batch,
}
"""In what a model that runs beside a row should be like it, the most important first."""


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
    named = tuple(_neighbours_of(workload.bundle.name, plan, models))
    others = {each.target: _model_beside(cell, each.target, rows) for each in named if each.kind == "model"}
    alone = replace(cell, workload=0, shared_session=cell.id)
    again = replace(alone, id=f"{cell.id}{AGAIN}")
    beside = tuple(_beside(alone, _like(each, cell, others)) for each in named)
    cells = (alone, again, *beside)
    cannot = {name: reason for name, called in others.items() if (reason := _failure_beside(name, called))}
    absent = {row.id: cannot[each.target] for row, each in zip(beside, named, strict=True) if each.target in cannot}
    if cell.id in planned.absent:
        absent = {each.id: planned.absent[cell.id] for each in cells}
    return replace(
        planned,
        group=replace(group, workloads=(workload,), cells=cells, baseline=cell.id),
        absent=absent,
        others={each.id: planned.others[cell.id] for each in cells} if cell.id in planned.others else {},
        neighbours={name: called for name, called in others.items() if name not in cannot},
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
    """Return the row of another model that is called beside a cell: on the same backend, and as like it as one is.

    A batch of its own, or the precision of its graph, may be all that a model has.
    """
    own = [
        (planned, other)
        for planned, other in rows
        if planned.group.workload_of(other).bundle.name == model and other.address == cell.address
    ]
    for setting in _SETTINGS.values():
        own = [row for row in own if setting(row[1]) == setting(cell)] or own
    return own[0]


def _like(neighbour: Neighbour, cell: Cell, others: Mapping[str, tuple[PlannedGroup, Cell]]) -> Neighbour:
    """Return a neighbour with the settings in which what is called of it differs from the cell."""
    if neighbour.kind != "model":
        return neighbour
    _, other = others[neighbour.target]
    differs = tuple((name, str(of(other))) for name, of in _SETTINGS.items() if of(other) != of(cell))
    return replace(neighbour, differs=differs)


def _failure_beside(model: str, called: tuple[PlannedGroup, Cell]) -> Failure | None:
    """Return why a row beside a model is not measured; ``None`` where the model can run."""
    planned, cell = called
    reason = planned.absent.get(cell.id)
    if reason is None:
        return None
    return replace(reason, message=f"{model} cannot run beside it: {reason.message}")


def _beside(cell: Cell, neighbour: Neighbour) -> Cell:
    facts = (neighbour.target, str(neighbour.rate), *neighbour.controls)
    digest = hashlib.sha256("\n".join(facts).encode()).hexdigest()[:6]
    name = f"{cell.id}-beside-{neighbour.kind}-{neighbour.intensity}-{digest}"
    return replace(cell, id=name, load=replace(cell.load, beside=neighbour))
