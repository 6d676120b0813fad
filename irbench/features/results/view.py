"""The stored runs as a table."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import pairwise, takewhile
from operator import eq

from irbench.core.quantities import age, shortened
from irbench.features.results.report import SweepEntry
from irbench.render.outcome_texts import outcomes_text
from irbench.render.table import Row, TableColumn, TextTable
from irbench.store.entries import RunEntry

_NONE = "-"
_TIME_OF_ID = 10
_OUTCOME_WIDTH = 20
"""What a run was made for: other columns are left out before it is folded to less."""


@dataclass(frozen=True)
class _Field:
    """A column with what it shows of a run; an optional one is left out where no run has anything to show."""

    column: TableColumn
    text: Callable[[RunEntry, datetime], str]
    optional: bool = False


def run_table(entries: Sequence[RunEntry], now: datetime, stored: Sequence[RunEntry] = ()) -> TextTable:
    """Return a row for each run, with all that tells one from another: load, threads, machine and age.

    Args:
        entries: The runs.
        now: What ages are counted from, in UTC.
        stored: All runs, from which the beginnings of ids on narrow terminals tell these apart.
    """
    cells = {field: [field.text(entry, now) or _NONE for entry in entries] for field in _FIELDS}
    shown = [field for field in _FIELDS if not field.optional or set(cells[field]) != {_NONE}]
    rows = zip(*(cells[field] for field in shown), strict=True)
    run, *others = (field.column for field in shown)
    length = unique_beginning([entry.run_id for entry in (*entries, *stored)])
    return TextTable((replace(run, shortens_to=length), *others), tuple(map(Row, rows)))


def sweep_table(sweeps: Sequence[SweepEntry], now: datetime) -> TextTable:
    """Return a row for each sweep."""
    columns = (
        TableColumn("sweep", words=True),
        TableColumn("age", drops=2),
        TableColumn("when (UTC)", words=True, drops=3),
        TableColumn("models", words=True, folds=True, drops=1),
        TableColumn("tables"),
        TableColumn("failed"),
        TableColumn("rows"),
    )
    rows = (
        Row(
            (
                sweep.name,
                age(sweep.created, now),
                minute_text(sweep.created),
                ", ".join(sweep.models),
                *map(str, (sweep.tables, sweep.failed, sweep.rows)),
            )
        )
        for sweep in sweeps
    )
    return TextTable(columns, tuple(rows))


def minute_text(created: str) -> str:
    """Return when something was created, to the minute."""
    return created[: len("yyyy-mm-ddThh:mm")].replace("T", " ")


def unique_beginning(ids: Iterable[str]) -> int:
    """Return the least number of characters, 10 or more, that tell different ids apart.

    The first 10 of a ULID are the millisecond in which a run began.
    """
    ordered = sorted(set(ids))
    shared = (sum(1 for _ in takewhile(bool, map(eq, *pair))) for pair in pairwise(ordered))
    return max(_TIME_OF_ID, 1 + max(shared, default=0))


def _joined(values: Iterable[object]) -> str:
    return ",".join(map(str, values))


_FIELDS = (
    _Field(TableColumn("run", words=True), lambda entry, _: entry.run_id),
    _Field(TableColumn("name", words=True, folds=True, drops=2), lambda entry, _: entry.name, optional=True),
    _Field(TableColumn("age", drops=3), lambda entry, now: age(entry.created, now)),
    _Field(
        TableColumn("when (UTC)", words=True, drops=5),
        lambda entry, _: minute_text(entry.created),
    ),
    _Field(TableColumn("models", words=True, folds=True, drops=1), lambda entry, _: ", ".join(entry.models)),
    _Field(TableColumn("batch", drops=6), lambda entry, _: _joined(entry.batches)),
    _Field(TableColumn("streams", drops=9), lambda entry, _: _joined(entry.streams)),
    _Field(
        TableColumn("threads", drops=10), lambda entry, _: "native" if entry.threads is None else str(entry.threads)
    ),
    _Field(TableColumn("launches", drops=8), lambda entry, _: str(entry.launches)),
    _Field(TableColumn("rows", words=True, folds=True, drops=4), lambda entry, _: shortened(entry.rows, "row")),
    _Field(TableColumn("outcome", words=True, folds=True, least=_OUTCOME_WIDTH), lambda entry, _: outcomes_text(entry)),
    _Field(TableColumn("machine", words=True, folds=True, drops=11), lambda entry, _: entry.machine, optional=True),
    _Field(TableColumn("note", words=True, folds=True, drops=7), lambda entry, _: entry.note, optional=True),
)
