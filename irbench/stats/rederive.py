"""Derive the tables of a run again from its raw samples."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from irbench.core.record import Failure, LaunchRecord
from irbench.core.result import Basis, GroupResult, RunDocument
from irbench.core.row import CellResult
from irbench.core.stored_plan import StoredPlan
from irbench.errors import IrbenchError
from irbench.notices import Reference
from irbench.spec import BATCH, Artifact, Bundle, Cell, Group, InputSpec, Load, TensorSpec, Timing, Workload
from irbench.stats.counter_figures import derive_counter_table
from irbench.stats.eligibility import Admission, compares_all, decide_eligibility
from irbench.stats.figures import frames_per_second, percentile_ms, rounds_that_count
from irbench.stats.intervals import MOST_LAUNCHES, Interval, interval_at, looks_of
from irbench.stats.observed import Blocks, Observed, observe
from irbench.stats.run_modes.cold_start import derive_cold_table
from irbench.stats.run_modes.serving import derive_serving_table
from irbench.stats.run_modes.soak import derive_soak_table
from irbench.stats.speedups import launch_ratios
from irbench.stats.summary import summarise
from irbench.system.prepared_types import prepared

_Kind = TypeVar("_Kind")


def rederive(document: RunDocument, launches: Sequence[LaunchRecord]) -> RunDocument:
    """Return the document with every table derived again from the samples.

    What was asked for, who could take part, whether outputs were right, and how long it took are the document's.
    """
    groups = enumerate(document.groups)
    timing, mixed = planned_timing(document.plan), planned_mixing(document.plan)
    return replace(
        document,
        groups=tuple(
            _derive(table, document, [launch for launch in launches if launch.group == number])
            for number, table in groups
        ),
        cold_starts=tuple(
            derive_cold_table(table, table.baseline, timing, allow_mixed=mixed) for table in document.cold_starts
        ),
        soaks=tuple(map(derive_soak_table, document.soaks)),
        serving=tuple(derive_serving_table(table, launches) for table in document.serving),
        counters=tuple(map(derive_counter_table, document.counters)),
    )


def rederive_speeds(
    document: RunDocument, launches: Sequence[LaunchRecord]
) -> tuple[Mapping[str, tuple[float | None, float | None]], ...]:
    """Return the median latency in milliseconds and the FPS of every row by its id, for each table of speeds.

    They are those of :func:`rederive`, in a tenth of its time. A row without figures has ``None`` twice.
    """
    timing, mixed = planned_timing(document.plan), planned_mixing(document.plan)
    return tuple(
        _speeds(table, [launch for launch in launches if launch.group == number], timing, mixed)
        for number, table in enumerate(document.groups)
    )


def _speeds(
    table: GroupResult, records: Sequence[LaunchRecord], timing: Timing, mixed: bool
) -> Mapping[str, tuple[float | None, float | None]]:
    basis = _basis(table)
    group, timing = _group(table, basis), replace(timing, budget=basis.budget_s, before_s=basis.before_s)
    launches = observe(group, records, timing)
    states = decide_eligibility(group, records, stored_admission(table, records, allow_mixed=mixed)).states
    rounds = {
        cell.id: rounds_that_count(records, launches, cell.id) if states[cell.id] in ("ok", "mismatch") else ()
        for cell in group.cells
    }
    return {
        cell.id: (percentile_ms(50)(own), frames_per_second(own, cell.load.batch)) if own else (None, None)
        for cell in group.cells
        for own in (rounds[cell.id],)
    }


_OLD_NUMBERS = {"left_out_above": 0.5}
"""What was used by runs whose plan does not have the number."""


def planned_timing(plan: StoredPlan) -> Timing:
    """Return the protocol's numbers of a stored plan."""
    try:
        timing = _converted({**_OLD_NUMBERS, **plan.timing}, Timing)
        _require_possible(timing)
    except (TypeError, ValueError) as error:
        raise _impossible(error) from error
    return timing


def _converted(stored: Mapping[str, Any], kind: type[_Kind]) -> _Kind:
    try:
        return msgspec.convert(stored, prepared(kind))
    except (TypeError, ValueError) as error:  # msgspec's are ValueErrors too
        raise _impossible(error) from error


def _impossible(error: Exception) -> IrbenchError:
    return IrbenchError(
        f"The run's plan says nothing of how it was measured that could be right: {error}.",
        hint="Restore it from a copy, or measure again; other runs are not affected.",
    )


def _require_possible(timing: Timing) -> None:
    if not 1 <= timing.min_launches <= timing.max_launches <= MOST_LAUNCHES:
        raise ValueError(f"from {timing.min_launches} to {timing.max_launches} launches")
    if not 0 < timing.confidence < 1:
        raise ValueError(f"a confidence of {timing.confidence}")
    blocks = (timing.blocks, timing.max_blocks, timing.min_blocks, timing.most_blocks)
    if min(blocks) < 1 or timing.burn_in_blocks < 0:
        raise ValueError(f"{blocks} blocks, {timing.burn_in_blocks} of them not counted")
    numbers = (timing.target, timing.within, timing.dirty_foreign_share, timing.dirty_run_queue, timing.budget)
    if min(numbers) < 0:
        raise ValueError(f"limits of {numbers}")


def blocks_in_table(record: LaunchRecord, blocks: Blocks, table: GroupResult, row: str | None = None) -> Blocks:
    """Return the blocks of a launch, of which those count that the figures of its stored table are derived from.

    Args:
        record: The launch.
        blocks: Its blocks, as :func:`irbench.stats.observed.sort_blocks` sorts them.
        table: The table.
        row: The id of the row whose figures are meant; ``None`` for those of any row of the launch.
    """
    rows = [cell.cell for cell in record.cells] if row is None else [row]
    if rows and all(record.launch in table.launches_left_out.get(own, ()) for own in rows):
        return replace(blocks, counted=frozenset())
    return replace(blocks, counted=blocks.blocks) if table.blocks_excluded == 0 else blocks


def observed_launches(
    table: GroupResult, row: CellResult, records: Sequence[LaunchRecord], timing: Timing
) -> tuple[Observed, ...]:
    """Return a stored table's launches, reduced to the times of a row, which other rows of its table do not change.

    Rows of the same mode and batch are reduced with it: a table with rows of several kinds compares them by something
    that all of them have. What the run was asked to find the best row in does not count either, so that a row has the
    same times in every run.
    """
    alike = tuple(other.id for other in table.cells if (other.mode, other.batch) == (row.mode, row.batch))
    group = replace(_group(table, Basis(alike, row.id, timing.budget, 0, 0)), goal=None)
    return observe(group, records, timing, as_loaded=False)


def ratio_of_rows(
    table: GroupResult, row: CellResult, other: CellResult, records: Sequence[LaunchRecord], timing: Timing
) -> Interval | None:
    """Return ln of how many times as fast one row of a stored table is as another; ``None`` without a common launch.

    Its interval is of this ratio alone, at the confidence of the run.
    """
    ratios = launch_ratios(observe(_group(table, _basis(table)), records, timing), other.id, row.id)
    return interval_at(ratios, looks_of(timing), timing.confidence) if ratios else None


def planned_mixing(plan: StoredPlan) -> bool:
    """Whether a stored plan compares rows whatever precisions their runtimes chose; see :func:`compares_all`."""
    return compares_all(plan.precisions, allow_mixed=plan.allow_mixed)


def stored_group(table: GroupResult) -> Group:
    """Return what a stored table compared, as far as times are derived from it."""
    return _group(table, _basis(table))


def _derive(table: GroupResult, document: RunDocument, records: Sequence[LaunchRecord]) -> GroupResult:
    basis = _basis(table)
    timing = planned_timing(document.plan)
    again = summarise(
        _group(table, basis),
        records,
        replace(timing, budget=basis.budget_s, before_s=basis.before_s),
        stored_admission(table, records, allow_mixed=planned_mixing(document.plan)),
        stopped_by=table.stopped_by,
        seconds=table.seconds,
        remarks=table.warnings[: len(table.warnings) - basis.derived_warnings],
        references=_references(table),
    )
    inputs = {row.id: row.given_inputs for row in table.cells}
    return replace(
        again,
        cells=tuple(replace(row, given_inputs=inputs[row.id]) for row in again.cells),
        notes=(*again.notes, *table.notes[basis.derived_notes :]),
        given_inputs=table.given_inputs,
    )


def _references(table: GroupResult) -> dict[str, Reference]:
    sources = {row.id: row.verified_against or table.verified_against for row in table.cells}
    return {row: reference for row, reference in sources.items() if reference is not None}


def _basis(table: GroupResult) -> Basis:
    if table.basis is None:
        raise IrbenchError(
            f"The table of {table.model} does not record what it was derived from.",
            hint="Measure again; other runs are not affected.",
        )
    if not {row.id for row in table.cells}.issuperset(table.basis.cells):
        raise IrbenchError(
            f"The table of {table.model} was derived from rows that it does not have.",
            hint="Restore the run from a copy, or measure again; other runs are not affected.",
        )
    return table.basis


def _group(table: GroupResult, basis: Basis) -> Group:
    rows = {row.id: row for row in table.cells}
    ran = {row.id: (row.model or table.model, row.batch, _inputs(row.shapes or table.shapes)) for row in table.cells}
    places = {workload: place for place, workload in enumerate(dict.fromkeys(ran[cell] for cell in basis.cells))}
    return Group(
        # of the inputs, a table shows names and shapes alone
        workloads=tuple(Workload(Bundle(model, inputs, ()), {BATCH: batch}) for model, batch, inputs in places),
        cells=tuple(_cell(rows[cell], places[ran[cell]]) for cell in basis.cells),
        baseline=basis.baseline,
        goal=table.goal,
    )


def _inputs(shapes: Mapping[str, tuple[int, ...]]) -> tuple[InputSpec, ...]:
    return tuple(InputSpec(TensorSpec(name, "float32", tuple(shape))) for name, shape in shapes.items())


def _cell(row: CellResult, workload: int) -> Cell:
    requested = row.requested
    kind, _, variant = row.artifact.partition("+")
    artifact = Artifact(
        kind=kind,
        path=Path(),
        inputs=(),
        outputs=(),
        variant=variant,
        domains=row.vendors,
        disagreement=row.disagreement,
        precision=row.graph_precision,
        files=row.graph_files,
    )
    return Cell(
        id=row.id,
        artifact=artifact if row.artifact else None,
        backend=row.backend,
        device=row.device,
        load=_converted(
            {
                "batch": row.batch,
                "threads": requested.threads,
                "streams": requested.streams,
                "precision": requested.precision,
                "instances": requested.instances,
                "varied": requested.options,
                "beside": None if requested.beside is None else msgspec.to_builtins(requested.beside),
            },
            Load,
        ),
        io=row.io,
        dynamic=row.dynamic,
        workload=workload,
        environment=row.environment,
        program=row.program,
        accuracy=row.accuracy,
        loss=row.loss,
        work=row.work,
    )


def stored_admission(table: GroupResult, records: Sequence[LaunchRecord], *, allow_mixed: bool) -> Admission:
    """Return who of a stored table could take part: what no launch says, the table's own rows do."""
    failed = {cell for record in records for cell in record.failures}
    left = [row for row in table.cells if row.id not in failed]
    return Admission(
        absent=_reasons(row for row in left if _never_launched(row)),
        mismatches=_reasons(row for row in left if row.state == "mismatch" and not _never_launched(row)),
        allow_mixed=allow_mixed,
    )


def _never_launched(row: CellResult) -> bool:
    """Whether a row was out before any launch: it could not be made, or its outputs missed a limit."""
    if row.failure is not None and row.failure.stage == "accuracy":
        return True
    return row.state in ("failed", "not-applicable") and not row.launches_measured


def _reasons(rows: Iterable[CellResult]) -> dict[str, Failure]:
    return {row.id: row.failure for row in rows if row.failure is not None}
