"""Marks of rows, and notes below a table."""

from __future__ import annotations

import itertools
import math
import statistics
from collections.abc import Iterator, Sequence
from dataclasses import asdict, replace
from typing import cast

from irbench.core.output_check import judge
from irbench.core.record import LaunchRecord
from irbench.notices import Mark, Note
from irbench.notices.absent_readings import AbsenceReason
from irbench.notices.marks import (
    AnswersDiffer,
    BeyondTolerance,
    ChangesOverLaunches,
    ClocksNotLocked,
    GpuNotRead,
    GpuThrottled,
    LossNotCompared,
    NodesElsewhere,
    NoOutputs,
    NotRanked,
    OtherPeaks,
    OtherThanGraph,
    OtherTokens,
    Oversubscribed,
    RefusedInWarmUp,
    SelfTimed,
    StarvedRow,
    VendorOperators,
)
from irbench.notices.notes import BusyNeighbour, IrVersionLowered, OwnGenerateFaster, SlowerThanExported, TailRange
from irbench.spec import Cell
from irbench.stats.blocks import brakes_of
from irbench.stats.eligibility import Eligibility, changing, first_launch
from irbench.stats.figures import tail_percentiles_ms, tails_ns
from irbench.stats.notice_rules.machine_warnings import starving
from irbench.stats.notice_rules.table_state import TableState
from irbench.stats.observed import Observed
from irbench.stats.run_modes.paced import late_mark
from irbench.stats.speedups import holm_intervals, launch_ratios, verdict


def marks_of(
    cell: Cell, records: Sequence[LaunchRecord], launches: Sequence[Observed], eligibility: Eligibility
) -> tuple[Mark, ...]:
    """Return a row's marks."""
    return (
        *_oversubscribed(cell, records),
        *late_mark(records, cell.id),
        *_starved(cell, records, launches),
        *_over_launches(cell, records),
        *_unlike(cell, eligibility),
        *_mixed(cell, eligibility),
        *_other_than_graph(cell, eligibility),
        *_bound_to_vendors(cell, eligibility),
        *_too_slow(cell, eligibility),
        *_own_code(cell, records, eligibility),
        *_loss_alone(cell, eligibility),
        *_beyond_tolerance(cell, records, eligibility),
        *_other_tokens(cell, records, eligibility),
        *_elsewhere(cell, records, eligibility),
        *_other_peaks(cell, records),
        *_clocks(cell, records, launches),
    )


_SAME_CLOCK = 0.99
"""Of the highest clock: one step, 15 MHz, is less than a hundredth of what GPUs run at under load."""


def _clocks(cell: Cell, records: Sequence[LaunchRecord], launches: Sequence[Observed]) -> Iterator[Mark]:
    """Say that a GPU's clock differed between the rounds that count, what slowed it down, or that none was read."""
    first = first_launch(records, cell.id)
    unread = None if first is None else first.effective.get("gpu_unread")
    if unread is not None:
        yield GpuNotRead(reason=cast("AbsenceReason", unread))
    read = [
        round_.gpu
        for record, seen in zip(records, launches, strict=True)
        for own in record.cells
        if own.cell == cell.id and not seen.leaves_out(cell.id)
        for round_ in own.rounds
        if round_.block in seen.counted and round_.gpu is not None
    ]
    brakes = [brakes_of(readings) for readings in read]
    braked = sum(map(bool, brakes))
    if braked:
        yield GpuThrottled(rounds=len(read), throttled=braked, limits=tuple(sorted(frozenset().union(*brakes))))
    clocks = [after.sm_mhz for _, after in read if after.sm_mhz is not None]
    if clocks and min(clocks) < _SAME_CLOCK * max(clocks):
        yield ClocksNotLocked(lowest_mhz=min(clocks), highest_mhz=max(clocks))


def _oversubscribed(cell: Cell, records: Sequence[LaunchRecord]) -> Iterator[Mark]:
    first = first_launch(records, cell.id)
    effective = first.effective.get("threads") if first is not None else None
    # a runtime whose callers compute too makes threads of its streams, which are more than were asked for all the same
    known = [threads for threads in (effective, cell.load.threads) if isinstance(threads, int)]
    if known and cell.load.streams > min(known):
        yield Oversubscribed(streams=cell.load.streams, threads=known[0], requested_threads=cell.load.threads)


def _starved(cell: Cell, records: Sequence[LaunchRecord], launches: Sequence[Observed]) -> Iterator[Mark]:
    for seen in starving(records, launches, (cell,)).values():
        yield StarvedRow(asked=seen.asked, found=seen.found)


def _over_launches(cell: Cell, records: Sequence[LaunchRecord]) -> Iterator[Mark]:
    for name, values in changing(records, cell.id).items():
        yield ChangesOverLaunches(property=name, values=tuple(values))


def _unlike(cell: Cell, eligibility: Eligibility) -> Iterator[Mark]:
    """Say what keeps a converted graph from being a stand-in for the model."""
    disagreement = eligibility.disagreements.get(cell.id)
    if disagreement is not None and eligibility.states[cell.id] == "ok":
        yield AnswersDiffer(**asdict(disagreement), is_candidate=cell.id in eligibility.candidates)


def _bound_to_vendors(cell: Cell, eligibility: Eligibility) -> Iterator[Mark]:
    if cell.artifact is not None and cell.artifact.domains and eligibility.states[cell.id] == "ok":
        yield VendorOperators(domains=tuple(cell.artifact.domains))


def _other_than_graph(cell: Cell, eligibility: Eligibility) -> Iterator[Mark]:
    """Say that the runtime does not compute a narrow graph in what it holds."""
    graph_precision = cell.artifact.precision if cell.artifact is not None else ""
    computed = eligibility.precisions.get(cell.id, graph_precision)
    if graph_precision not in ("", "fp32", computed) and eligibility.states[cell.id] == "ok":
        yield OtherThanGraph(graph=graph_precision, precision=computed)


def _too_slow(cell: Cell, eligibility: Eligibility) -> Iterator[Mark]:
    if cell.id in eligibility.too_slow and eligibility.states[cell.id] == "ok":
        yield eligibility.too_slow[cell.id]


def _mixed(cell: Cell, eligibility: Eligibility) -> Iterator[Mark]:
    mixed = eligibility.mixed(cell.id)
    if mixed is not None and eligibility.states[cell.id] == "ok":
        yield (
            mixed
            if cell.id in eligibility.compared
            else NotRanked(precision=mixed.precision, baseline_precision=mixed.baseline_precision)
        )


def _own_code(cell: Cell, records: Sequence[LaunchRecord], eligibility: Eligibility) -> Iterator[Mark]:
    """Say what irbench does not know of a row that a user's own code runs."""
    first = first_launch(records, cell.id)
    if cell.program is None or first is None or eligibility.states[cell.id] != "ok":
        return
    if first.effective.get("returns_outputs") is False:
        yield NoOutputs()
    if cell.program.kind == "command":
        yield SelfTimed(share=_share_of_time(cell, records))
    warm_ups = [own.warm_up for record in records for own in record.cells if own.cell == cell.id]
    refused = sum(warm_up.refused for warm_up in warm_ups if warm_up is not None)
    if refused:
        yield RefusedInWarmUp(calls=refused)


def _loss_alone(cell: Cell, eligibility: Eligibility) -> Iterator[Mark]:
    """Say that no row in fp32 trains that the loss of one in another precision could be compared with."""
    is_alone = cell.loss is not None and cell.loss.reference is None and cell.load.precision != "fp32"
    if is_alone and eligibility.states[cell.id] == "ok":
        yield LossNotCompared()


def _share_of_time(cell: Cell, records: Sequence[LaunchRecord]) -> float | None:
    """Return what the timed windows that a command reports are of the time that its rounds took, settling included."""
    own = [measured for record in records for measured in record.cells if measured.cell == cell.id]
    shares = [
        int(round_.completion_ns[-1]) / max(1, round_.evidence.wall_ns) for launch in own for round_ in launch.rounds
    ]
    return statistics.median(shares) if shares else None


def _beyond_tolerance(cell: Cell, records: Sequence[LaunchRecord], eligibility: Eligibility) -> Iterator[Mark]:
    first = first_launch(records, cell.id)
    error = None if first is None else first.worst_error
    if first is None or error is None or cell.accuracy is None or eligibility.states[cell.id] != "ok":
        return
    graph_precision = cell.artifact.precision if cell.artifact is not None else ""
    precision = str(first.effective.get("precision"))
    if judge(error, precision, graph_precision) is not None:
        yield BeyondTolerance(max_rel=error.max_rel, precision=precision)


def _other_tokens(cell: Cell, records: Sequence[LaunchRecord], eligibility: Eligibility) -> Iterator[Mark]:
    first = first_launch(records, cell.id)
    if first is None or eligibility.states[cell.id] != "ok" or first.stages:
        return
    if not any(each.part_ns.size for each in first.rounds):
        return
    errors = [error for error in (first.output_error, first.repeat_error) if error is not None]
    same = min((error.top1_agreement for error in errors if error.top1_agreement is not None), default=1.0)
    if same < 1:
        yield OtherTokens(same=same)


def _elsewhere(cell: Cell, records: Sequence[LaunchRecord], eligibility: Eligibility) -> Iterator[Mark]:
    first = first_launch(records, cell.id)
    if first is None or not first.effective.get("nodes_elsewhere") or eligibility.states[cell.id] != "ok":
        return
    effective = {name: first.effective.get(name) for name in ("nodes", "nodes_elsewhere", "operators_elsewhere")}
    yield NodesElsewhere(device=cell.device, **effective)


def _other_peaks(cell: Cell, records: Sequence[LaunchRecord]) -> Iterator[Mark]:
    """Yield a mark where the machine's peaks were measured with another version of the runtime, or without it."""
    first = first_launch(records, cell.id)
    if first is None or cell.work is None or not cell.work.roofs:
        return
    version, measured_with = first.effective.get("version"), cell.work.peaks_version
    if version is not None and measured_with is not None and version != measured_with:
        yield OtherPeaks(version=version, measured_with=measured_with)


def slower_levels(state: TableState) -> Iterator[Note]:
    """Yield a note for each optimised row that is slower than the row of the exported graph beside it.

    Rows beside the table's baseline are left out: their speedup says it. What is claimed of the others holds together
    with the protocol's confidence; see :func:`irbench.stats.speedups.holm_intervals`.
    """
    pairs = dict(_pairs(state))
    ratios = {
        cell: [-ratio for ratio in launch_ratios(state.launches, cell, exported)] for cell, exported in pairs.items()
    }
    measured = {cell: values for cell, values in ratios.items() if values}
    for cell, faster in holm_intervals(measured, state.timing).items():
        if verdict(faster, state.timing) == "slower":
            value, low, high = map(math.exp, (faster.value, faster.low, faster.high))
            yield SlowerThanExported(cell=cell, exported=pairs[cell], value=value, low=low, high=high)


def _pairs(state: TableState) -> Iterator[tuple[str, str]]:
    healthy = [cell for cell in state.group.cells if cell.id in state.eligibility.healthy]
    exported = [cell for cell in healthy if not _is_optimized(cell) and cell.id != state.eligibility.baseline]
    for cell in filter(_is_optimized, healthy):
        beside = (other.id for other in exported if _differ_in_graph_alone(cell, other, state))
        other = next(beside, None)
        if other is not None:
            yield cell.id, other


def _is_optimized(cell: Cell) -> bool:
    return cell.artifact is not None and bool(cell.artifact.variant)


def _differ_in_graph_alone(cell: Cell, other: Cell, state: TableState) -> bool:
    own, others = (replace(row, id="", artifact=None, accuracy=None, work=None) for row in (cell, other))
    precisions = state.eligibility.precisions
    return own == others and precisions.get(cell.id) == precisions.get(other.id)


def find_notes(state: TableState) -> tuple[Note, ...]:
    """Return what belongs below a group's table."""
    return (
        *_lowered_ir_versions(state),
        *_tails(state),
        *slower_levels(state),
        *_own_generations(state),
        *_neighbours(state),
    )


def _own_generations(state: TableState) -> Iterator[Note]:
    """Yield a note for each function of the user's that generates faster than every decoder of the table."""
    generating = [
        cell
        for cell in state.group.cells
        if cell.id in state.eligibility.healthy and state.rows[cell.id].generation is not None
    ]
    decoders = [cell for cell in generating if cell.program is None]
    for own in (cell for cell in generating if cell.program is not None):
        ratios = {cell.id: launch_ratios(state.launches, cell.id, own.id) for cell in decoders}
        intervals = holm_intervals({name: values for name, values in ratios.items() if values}, state.timing)
        generation = state.rows[own.id].generation
        if generation is None or len(intervals) < len(decoders) or not intervals:
            continue
        if all(verdict(interval, state.timing) == "faster" for interval in intervals.values()):
            fastest = min(intervals, key=lambda name: intervals[name].value)
            value, low, high = (
                math.exp(end) for end in (intervals[fastest].value, intervals[fastest].low, intervals[fastest].high)
            )
            yield OwnGenerateFaster(
                cell=own.id,
                decoder=fastest,
                value=value,
                low=low,
                high=high,
                new_tokens=generation.new_tokens,
                copies_caches=all(cell.io == "copy" for cell in decoders),
                is_optimized=any(map(_is_optimized, decoders)),
            )


def _lowered_ir_versions(state: TableState) -> Iterator[Note]:
    for cell in state.eligibility.healthy:
        for launch in itertools.islice(state.launches_of(cell), 1):
            original, lowered = (launch.effective.get(key) for key in ("ir_version", "lowered_ir_version"))
            if lowered is not None:
                yield IrVersionLowered(cell=cell, ir_version=original, lowered_ir_version=lowered)


def _tails(state: TableState) -> Iterator[Note]:
    for cell in state.eligibility.healthy:
        p99 = tail_percentiles_ms(tails_ns(state.counted_records(cell), cell), 99, state.timing)
        if p99:
            yield TailRange(cell=cell, low_ms=min(p99), high_ms=max(p99))


def _neighbours(state: TableState) -> Iterator[Note]:
    if state.timing.busy_processors:
        yield BusyNeighbour(processors=tuple(state.timing.busy_processors))
