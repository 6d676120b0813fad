"""Going on with a run that ended early: after its last launch, as if it had not ended."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from irbench.core.record import LaunchRecord
from irbench.core.result import GroupResult, RunDocument
from irbench.core.row import ENDED_EARLY
from irbench.measure.lock import Holder
from irbench.notices import Note, Warn
from irbench.notices.notes import AnotherIrbench, GraphFormRefused, Int8StaticChosen
from irbench.notices.warnings import TailOmitted
from irbench.runner.plan import PlannedGroup, other_form
from irbench.spec import Timing
from irbench.stats import fewest_calls


@dataclass(frozen=True)
class GroupSoFar:
    """The group that was being measured when a run ended early.

    Attributes:
        table: As its last launch left it.
        records: Its launches, at least one.
    """

    table: GroupResult
    records: tuple[LaunchRecord, ...]

    @property
    def launches_s(self) -> list[float]:
        """How long launches took, as far as that is known: all alike."""
        return [self.table.seconds / len(self.records)] * len(self.records)

    @property
    def samples(self) -> Mapping[str, int]:
        """Samples per round, by cell id, as the first launch of each cell decided."""
        return {cell: count for record in reversed(self.records) for cell, count in _samples(record).items()}

    @property
    def remarks(self) -> tuple[Warn, ...]:
        """Warnings that do not follow from the samples."""
        basis = self.table.basis
        return self.table.warnings[: len(self.table.warnings) - (0 if basis is None else basis.derived_warnings)]

    @property
    def others(self) -> tuple[Holder, ...]:
        """Who else was measuring on this machine."""
        return tuple(
            Holder(note.process, note.since, note.what) for note in self.table.notes if isinstance(note, AnotherIrbench)
        )

    def calls(self, timing: Timing) -> int:
        """Return how many calls the blocks made that count: samples that take turns go on from there."""
        return sum(
            max(0, len(record.blocks) - timing.burn_in_blocks) * _calls_of_block(record) for record in self.records
        )

    def timing(self, timing: Timing) -> Timing:
        """Return the protocol's numbers as the first launch left them: without tails where they did not fit."""
        return replace(timing, tail=timing.tail and not any(isinstance(remark, TailOmitted) for remark in self.remarks))


def group_so_far(document: RunDocument, launches: Sequence[LaunchRecord]) -> GroupSoFar | None:
    """Return what is known of the group that a run was measuring when it ended early; ``None`` without a launch."""
    number = len(document.groups) - 1
    if number < 0 or document.groups[number].stopped_by not in ENDED_EARLY:
        return None
    records = tuple(launch for launch in launches if launch.group == number)
    return GroupSoFar(document.groups[number], records) if records else None


def as_begun(groups: Sequence[PlannedGroup], tables: Sequence[GroupResult]) -> tuple[PlannedGroup, ...]:
    """Return groups as they were when a run was begun, where its plan alone does not tell.

    Rows have the forms of graphs that they ran: a runtime that refused a form would refuse it again.

    Args:
        groups: What its plan asks for.
        tables: Those that it has, as its launches left them.
    """
    begun = (_with_measured_forms(planned, table) for planned, table in zip(groups, tables, strict=False))
    chosen = tuple(_notes(Int8StaticChosen, tables[0])) if tables else ()
    return tuple(replace(group, notes=(*group.notes, *chosen)) for group in (*begun, *groups[len(tables) :]))


def _with_measured_forms(planned: PlannedGroup, table: GroupResult) -> PlannedGroup:
    ran = {row.id: row.dynamic for row in table.cells}
    changed = {cell.id for cell in planned.group.cells if ran.get(cell.id, cell.dynamic) != cell.dynamic}
    cells = tuple(
        (other_form(cell, planned.others) if cell.id in changed else None) or cell for cell in planned.group.cells
    )
    return replace(
        planned,
        group=replace(planned.group, cells=cells),
        others={cell: artifact for cell, artifact in planned.others.items() if cell not in changed},
        notes=(*planned.notes, *_notes(GraphFormRefused, table)),
    )


def _notes(kind: type[Note], table: GroupResult) -> Iterator[Note]:
    return (note for note in table.notes if isinstance(note, kind))


def without_unfinished(document: RunDocument) -> RunDocument:
    """Return the document with the tables that were finished."""
    finished = tuple(table for table in document.groups if table.stopped_by not in ENDED_EARLY)
    return replace(document, groups=finished)


def _samples(record: LaunchRecord) -> dict[str, int]:
    return {cell.cell: cell.rounds[0].issue_ns.size for cell in record.cells if cell.rounds}


def _calls_of_block(record: LaunchRecord) -> int:
    samples = _samples(record)
    return fewest_calls(samples, {cell.cell: cell.calls_per_sample for cell in record.cells}) if samples else 0
