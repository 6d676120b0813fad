"""From a request and what was prepared for it to groups of cells: who is compared with whom, and who cannot take part.

Nothing here starts a process or touches a file: :mod:`irbench.runner.prepare` did that before.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

from irbench.core.record import Failure
from irbench.errors import IrbenchError
from irbench.notices import Note
from irbench.notices.notes import GraphFormRefused, GraphUnbound
from irbench.onnx.reading.written_batch import WrittenBatch
from irbench.onnx.rewriting.bind import is_rewritten, with_sizes
from irbench.runner.request import RunRequest
from irbench.runner.requested_cells import BackendInfo, SizedModel, asked_cells, at_level, named_baseline
from irbench.spec import Artifact, Bundle, Cell, Group, Timing, Workload
from irbench.stats.launch_planning import parts_of


@dataclass(frozen=True)
class Forms:
    """Which form of its graph each row runs.

    Attributes:
        others: By cell id, the other form: with dynamic shapes instead of bound ones, or the other way round.
    """

    cells: tuple[Cell, ...]
    others: Mapping[str, Artifact]
    notes: tuple[Note, ...] = ()


def alike(forms: Forms, unbound: Mapping[str, str]) -> Forms:
    """Return the rows with dynamic shapes in all that can have them, if some must, so that they are comparable."""
    if not unbound:
        return forms
    cells = tuple(_dynamic(cell, forms.others) for cell in forms.cells)
    bound = {cell.id: cell.artifact for cell in forms.cells if cell.id in forms.others and cell.artifact is not None}
    notes = (GraphUnbound(variant=level, reason=reason) for level, reason in unbound.items())
    return Forms(cells, bound, tuple(notes))


def _dynamic(cell: Cell, others: Mapping[str, Artifact]) -> Cell:
    return replace(cell, artifact=others[cell.id], dynamic=True) if cell.id in others else cell


_PORTABLE = "Compare it at `--optimize basic` or `--optimize extended`, which use standard ONNX operators only."


@dataclass(frozen=True)
class PreparedModel:
    """A model at one size, ready to be compiled.

    Attributes:
        artifacts: By the exported artifact's label and the level of optimisation: with every shape bound, or why it
            could not be made.
        unbound: Why an optimised graph has dynamic shapes instead, by the level of optimisation.
    """

    model: SizedModel
    artifacts: Mapping[tuple[str, str], Artifact | Failure]
    unbound: Mapping[str, str] = field(default_factory=dict[str, str])


@dataclass(frozen=True)
class PreparedRun:
    """What a run can be planned with."""

    backends: Mapping[str, BackendInfo]
    tables: tuple[tuple[PreparedModel, ...], ...]


@dataclass(frozen=True)
class PlannedGroup:
    """A group, and the cells that were asked for but cannot run this model at all.

    Attributes:
        absent: Cells that are not launched, with the reason that their row shows.
        others: By cell id, what it may run where its runtime refuses the planned graph: the same graph with dynamic
            shapes instead of bound ones, or the other way round.
        neighbours: The models that rows run beside, by name: the row of another group that is called, with its group.
        written_batches: By place of a workload in the group, another batch size that is written into its graph.
    """

    group: Group
    absent: Mapping[str, Failure] = field(default_factory=dict[str, Failure])
    others: Mapping[str, Artifact] = field(default_factory=dict[str, Artifact])
    notes: tuple[Note, ...] = ()
    neighbours: Mapping[str, tuple[PlannedGroup, Cell]] = field(default_factory=dict[str, "tuple[PlannedGroup, Cell]"])
    written_batches: Mapping[int, WrittenBatch] = field(default_factory=dict[int, WrittenBatch])

    @property
    def measured(self) -> tuple[Cell, ...]:
        """The cells that can run the model, in the group's order."""
        return tuple(cell for cell in self.group.cells if cell.id not in self.absent)

    @property
    def can_run(self) -> bool:
        """Whether there is a cell to measure."""
        return bool(self.measured)

    @property
    def weight(self) -> int:
        """How many launches show every cell once, each with the baseline: 1 where one holds them all."""
        return parts_of(len(self.measured), Timing.most_cells)


def plan(request: RunRequest, prepared: PreparedRun) -> tuple[PlannedGroup, ...]:
    """Return one group for each table.

    Args:
        request: The whole run.
        prepared: From :func:`irbench.runner.prepare.prepare` for the same request.

    Raises:
        IrbenchError: No backend can run any model, or the baseline is not a row.
    """
    groups = tuple(_group(request, prepared.backends, models) for models in prepared.tables)
    asked = request.asked
    if asked.rows is not None:
        groups = _chosen(groups, asked.rows, named_baseline=asked.baseline)
    if asked.environments:
        groups = tuple(table for group in groups for table in _by_setting(group))
    if not any(group.can_run for group in groups):
        failure = next(iter(groups[0].absent.values()))
        names = " and ".join(bundle.name for bundle in request.bundles)
        raise IrbenchError(f"None of the backends can run {names}: {failure.message}.", hint=failure.hint or "")
    return groups


def _chosen(
    groups: Sequence[PlannedGroup], rows: Sequence[str], *, named_baseline: str | None
) -> tuple[PlannedGroup, ...]:
    known = {cell.id for group in groups for cell in group.group.cells}
    missing = [row for row in rows if row not in known]
    if missing:
        raise IrbenchError(f"No row is called {missing[0]}.", hint=f"The rows are: {', '.join(sorted(known)[:20])}")
    if named_baseline is not None and not any(group.group.baseline in rows for group in groups):
        raise IrbenchError(
            f"`--baseline {named_baseline}` is not in `--rows`.", hint=f"Add its id: {groups[0].group.baseline}"
        )
    return tuple(kept for group in groups if (kept := with_rows(group, rows)).group.cells)


def with_rows(planned: PlannedGroup, rows: Collection[str]) -> PlannedGroup:
    """Return a group with some of its rows; its first row is the baseline where the group's is not among them.

    Ids of rows of other tables may be among ``rows``.
    """
    return _of_cells(planned, tuple(cell for cell in planned.group.cells if cell.id in rows))


def by_workload(planned: PlannedGroup) -> tuple[PlannedGroup, ...]:
    """Return a group for each workload that rows of a group run, with its rows: each batch has answers of its own."""
    workloads = dict.fromkeys(cell.workload for cell in planned.group.cells)
    cells = planned.group.cells
    return tuple(_of_cells(planned, tuple(cell for cell in cells if cell.workload == own)) for own in workloads)


def _by_setting(planned: PlannedGroup) -> tuple[PlannedGroup, ...]:
    """Return a group for each setting, which holds its rows of all environments and none of another setting.

    Otherwise a ratio would tell of versions and settings at once.
    """
    settings: dict[str, list[Cell]] = {}
    for cell in planned.group.cells:
        key = "" if cell.environment is None else cell.environment.key
        settings.setdefault(cell.id.removesuffix(f"-{key}"), []).append(cell)
    return tuple(_of_cells(planned, tuple(cells)) for cells in settings.values())


def _of_cells(planned: PlannedGroup, cells: tuple[Cell, ...]) -> PlannedGroup:
    ids = {cell.id: None for cell in cells}
    group = planned.group
    run = sorted({cell.workload for cell in cells})
    moved = tuple(replace(cell, workload=run.index(cell.workload)) for cell in cells)
    return replace(
        planned,
        group=replace(
            group,
            workloads=tuple(group.workloads[place] for place in run) or group.workloads[:1],
            cells=moved,
            baseline=group.baseline if group.baseline in ids or not ids else cells[0].id,
        ),
        absent={cell: failure for cell, failure in planned.absent.items() if cell in ids},
        others={cell: other for cell, other in planned.others.items() if cell in ids},
    )


def _group(request: RunRequest, backends: Mapping[str, BackendInfo], models: Sequence[PreparedModel]) -> PlannedGroup:
    cells: list[Cell] = []
    absent: dict[str, Failure] = {}
    for requested in asked_cells(request, backends, [prepared.model for prepared in models]):
        prepared = models[requested.cell.workload]
        artifact, failure = _artifact(backends[requested.cell.backend], prepared, requested.level)
        if requested.cell.dynamic and requested.cell.artifact is not None:
            artifact, failure = with_sizes(requested.cell.artifact, prepared.model.workload.sizes), None
        is_dynamic = requested.cell.dynamic or requested.level in prepared.unbound
        cells.append(replace(requested.cell, artifact=artifact, dynamic=is_dynamic))
        if failure is not None:
            absent[requested.cell.id] = failure
    able = [cell for cell in cells if cell.id not in absent]
    usual = _usual_baseline(able or cells, backends)
    workloads = tuple(prepared.model.workload for prepared in models)
    baseline = usual if request.asked.baseline is None else named_baseline(request.asked.baseline, cells, workloads)
    group = Group(workloads, tuple(cells), baseline, request.goal)
    if request.asked.dynamic:  # which has a row for either form
        return PlannedGroup(group, absent)
    others = {cell.id: other for cell in able if (other := _with_dynamic_shapes(cell, workloads)) is not None}
    unbound = {level: reason for prepared in models for level, reason in prepared.unbound.items()}
    forms = alike(Forms(group.cells, others), unbound)
    return PlannedGroup(replace(group, cells=forms.cells), absent, forms.others, forms.notes)


def _with_dynamic_shapes(cell: Cell, workloads: Sequence[Workload]) -> Artifact | None:
    workload = workloads[cell.workload]
    exported = None if cell.artifact is None else workload.bundle.artifact((cell.artifact.kind,))
    if exported is None or cell.artifact is None or exported.label != cell.artifact.label or not is_rewritten(exported):
        return None
    return with_sizes(exported, workload.sizes)


def _artifact(backend_info: BackendInfo, prepared: PreparedModel, level: str) -> tuple[Artifact | None, Failure | None]:
    exported = prepared.model.bundle.artifact(backend_info.kinds)
    if exported is None:
        return None, _not_applicable(backend_info.kinds, prepared.model.bundle)
    artifact = prepared.artifacts[exported.label, level]
    if isinstance(artifact, Failure):
        return at_level(exported, level), artifact
    foreign = sorted(set(artifact.domains) - set(backend_info.description.domains))
    if foreign and backend_info.program is None:  # what a user's own code reads is not known
        return artifact, Failure(
            "plan", f"it does not read the operators of {foreign[0]} that {level} writes", _PORTABLE
        )
    return artifact, None


def _not_applicable(kinds: tuple[str, ...], bundle: Bundle) -> Failure:
    artifact_kinds = ", ".join(sorted({artifact.kind for artifact in bundle.artifacts}))
    return Failure(
        "plan",
        f"it reads {' or '.join(kinds)}, the model is {artifact_kinds}",
        "Export the model from its TensorFlow source to run it there.",
    )


def _usual_baseline(cells: Sequence[Cell], backends: Mapping[str, BackendInfo]) -> str:
    """Return the id of a row of the framework that models come from, as it usually runs, else of the first."""
    plain = (cell for cell in cells if cell.label == cell.backend)
    return next((cell for cell in plain if backends[cell.backend].description.is_original), cells[0]).id


# Graphs that a runtime refuses with bound shapes and runs with dynamic ones, or the other way round.
#
# Binding fixes sizes in branches too that these sizes do not reach: the branch for another sampling rate, whose shapes
# then contradict each other. A runtime may refuse the whole graph for it.


class GraphRefused(Exception):
    """A cell cannot run its graph, and can run the other form of it."""

    def __init__(self, cell: str, reason: str) -> None:
        super().__init__(f"{cell}: {reason}")
        self.cell = cell
        self.reason = reason


def other_form(cell: Cell, others: Mapping[str, Artifact]) -> Cell | None:
    """Return the cell with the other form of its graph: with dynamic shapes if they are bound, and vice versa."""
    other = others.get(cell.id)
    return None if other is None else replace(cell, artifact=other, dynamic=not cell.dynamic)


def with_other_graphs(planned: PlannedGroup, refused: GraphRefused, *, alone: bool = False) -> PlannedGroup:
    """Return the group with dynamic shapes in all rows, so that they run the same graph.

    Where a row refuses these, it alone gets the other form back.

    With ``alone`` only this row changes, because others were measured already.
    """
    group, others = planned.group, planned.others
    changed = {refused.cell} if alone or any(cell.dynamic for cell in group.cells) else set(others)
    cells = tuple((other_form(cell, others) if cell.id in changed else None) or cell for cell in group.cells)
    before = {cell.id: cell.artifact for cell in group.cells if cell.id in changed and cell.artifact is not None}
    left = {cell: artifact for cell, artifact in {**others, **before}.items() if cell != refused.cell}
    (cell,) = (cell for cell in group.cells if cell.id == refused.cell)
    notes = (*planned.notes, refusal_note(cell, refused.reason))
    return replace(planned, group=replace(group, cells=cells), others=left, notes=notes)


def refusal_note(cell: Cell, reason: str) -> Note:
    """Return what is told below a table of a runtime that refuses the form of a graph that its cell has."""
    path = cell.artifact.path if cell.artifact is not None else None
    reason = reason if path is None else reason.replace(str(path), path.name)  # the copy with bound shapes is gone then
    return GraphFormRefused(backend=str(cell.address), refused="dynamic" if cell.dynamic else "bound", reason=reason)
