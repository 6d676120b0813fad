"""What writers of formats are given: runs that were read and checked, and the columns that were chosen."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from irbench.core.result import RunDocument
from irbench.errors import IrbenchError
from irbench.render.columns.declaration import Kind, RowSource
from irbench.render.formats.row_table import RowTable, kinds_of, row_sources, table_of
from irbench.store.folders import removal_of
from irbench.store.runs import check_launches, load_document, outline_of, read_launches


@dataclass(frozen=True)
class ExportedRun:
    """A stored run, whose document is not held: thousands of them are written to one file."""

    folder: Path
    load: Callable[[], RunDocument]
    run_id: str
    is_complete: bool
    kinds: tuple[Kind, ...]

    @staticmethod
    def of(document: RunDocument, folder: Path) -> ExportedRun:
        """Return a run whose document is at hand."""
        return _exported(document, folder, lambda: document)

    @property
    def document(self) -> RunDocument:
        """All that is known of it; raises as :func:`irbench.store.runs.load_document` does."""
        return self.load()


@dataclass(frozen=True)
class Export:
    """What is written to one file.

    Attributes:
        runs: In the order of their rows.
        unread: Runs that are read while their rows are written, and then are in ``runs``; ``None`` where all were read.
    """

    runs: Sequence[ExportedRun]
    columns: tuple[str, ...] = ()
    unread: UnreadRuns | None = None

    @property
    def table(self) -> RowTable:
        """All rows with the columns that were chosen, read run by run; raises as :func:`row_table`."""
        if self.unread is not None:
            return table_of(self.unread, self.columns, self.unread.kinds)
        kinds: tuple[Kind, ...] = tuple(dict.fromkeys(kind for run in self.runs for kind in run.kinds))
        return table_of(_RowsOfRuns(self.runs), self.columns, kinds)


class UnreadRuns:
    """The rows of runs that are read and checked one after the other, each once; they can be gone through once.

    The first of them is read at once, so that nothing is written where there is none.
    """

    def __init__(self, folders: Collection[Path], problems: list[IrbenchError]) -> None:
        self.kinds = _kinds_in(folders)
        self.read: list[ExportedRun] = []
        self._folders, self._problems = iter(folders), problems
        self._first = self._next()

    def __iter__(self) -> Iterator[RowSource]:
        """Read the runs, and yield their rows."""
        document, self._first = self._first, None
        while document is not None:
            yield from row_sources(document)
            document = self._next()

    def _next(self) -> RunDocument | None:
        for folder in self._folders:
            try:
                document = _checked_document(folder)
            except IrbenchError as error:
                self._problems.append(error)
            else:
                self.read.append(_exported(document, folder, partial(load_document, folder)))
                return document
        return None


@dataclass(frozen=True)
class _RowsOfRuns:
    runs: Sequence[ExportedRun]

    def __iter__(self) -> Iterator[RowSource]:
        """Read the runs one after the other; raises as :attr:`ExportedRun.document`."""
        for run in self.runs:
            yield from row_sources(run.document)


def read_run(folder: Path, *, with_samples: bool) -> ExportedRun:
    """Return the run in a folder, every launch's file compared with its checksum."""
    document = _checked_document(folder)
    if with_samples:
        for record in read_launches(folder, document):
            if record.group not in range(len(document.groups)):
                raise IrbenchError(
                    f"The samples of run {document.run_id} do not match its document: it has no table {record.group}.",
                    hint=f"Restore the run from a copy, or delete it: {removal_of(folder)}",
                )
    return _exported(document, folder, partial(load_document, folder))


def _checked_document(folder: Path) -> RunDocument:
    document = load_document(folder)
    check_launches(folder, document)
    return document


def _kinds_in(folders: Iterable[Path]) -> tuple[Kind, ...]:
    outlines = filter(None, map(outline_of, folders))
    return tuple(dict.fromkeys(kind for outline in outlines for kind in kinds_of(outline)))


def _exported(document: RunDocument, folder: Path, load: Callable[[], RunDocument]) -> ExportedRun:
    return ExportedRun(folder, load, document.run_id, document.complete, kinds_of(document))
