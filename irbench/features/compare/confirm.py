"""Measure again what regressed or could not be judged, before anybody is alarmed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from irbench.across_runs import repetition_obstacles as obstacles
from irbench.across_runs.checked_runs import CheckedRun, read_run
from irbench.across_runs.differences import fingerprint, software_facts
from irbench.across_runs.measured_cells import CellKey, MeasuredCell, measured_cells, measured_graphs
from irbench.across_runs.repetition_obstacles import RepetitionObstacle
from irbench.across_runs.side_comparison import RunComparison, Side, cells_of
from irbench.api.progress import Reporter
from irbench.core import registry
from irbench.core.result import RunDocument
from irbench.errors import IrbenchError
from irbench.features.compare.confirmed_regressions import Confirmation, Method, RepeatedRow, confirmed_rows, judge
from irbench.options.conditions import Condition
from irbench.options.run import RunOptions
from irbench.runs.measurement import StoredRun, measure
from irbench.runs.planned_graphs import ModelChanged, requires_graphs
from irbench.runs.repetition import own_code_obstacle, refuse_stored_folders, stored_options
from irbench.system import host
from irbench.worker.requested_confinement import is_confinement_asked_for


@dataclass(frozen=True)
class _Repetition:
    options: RunOptions
    method: Method
    documents: tuple[RunDocument, ...]


def confirm(
    comparison: RunComparison,
    sides: tuple[Side, Side],
    conditions: Sequence[Condition],
    results: Path | None,
    reporter: Reporter,
    *,
    allow_own_code: bool = False,
) -> Confirmation:
    """Measure the plan of the newer side again, with the model of the older side beside it where both are there."""
    base, new = (side.runs[-1].document for side in sides)
    obstacle = _obstacle(new)
    if obstacle is not None:
        return Confirmation("not-possible", obstacle=obstacle)
    try:
        repetition = _repetition(base, new, comparison)
        refuse_stored_folders(repetition.options)
        refused = None if allow_own_code else own_code_obstacle(repetition.options)
        if refused is not None:
            return Confirmation("not-possible", obstacle=refused)
        stored = _measured(repetition, results, reporter)
    except ModelChanged as changed:
        return Confirmation("not-possible", obstacle=obstacles.OtherGraph(names=tuple(changed.models)))
    except IrbenchError as error:
        return Confirmation("not-possible", obstacle=obstacles.NotRepeatable(message=error.message, hint=error.hint))
    again, _ = read_run(stored.folder)
    if again is None or not stored.document.complete:
        return Confirmation(
            "undecided", repetition.method, stored.document.run_id, obstacle=obstacles.RepetitionInterrupted()
        )
    repeated = tuple(_again(comparison, cells_of(sides[0]), again))
    rows = confirmed_rows(repeated, conditions, comparison.within, comparison.confidence)
    return Confirmation(judge(rows), repetition.method, again.run_id, rows)


def _measured(repetition: _Repetition, results: Path | None, reporter: Reporter) -> StoredRun:
    """Measure again; both models in one table, each verified against its own reference: one may have been trained."""
    same_graphs = requires_graphs([graph for run in repetition.documents for graph in measured_graphs(run)])
    options = replace(repetition.options, results=results)
    return measure(options, reporter, keep=same_graphs, side_by_side=repetition.method == "both")


def other_software(measured: Mapping[str, str]) -> tuple[str, ...]:
    """Return the distributions whose installed versions are not those of a run; irbench itself may be newer."""
    installed = host.describe(registry.distributions())["distributions"]
    changed = (name for name, version in installed.items() if measured.get(name, version) != version)
    return tuple(sorted(name for name in changed if name != "irbench"))


def other_confinement(environment: Mapping[str, Any]) -> RepetitionObstacle | None:
    """Return that workers are confined now, and were not in a run of this environment, or the other way round."""
    confined, is_set = environment.get("confined"), is_confinement_asked_for()
    if not isinstance(confined, bool) or confined is is_set:  # an older document does not say
        return None
    return obstacles.OtherConfinement(is_set=is_set)


def _obstacle(new: RunDocument) -> RepetitionObstacle | None:
    if fingerprint(host.describe()) != fingerprint(new.environment):
        return obstacles.OtherMachine()
    changed = other_software(software_facts(new))
    return obstacles.OtherSoftware(names=tuple(changed)) if changed else other_confinement(new.environment)


def _repetition(base: RunDocument, new: RunDocument, comparison: RunComparison) -> _Repetition:
    """Return what is measured again: both models where they are different ones under names of their own."""
    options = replace(
        stored_options(new.plan), name="", note=f"confirms {comparison.base.name} and {comparison.new.name}"
    )
    try:
        before = stored_options(base.plan).models
    except IrbenchError:
        before = ()
    same = set(before) & set(options.models) or set(base.plan.models) & set(new.plan.models)
    if before and not same:  # two files of one name would have other names beside each other, and no row of theirs
        both = replace(options, models=(*before, *options.models), baseline=None)
        return _Repetition(both, "both", (base, new))
    return _Repetition(options, "new", (new,))


def _again(
    comparison: RunComparison, before: Mapping[CellKey, tuple[MeasuredCell, ...]], again: CheckedRun
) -> Iterator[RepeatedRow]:
    """Yield the rows that were measured again, each with the older side's: measured beside it, or as it is stored."""
    cells = measured_cells(again)
    for row in comparison.suspects:
        new, base = cells.get(row.key), cells.get(row.base_key)
        if new is None or not new.is_measured:
            continue
        is_other_model = row.base_key != row.key
        bases = (base,) if is_other_model and base is not None and base.is_measured else before[row.base_key]
        yield RepeatedRow(row, bases, new)
