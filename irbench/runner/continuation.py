"""Going on with a run that ended early: after its last launch, as if it had not ended."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import msgspec

from irbench import __version__
from irbench.measure.lock import Holder
from irbench.notices import Warn
from irbench.record import LaunchRecord
from irbench.result import GroupResult, RunDocument
from irbench.runner.plan import PlannedGroup
from irbench.spec import Timing
from irbench.stats import fewest_calls

__all__ = ["GroupSoFar", "asks_for_the_same", "group_so_far", "without_unfinished"]

_ENDED_EARLY = ("interrupt", "unfinished")
_NOT_COMPARED = ("command",)
"""What of a plan changes nothing that is measured."""


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
        return tuple(Holder(**note.facts) for note in self.table.notes if note.code == "another-irbench")

    def calls(self, timing: Timing) -> int:
        """Return how many calls the blocks made that count: samples that take turns go on from there."""
        return sum(
            max(0, len(record.blocks) - timing.burn_in_blocks) * _calls_of_block(record) for record in self.records
        )

    def timing(self, timing: Timing) -> Timing:
        """Return the protocol's numbers as the first launch left them: without tails where they did not fit."""
        return replace(timing, tail=timing.tail and all(remark.code != "tail-omitted" for remark in self.remarks))


def asks_for_the_same(
    document: RunDocument, plan: Mapping[str, Any], environment: Mapping[str, Any], groups: Sequence[PlannedGroup]
) -> bool:
    """Return whether a run that ended early can go on as this one.

    The machine, its software and irbench are the same, everything that was asked for is, and so are the rows of the
    tables that it has. Cold starts and soaks are no launches, and are not gone on with.

    Args:
        document: Of the run that ended early.
        plan: What is asked for now.
        environment: The machine and its software now.
        groups: What would be measured now.
    """
    if document.complete or document.cold_starts or document.soaks or document.irbench_version != __version__:
        return False
    if len(document.groups) > len(groups):
        return False
    same_tables = all(_is_of(table, planned) for table, planned in zip(document.groups, groups, strict=False))
    return same_tables and _plain(environment) == _plain(document.environment) and _asked(plan) == _asked(document.plan)


def group_so_far(document: RunDocument, launches: Sequence[LaunchRecord]) -> GroupSoFar | None:
    """Return what is known of the group that a run was measuring when it ended early; ``None`` without a launch."""
    number = len(document.groups) - 1
    if number < 0 or document.groups[number].stopped_by not in _ENDED_EARLY:
        return None
    records = tuple(launch for launch in launches if launch.group == number)
    return GroupSoFar(document.groups[number], records) if records else None


def without_unfinished(document: RunDocument) -> RunDocument:
    """Return the document with the tables that were finished."""
    finished = tuple(table for table in document.groups if table.stopped_by not in _ENDED_EARLY)
    return replace(document, groups=finished)


def _samples(record: LaunchRecord) -> dict[str, int]:
    return {cell.cell: cell.rounds[0].issue_ns.size for cell in record.cells if cell.rounds}


def _calls_of_block(record: LaunchRecord) -> int:
    samples = _samples(record)
    return fewest_calls(samples, {cell.cell: cell.calls_per_sample for cell in record.cells}) if samples else 0


def _is_of(table: GroupResult, planned: PlannedGroup) -> bool:
    """Return whether a table is that of a group, each row with the same form of its graph.

    Where a runtime refused a form, rows ran the other one.
    """
    group = planned.group
    forms = {row.id: row.dynamic for row in table.cells}
    return (table.model, table.batch, forms) == (
        group.main.bundle.name, group.main.batch, {cell.id: cell.dynamic for cell in group.cells},
    )  # fmt: skip


def _asked(plan: Mapping[str, Any]) -> Any:
    return _plain({key: value for key, value in plan.items() if key not in _NOT_COMPARED})


def _plain(value: Any) -> Any:
    """Return a value as it is when it was stored and read again."""
    return msgspec.json.decode(msgspec.json.encode(value))
