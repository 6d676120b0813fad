"""What has changed since a run was begun, so that it cannot be continued: what it measures would be something else."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from irbench import __version__
from irbench.core.result import GroupResult, RunDocument
from irbench.runner.plan import PlannedGroup

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
        now: What it is.
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
        plan: What is asked for, as a run document records it.
        environment: The machine and its software.
        files: Digests of models, data and own code, by what they are called.
        groups: The tables.
    """

    plan: Mapping[str, Any]
    environment: Mapping[str, Any]
    files: Mapping[str, str]
    groups: Sequence[PlannedGroup]


def changes_since(document: RunDocument, planned: PlannedRun) -> tuple[RunChange, ...]:
    """Return everything that must be as it was for a run to go on, and is not.

    Args:
        document: Of the run that ended early.
        planned: What would be measured now.
    """
    return (
        *changed_environment(document, planned.environment),
        *_different(SettingChange, _asked(document.plan), _asked(planned.plan)),
        *_changed_files(document.file_digests, planned.files),
        *_changed_tables(document.groups, planned.groups),
    )


def changed_environment(document: RunDocument, environment: Mapping[str, Any]) -> tuple[RunChange, ...]:
    """Return in what irbench, the machine and its packages differ from those that a run was begun with.

    Args:
        document: Of the run.
        environment: The machine and its software now.
    """
    other = document.irbench_version != __version__
    version = (RunChange("irbench", document.irbench_version, __version__),) if other else ()
    before, now = _flat(document.environment), _flat(environment)
    if "confined" not in before:  # an older document does not say
        now.pop("confined", None)
    confined = _different(ConfinementChange, *({"confined": facts.pop("confined", None)} for facts in (before, now)))
    return (*version, *confined, *_different(RunChange, before, now))


def confinement_change(*, is_set: bool) -> str:
    """Return, as part of a sentence, that the workers of what was begun were confined otherwise than now.

    Args:
        is_set: Whether confinement is asked for now, other than then.
    """
    if is_set:
        return "its workers were not confined, and IRBENCH_CONFINE is set now"
    return "its workers were confined, and IRBENCH_CONFINE is not set now"


def confinement_remedy(*, is_set: bool) -> str:
    """Return how to go on with what was begun with, or without, confinement.

    Args:
        is_set: Whether it is asked for now, other than then.
    """
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


def _asked(plan: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in _plain(plan).items() if name not in _NOT_COMPARED}


def _plain(value: Mapping[str, Any]) -> dict[str, Any]:
    """Return a value as it is when it was stored and read again, its numbers without the last digit's rounding."""
    found: dict[str, Any] = _DECODER.decode(msgspec.json.encode(value))
    return found


_DECODER = msgspec.json.Decoder(dict[str, Any], float_hook=lambda digits: float(f"{float(digits):.12g}"))
