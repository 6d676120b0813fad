"""Stored runs with their samples, of which nothing is believed before it was checked."""

from __future__ import annotations

import math
import os
from dataclasses import dataclass
from pathlib import Path

from irbench import __version__
from irbench.across_runs.problems import (
    Altered,
    Error,
    FiguresAltered,
    Finished,
    Incomplete,
    NoSpeeds,
    NotMeasured,
    Problem,
    Unreadable,
    WithoutSamples,
)
from irbench.errors import IrbenchError
from irbench.record import LaunchRecord
from irbench.result import RunDocument
from irbench.row import CellResult
from irbench.stats.rederive import rederive
from irbench.store.folders import RUN_FILE
from irbench.store.launches import decode_launch
from irbench.store.reading import load_document, read_launch

_SAME = 1e-9
"""Figures are derived by the same functions from the same integers; only the order of sums may differ."""


@dataclass(frozen=True)
class CheckedRun:
    """One run."""

    folder: Path
    document: RunDocument
    records: tuple[LaunchRecord, ...]

    @property
    def run_id(self) -> str:
        """The run's ULID."""
        return self.document.run_id


def read_run(folder: Path) -> tuple[CheckedRun | None, tuple[Problem, ...]]:
    """Return a run with its samples, and everything that is wrong with it.

    Every launch's file is compared with its checksum, and the figures of every row with those that follow from the
    samples: a run that was changed after it was stored is not used.
    """
    document, unreadable = _document(folder)
    if document is None:
        return None, unreadable
    if document.cold_starts or document.soaks:
        return None, (NoSpeeds(document.run_id),)
    if document.launches and not any(os.path.lexists(folder / name) for name in document.launches):
        return None, (WithoutSamples(document.run_id),)
    records, damaged = _records(folder, document)
    if damaged:
        return None, damaged
    altered = _altered_rows(document, records)
    if altered:
        return None, (FiguresAltered(document.run_id, Altered(tuple(altered))),)
    if not records:
        return None, (NotMeasured(document.run_id),)
    incomplete = () if document.complete else (Incomplete(document.run_id, Finished(len(records))),)
    return CheckedRun(folder, document, records), incomplete


def read_document(folder: Path) -> tuple[RunDocument | None, tuple[Problem, ...]]:
    """Return the document of a run, whose files are compared with their checksums all the same."""
    document, unreadable = _document(folder)
    if document is None:
        return None, unreadable
    damaged = tuple(problem for name in sorted(document.launches) for problem in _changed(folder, name, document))
    return (None, damaged) if damaged else (document, ())


def _document(folder: Path) -> tuple[RunDocument | None, tuple[Problem, ...]]:
    try:
        return load_document(folder), ()
    except IrbenchError as error:
        return None, (_unreadable(str(folder / RUN_FILE), error),)


def _records(folder: Path, document: RunDocument) -> tuple[tuple[LaunchRecord, ...], tuple[Problem, ...]]:
    records: list[LaunchRecord] = []
    problems: list[Problem] = []
    for name in sorted(document.launches):
        try:
            records.append(decode_launch(read_launch(folder, name, document), str(folder / name)))
        except IrbenchError as error:
            problems.append(_unreadable(document.run_id, error))
    return tuple(records), tuple(problems)


def _changed(folder: Path, name: str, document: RunDocument) -> tuple[Problem, ...]:
    try:
        read_launch(folder, name, document)
    except IrbenchError as error:
        return (_unreadable(document.run_id, error),)
    return ()


def _unreadable(run: str, error: IrbenchError) -> Problem:
    return Unreadable(run, Error(error.message, error.hint))


def _altered_rows(document: RunDocument, records: tuple[LaunchRecord, ...]) -> tuple[str, ...]:
    """Return the rows whose figures do not follow from the samples, by their labels.

    Another version of irbench may have derived them in another way, which says nothing against them.
    """
    if document.irbench_version != __version__:
        return ()
    try:
        again = rederive(document, records)
    except IrbenchError:  # a table of an older irbench does not say what it was derived from
        return ()
    found: list[str] = []
    for table, derived in zip(document.groups, again.groups, strict=True):
        rows = {row.id: row for row in derived.cells}
        found += [row.label for row in table.cells if not _same_figures(row, rows.get(row.id))]
    return tuple(found)


def _same_figures(stored: CellResult, derived: CellResult | None) -> bool:
    if derived is None:
        return False
    pairs = zip(_figures(stored), _figures(derived), strict=True)
    return all(_same(before, after) for before, after in pairs)


def _figures(row: CellResult) -> tuple[float | None, ...]:
    return (row.latency_ms.p50 if row.latency_ms is not None else None, row.fps)


def _same(before: float | None, after: float | None) -> bool:
    if before is None or after is None:
        return before is after
    return math.isclose(before, after, rel_tol=_SAME)
