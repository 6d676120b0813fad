"""Compute a group's table from its raw records."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

from irbench.core.record import LaunchRecord
from irbench.core.result import Basis, Condition, GroupResult, Lead, StoppedBy, Winner
from irbench.core.row import CellResult, Spans, Speedup, row_of
from irbench.notices import Reference, Warn
from irbench.spec import Cell, Group, Timing, Workload
from irbench.stats.eligibility import Admission, Eligibility, decide_eligibility, first_launch
from irbench.stats.energy import energy_figures
from irbench.stats.figures import (
    Rounds,
    by_launch,
    frames_per_second,
    latency_ms,
    launch_levels,
    launch_spread,
    new_shape_by_launch,
    peak_memory_bytes,
    percentile_ms,
    phases_ms,
    positive_span,
    private_memory_bytes,
    rounds_that_count,
    span_over_launches,
    supports_p90,
    sustained_by_launch,
    tails_ns,
    within_max_latency,
)
from irbench.stats.intervals import median
from irbench.stats.notice_rules.comparison_warnings import find_warnings
from irbench.stats.notice_rules.machine_warnings import uneven_load
from irbench.stats.notice_rules.row_notices import find_notes, marks_of
from irbench.stats.notice_rules.table_state import TableState
from irbench.stats.observed import Observed, is_as_loaded, observe, observe_otherwise, records_that_count
from irbench.stats.orders import order_doubt
from irbench.stats.run_modes.generation import generated
from irbench.stats.run_modes.neighbours import beside_neighbour
from irbench.stats.run_modes.paced import paced_latency, paced_over_launches, paced_runs
from irbench.stats.run_modes.stages import stage_times
from irbench.stats.run_modes.training import is_training, step_parts, training_effects
from irbench.stats.speedups import speedups
from irbench.stats.winner import LeadEstimate, contradiction, doubt, find_winner
from irbench.stats.workload_facts import achieved, bound_shapes, given_inputs, table_of


def summarise(
    group: Group,
    records: Sequence[LaunchRecord],
    timing: Timing,
    admission: Admission,
    *,
    stopped_by: StoppedBy,
    seconds: float,
    remarks: Sequence[Warn] = (),
    references: Mapping[str, Reference] | None = None,
) -> GroupResult:
    """Return a group's table: every figure derived again from the raw records.

    Args:
        group: What was compared.
        records: Its finished launches, in order; none when it was interrupted before the first ended.
        timing: The protocol's numbers.
        admission: Who may be compared.
        stopped_by: Why it ended, or would end now.
        seconds: Wall time so far.
        remarks: Warnings of the caller's own, put first.
        references: Where the expected outputs of each cell came from, by its id; a cell without any is left out.
    """
    launches = observe(group, records, timing)
    eligibility = within_max_latency(decide_eligibility(group, records, admission), group, records, launches)
    uneven = uneven_load(group, records, launches, timing) if is_as_loaded(launches) else None
    trained = frozenset(cell.id for cell in group.cells if cell.loss is not None)
    otherwise = observe_otherwise(group, records, launches, timing)
    by_cell = _speedups(records, launches, otherwise, eligibility, timing, is_even=uneven is None, trained=trained)
    references = references or {}
    common = references.get(group.baseline)
    rows = {
        cell.id: _row(
            cell,
            group,
            records,
            launches,
            eligibility,
            timing,
            speedup=by_cell.get(cell.id),
            verified_against=references[cell.id] if references.get(cell.id, common) != common else None,
        )
        for cell in group.cells
    }
    finding = find_winner(launches, eligibility.candidates, timing, eligibility.link)
    ranking = _ranking(rows, launches, eligibility, finding)
    rows = {cell: rows[cell] for cell in (*ranking, *(cell for cell in rows if cell not in ranking))}
    table = _table(
        TableState(group, records, launches, otherwise, eligibility, rows, timing, stopped_by, seconds, uneven), finding
    )
    return replace(table, warnings=(*remarks, *table.warnings), verified_against=common)


def _left_out(state: TableState) -> dict[str, tuple[int, ...]]:
    """Return the numbers of the launches that are left out for each cell, by its id; without cells that have none."""
    numbers: dict[str, list[int]] = {}
    for record, launch in zip(state.records, state.launches, strict=True):
        for cell in record.cells:
            if launch.leaves_out(cell.cell):
                numbers.setdefault(cell.cell, []).append(record.launch)
    return {cell: tuple(launches) for cell, launches in numbers.items()}


def _table(state: TableState, finding: LeadEstimate) -> GroupResult:
    group, launches, timing = state.group, state.launches, state.timing
    warnings, notes = find_warnings(state), find_notes(state)
    condition: Condition | None = "busy" if is_as_loaded(launches) else None
    against = contradiction(finding, launches, state.otherwise, timing)
    lead = finding.as_lead(doubt(state, finding) or order_doubt(state, finding), condition, against)
    count = len(state.records)
    compared = state.eligibility.compared
    counted = [launch.counted if launch.counts_for_any(compared) else frozenset[int]() for launch in launches]
    blocks = [len(own) for own in counted if own]
    return table_of(
        GroupResult,
        group.main,
        baseline=state.eligibility.baseline,
        launches=count,
        blocks_per_launch=statistics.median_low(blocks) if blocks else 0,
        launches_counted=len(blocks),
        launches_left_out=_left_out(state),
        blocks_range=(min(blocks), max(blocks)) if blocks else None,
        blocks_excluded=sum(len(launch.blocks - own) for launch, own in zip(launches, counted, strict=True)),
        blocks_measured=sum(len(launch.blocks) for launch in launches),
        blocks_disturbed=sum(len(launch.dirty) for launch in launches),
        stopped_by=state.stopped_by,
        preview=state.fewest_launches < timing.min_launches,
        seconds=state.seconds,
        winner=_winner(lead),
        cells=tuple(state.rows.values()),
        warnings=warnings,
        notes=notes,
        basis=Basis(
            cells=tuple(cell.id for cell in group.cells),
            baseline=group.baseline,
            budget_s=timing.budget,
            before_s=timing.before_s,
            derived_warnings=len(warnings),
            derived_notes=len(notes),
        ),
        lead=lead,
        condition=condition,
        uneven_load=state.uneven_load,
        goal=group.goal,
        effects=training_effects(group, state.records, launches, timing),
        given_inputs=given_inputs(group.main.feeding),
    )


def _winner(lead: Lead | None) -> Winner | None:
    if lead is None or lead.reason is not None or lead.low is None or lead.high is None:
        return None
    return Winner(lead.cell, lead.rival, lead.value, lead.low, lead.high, lead.condition)


def _row(
    cell: Cell,
    group: Group,
    records: Sequence[LaunchRecord],
    launches: Sequence[Observed],
    eligibility: Eligibility,
    timing: Timing,
    *,
    speedup: Speedup | None,
    verified_against: Reference | None,
) -> CellResult:
    """Return a row with all that is known of its cell, and its figures where it measured and did not fail."""
    first = first_launch(records, cell.id)
    workload = group.workload_of(cell)
    inputs = given_inputs(workload.feeding)
    is_measured = eligibility.states[cell.id] in ("ok", "mismatch")
    row = row_of(
        CellResult,
        cell,
        mode="streams" if cell.load.streams > 1 else "instances" if cell.load.instances > 1 else "sync",
        model=workload.bundle.name,
        shapes=bound_shapes(workload),
        given_inputs=inputs if inputs != given_inputs(group.main.feeding) else None,
        dynamic=cell.dynamic,
        effective=dict(first.effective) if first is not None else {},
        state=eligibility.states[cell.id],
        failure=eligibility.failures.get(cell.id),
        output_error=first.worst_error if first is not None else None,
        marks=marks_of(cell, records, launches, eligibility),
        disagreement=eligibility.disagreements.get(cell.id),
        vendors=cell.artifact.domains if cell.artifact is not None else (),
        graph_precision=cell.artifact.precision if cell.artifact is not None else "",
        environment=cell.environment,
        graph_files=cell.artifact.files if cell.artifact is not None else None,
        program=cell.program,
        accuracy=cell.accuracy,
        loss=cell.loss,
        work=cell.work,
        speedup=speedup,
        verified_against=verified_against,
    )
    if not is_measured:
        return row
    beside = beside_neighbour(records, launches, cell, eligibility.baseline, timing)
    return replace(_with_figures(row, cell, workload, records, launches, timing), neighbour=beside)


def _with_figures(
    row: CellResult,
    cell: Cell,
    workload: Workload,
    records: Sequence[LaunchRecord],
    launches: Sequence[Observed],
    timing: Timing,
) -> CellResult:
    """Return a row with its figures; as it is where no round counts."""
    first = first_launch(records, cell.id)
    rounds = rounds_that_count(records, launches, cell.id)
    if first is None or not rounds:
        return row
    everything = rounds_that_count(records, launches, cell.id, all_blocks=True)
    counted = records_that_count(records, launches, cell.id)
    sustained = list(sustained_by_launch(counted, cell.id, cell.load.batch).values())
    new_shape = list(new_shape_by_launch(counted, cell.id).values())
    paced = list(paced_runs(counted, cell.id).values())

    def fps(own: Rounds) -> float:
        return frames_per_second(own, cell.load.batch)

    def spans(figure: Callable[[Rounds], float]) -> Spans:
        return span_over_launches(rounds, everything, figure, timing)

    rate, share = achieved(cell, str(first.effective.get("precision")), fps(rounds))
    return replace(
        row,
        latency_ms=latency_ms(rounds, tails_ns(counted, cell.id), timing),
        p50_over_launches=spans(percentile_ms(50)),
        p90_over_launches=spans(percentile_ms(90)) if all(map(supports_p90, by_launch(rounds))) else None,
        fps=fps(rounds),
        fps_over_launches=spans(fps),
        new_shape_ms=median(new_shape) if new_shape else None,
        new_shape_over_launches=positive_span(new_shape, timing) if new_shape else None,
        sustained_fps=median(sustained) if sustained else None,
        sustained_over_launches=positive_span(sustained, timing) if sustained else None,
        paced_ms=paced_latency(paced),
        paced_p50_over_launches=paced_over_launches(paced, 50, timing),
        paced_p90_over_launches=paced_over_launches(paced, 90, timing),
        generation=generated(rounds, everything, cell, workload, first.effective, timing),
        **_parts_of_calls(cell, rounds, everything, timing),
        launches_measured=sum(own.cell == cell.id for record in counted for own in record.cells),
        launch_spread=launch_spread(launch_levels(launches, cell.id)),
        phases_ms=phases_ms(first),
        peak_memory_bytes=peak_memory_bytes(records, cell.id),
        private_memory_bytes=private_memory_bytes(records, cell.id),
        **energy_figures(counted, cell.id, timing),
        gflop_per_s=rate,
        roof_share=share,
    )


def _parts_of_calls(cell: Cell, rounds: Rounds, everything: Rounds, timing: Timing) -> dict[str, Any]:
    """Return the figures of what calls are made of: the stages of pipelines, the parts of training steps."""
    stages = stage_times(rounds, everything, timing)
    return {"stages": stages, "step_parts": step_parts(rounds, timing) if stages and is_training(cell) else ()}


def _speedups(
    records: Sequence[LaunchRecord],
    launches: Sequence[Observed],
    otherwise: Sequence[Observed],
    eligibility: Eligibility,
    timing: Timing,
    *,
    is_even: bool,
    trained: Collection[str] = (),
) -> dict[str, Speedup]:
    """Return the speedups by cell; they are adjusted for their number and so derived together."""
    baseline = eligibility.baseline
    if baseline is None:
        return {}
    others = [cell for cell in eligibility.compared if cell != baseline]
    all_blocks = launches if is_as_loaded(launches) else otherwise
    by_cell = speedups(launches, others, baseline, timing, all_blocks=all_blocks)
    marked = {
        cell: replace(
            speedup,
            reason=eligibility.mixed(cell),
            verified=all(either in trained or _is_verified(records, either) for either in (cell, baseline)),
        )
        for cell, speedup in by_cell.items()
    }
    return marked if is_even else {cell: _without_verdict(speedup) for cell, speedup in marked.items()}


def _without_verdict(speedup: Speedup) -> Speedup:
    """Return a speedup without an interval, which of unequal conditions would decide something for the reader."""
    if speedup.verdict == "preview":
        return speedup
    return Speedup(
        value=speedup.value,
        verdict="undecided",
        excludes_one=False,
        all_blocks_value=speedup.all_blocks_value,
        reason=speedup.reason,
        all_blocks_verdict="undecided",
        verified=speedup.verified,
        launches=speedup.launches,
    )


def _is_verified(records: Sequence[LaunchRecord], cell: str) -> bool:
    first = first_launch(records, cell)
    return first is not None and first.worst_error is not None


def _ranking(
    rows: Mapping[str, CellResult], launches: Sequence[Observed], eligibility: Eligibility, finding: LeadEstimate
) -> list[str]:
    """Return the cells with right answers, fastest first; in their own order where something runs beside them.

    Those that are compared stand where their speedup puts them relative to the baseline; others by their own time. The
    leader and its rival come first: they were compared directly, maybe in launches that the baseline had no part in.
    """
    times = {cell: levels for cell in eligibility.healthy if (levels := launch_levels(launches, cell))}
    usual = {cell: median(levels) for cell, levels in times.items()}
    for cell in usual:
        ratio = rows[cell].speedup
        if ratio is not None and eligibility.baseline in usual:
            usual[cell] = usual[eligibility.baseline] - math.log(ratio.value)
    if eligibility.beside:
        return [cell for cell in rows if cell in usual]
    ranked = sorted(usual, key=usual.__getitem__)
    first = [cell for cell in (finding.leader, finding.rival) if cell is not None]
    place = min((ranked.index(cell) for cell in first), default=0)
    rest = [cell for cell in ranked if cell not in first]
    return [*rest[:place], *first, *rest[place:]]
