"""Marks of a row: what a reader must know besides its figures."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Sequence
from dataclasses import asdict

from irbench.core.output_check import judge
from irbench.core.record import LaunchRecord
from irbench.notices import Mark
from irbench.notices.marks import (
    AboveMaxLatency,
    AnswersDiffer,
    BeyondTolerance,
    ChangesOverLaunches,
    NodesElsewhere,
    NoOutputs,
    NotRanked,
    OtherPeaks,
    OtherThanGraph,
    Oversubscribed,
    SelfTimed,
    StarvedRow,
    VendorOperators,
)
from irbench.spec import Cell
from irbench.stats.eligibility import Eligibility, changing, first_launch
from irbench.stats.notices.starvation import starving
from irbench.stats.observed import Observed
from irbench.stats.paced import late_mark


def marks_of(
    cell: Cell, records: Sequence[LaunchRecord], launches: Sequence[Observed], eligibility: Eligibility
) -> tuple[Mark, ...]:
    """Return a row's marks.

    Args:
        cell: Whose row.
        records: The group's launches.
        launches: The same, reduced.
        eligibility: Every cell's part.
    """
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
        *_beyond_tolerance(cell, records, eligibility),
        *_elsewhere(cell, records, eligibility),
        *_other_peaks(cell, records),
    )


def _oversubscribed(cell: Cell, records: Sequence[LaunchRecord]) -> Iterator[Mark]:
    first = first_launch(records, cell.id)
    effective = first.effective.get("threads") if first is not None else None
    # a runtime whose callers compute too makes threads of its streams, which are more than were asked for all the same
    known = [threads for threads in (effective, cell.load.threads) if isinstance(threads, int)]
    if known and cell.load.streams > min(known):
        yield Oversubscribed(streams=cell.load.streams, threads=known[0], requested_threads=cell.load.threads)


def _starved(cell: Cell, records: Sequence[LaunchRecord], launches: Sequence[Observed]) -> Iterator[Mark]:
    for found in starving(records, launches, (cell,)).values():
        yield StarvedRow(asked=found.asked, found=found.found)


def _over_launches(cell: Cell, records: Sequence[LaunchRecord]) -> Iterator[Mark]:
    for name, values in changing(records, cell.id).items():
        yield ChangesOverLaunches(property=name, values=tuple(values))


def _unlike(cell: Cell, eligibility: Eligibility) -> Iterator[Mark]:
    """Say what keeps a converted graph from being a stand-in for the model."""
    disagreement = eligibility.disagreements.get(cell.id)
    if disagreement is not None and eligibility.states[cell.id] == "ok":
        yield AnswersDiffer(**asdict(disagreement), is_candidate=cell.id in eligibility.candidates)


def _bound_to_vendors(cell: Cell, eligibility: Eligibility) -> Iterator[Mark]:
    """Say that not every runtime could read the graph."""
    if cell.artifact is not None and cell.artifact.domains and eligibility.states[cell.id] == "ok":
        yield VendorOperators(domains=tuple(cell.artifact.domains))


def _other_than_graph(cell: Cell, eligibility: Eligibility) -> Iterator[Mark]:
    """Say that the runtime does not compute a narrow graph in what it holds."""
    held = cell.artifact.precision if cell.artifact is not None else ""
    computed = eligibility.precisions.get(cell.id, held)
    if held not in ("", "fp32", computed) and eligibility.states[cell.id] == "ok":
        yield OtherThanGraph(graph=held, precision=computed)


def _too_slow(cell: Cell, eligibility: Eligibility) -> Iterator[Mark]:
    """Say that the row answers later than was asked for, and is no candidate."""
    if cell.id in eligibility.too_slow and eligibility.states[cell.id] == "ok":
        yield AboveMaxLatency(p90_ms=eligibility.too_slow[cell.id])


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


def _share_of_time(cell: Cell, records: Sequence[LaunchRecord]) -> float | None:
    """Return what the timed windows that a command reports are of the time that its rounds took, settling included."""
    own = [measured for record in records for measured in record.cells if measured.cell == cell.id]
    shares = [
        int(round_.completion_ns[-1]) / max(1, round_.evidence.wall_ns) for launch in own for round_ in launch.rounds
    ]
    return statistics.median(shares) if shares else None


def _beyond_tolerance(cell: Cell, records: Sequence[LaunchRecord], eligibility: Eligibility) -> Iterator[Mark]:
    """Say that the row is right only by the measure that the user gave."""
    first = first_launch(records, cell.id)
    error = None if first is None else first.worst_error
    if first is None or error is None or cell.accuracy is None or eligibility.states[cell.id] != "ok":
        return
    held = cell.artifact.precision if cell.artifact is not None else ""
    precision = str(first.effective.get("precision"))
    if judge(error, precision, held) is not None:
        yield BeyondTolerance(max_rel=error.max_rel, precision=precision)


def _elsewhere(cell: Cell, records: Sequence[LaunchRecord], eligibility: Eligibility) -> Iterator[Mark]:
    """Say that nodes run on another device than was asked for."""
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
