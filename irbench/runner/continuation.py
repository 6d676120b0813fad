"""Going on with a run that ended early as if it had not ended, and what must not have changed since it was begun."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import msgspec

from irbench import __version__
from irbench.core.record import LaunchRecord
from irbench.core.result import GroupResult, RunDocument
from irbench.core.row import ENDED_EARLY
from irbench.core.stored_plan import StoredPlan
from irbench.measure.lock import Holder
from irbench.notices import Note, Warn
from irbench.notices.notes import AnotherIrbench, GraphFormRefused, Int8StaticChosen
from irbench.notices.warnings import TailOmitted
from irbench.runner.plan import PlannedGroup, other_form
from irbench.spec import Timing
from irbench.stats.launch_planning import fewest_calls


@dataclass(frozen=True)
class GroupSoFar:
    """The group that was being measured when a run ended early."""

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


_NOT_COMPARED = ("command", "asked")
"""What of a plan changes nothing that is measured, or is there in another form."""
_NESTED = ("cpu", "distributions")
"""Facts of an environment that hold several."""


@dataclass(frozen=True)
class RunChange:
    """One thing that is not as it was when a run was begun: of irbench, of the machine, or a package.

    Attributes:
        name: What changed: ``onnxruntime``, ``kernel``, ``threads``, ``resnet50 (onnx)``, the model of a table.
        before: What it was; ``None`` where that says nothing, as of files, or where it was not there.
    """

    name: str
    before: Any = None
    now: Any = None

    def text(self, shown: Callable[[Any], str]) -> str:
        """Return it in words, as part of a sentence; ``shown`` writes a value."""
        return f"{self.name} was {shown(self.before)} and is {shown(self.now)}"


class ConfinementChange(RunChange):
    """Workers are confined now and were not then, or the other way round."""

    def text(self, shown: Callable[[Any], str]) -> str:
        return confinement_change(is_set=bool(self.now))


class SettingChange(RunChange):
    """Something else is asked for."""

    def text(self, shown: Callable[[Any], str]) -> str:
        return f"the setting {super().text(shown)}"


class FileChange(RunChange):
    """A model, data or own code is another."""

    def text(self, shown: Callable[[Any], str]) -> str:
        return f"{self.name} has changed"


class RowsChange(RunChange):
    """A table that was begun would have other rows."""

    def text(self, shown: Callable[[Any], str]) -> str:
        return f"the table of {self.name} has different rows"


@dataclass(frozen=True)
class PlannedRun:
    """What would be measured now.

    Attributes:
        files: Digests of models, data and own code, by what they are called.
    """

    plan: StoredPlan
    environment: Mapping[str, Any]
    files: Mapping[str, str]
    groups: Sequence[PlannedGroup]


def changes_since(document: RunDocument, planned: PlannedRun) -> tuple[RunChange, ...]:
    """Return everything that must be as it was for a run to go on, and is not."""
    return (
        *changed_environment(document, planned.environment),
        *_different(SettingChange, _asked(document.plan), _asked(planned.plan)),
        *_changed_files(document.file_digests, planned.files),
        *_changed_tables(document.groups, planned.groups),
    )


def changed_environment(document: RunDocument, environment: Mapping[str, Any]) -> tuple[RunChange, ...]:
    """Return in what irbench, the machine and its packages differ from those that a run was begun with."""
    other = document.irbench_version != __version__
    version = (RunChange("irbench", document.irbench_version, __version__),) if other else ()
    before, now = _flat(document.environment), _flat(environment)
    if "confined" not in before:  # an older document does not say
        now.pop("confined", None)
    confined = _different(ConfinementChange, *({"confined": facts.pop("confined", None)} for facts in (before, now)))
    return (*version, *confined, *_different(RunChange, before, now))


def confinement_change(*, is_set: bool) -> str:
    """Return, as part of a sentence, that earlier workers were confined and would not be now or the reverse.

    Args:
        is_set: Whether confinement is asked for now, other than then.
    """
    if is_set:
        return "its workers were not confined, and IRBENCH_CONFINE is set now"
    return "its workers were confined, and IRBENCH_CONFINE is not set now"


def confinement_remedy(*, is_set: bool) -> str:
    """Return how to go on with what was begun with, or without, confinement."""
    return f"{'Unset IRBENCH_CONFINE' if is_set else 'Set IRBENCH_CONFINE=1'} to go on as it began"


def _changed_files(before: Mapping[str, str], now: Mapping[str, str]) -> Iterator[RunChange]:
    """Yield each file that has changed; what nobody could read then or cannot read now is not known."""
    for name, digest in before.items():
        if now.get(name, digest) != digest:
            yield FileChange(name)


def _changed_tables(tables: Sequence[GroupResult], groups: Sequence[PlannedGroup]) -> Iterator[RunChange]:
    for number, table in enumerate(tables):
        if number >= len(groups) or not _is_of(table, groups[number]):
            yield RowsChange(table.model)


def _is_of(table: GroupResult, planned: PlannedGroup) -> bool:
    """Return whether a table is that of a group, each row with the same form of its graph.

    Where a runtime refused a form, rows ran the other one.
    """
    group = planned.group
    forms = {row.id: row.dynamic for row in table.cells}
    return (table.model, table.batch, forms) == (
        group.main.bundle.name, group.main.batch, {cell.id: cell.dynamic for cell in group.cells},
    )  # fmt: skip


def _different(kind: type[RunChange], before: Mapping[str, Any], now: Mapping[str, Any]) -> Iterator[RunChange]:
    for name in dict.fromkeys((*before, *now)):
        if before.get(name) != now.get(name):
            yield kind(name, before.get(name), now.get(name))


def _flat(environment: Mapping[str, Any]) -> dict[str, Any]:
    plain = _plain(environment)
    nested = [value for name, value in plain.items() if name in _NESTED and isinstance(value, dict)]
    facts = {name: value for name, value in plain.items() if value not in nested}
    return {**facts, **{name: value for several in nested for name, value in several.items()}}


def _asked(plan: StoredPlan) -> dict[str, Any]:
    return {name: value for name, value in _plain(plan).items() if name not in _NOT_COMPARED}


def _plain(value: object) -> dict[str, Any]:
    """Return a value as it is when it was stored and read again, its numbers without the last digit's rounding."""
    plain: dict[str, Any] = _DECODER.decode(msgspec.json.encode(value))
    return plain


_DECODER = msgspec.json.Decoder(dict[str, Any], float_hook=lambda digits: float(f"{float(digits):.12g}"))
