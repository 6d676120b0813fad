"""A list of all runs in SQLite beside them: a cache that the folders can rebuild at any time."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from irbench.result import RunDocument

__all__ = ["Index", "RunEntry", "entry_of"]

_TABLE = """
create table if not exists runs (
    run_id text primary key, created text not null, folder text not null,
    models text not null, backends text not null, summary text not null, complete integer not null
)
"""


@dataclass(frozen=True)
class RunEntry:
    """One stored run, as listings show it.

    Attributes:
        run_id: Its ULID.
        created: ISO 8601, UTC.
        folder: Where it lies.
        models: Names, comma separated.
        backends: Labels of rows, comma separated.
        summary: Who won, by how much.
        complete: Whether it ended by itself.
    """

    run_id: str
    created: str
    folder: str
    models: str
    backends: str
    summary: str
    complete: bool


def entry_of(document: RunDocument, folder: Path) -> RunEntry:
    """Return what listings show of a run."""
    labels = [cell.label for group in document.groups for cell in group.cells]
    return RunEntry(
        run_id=document.run_id,
        created=document.created,
        folder=str(folder),
        models=",".join(dict.fromkeys(group.model for group in document.groups)),
        backends=",".join(dict.fromkeys(labels)),
        summary="; ".join(_winner(document)),
        complete=document.complete,
    )


class Index:
    """The SQLite file. Whatever is wrong with it is mended by making it anew."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def entries(self) -> list[RunEntry] | None:
        """Return every run, newest first; ``None`` where the index is missing or cannot be read."""
        if not self._path.is_file():
            return None
        try:
            with self._open() as connection:
                rows = connection.execute("select * from runs order by run_id desc").fetchall()
        except sqlite3.Error:
            return None
        return [_from_row(row) for row in rows]

    def put(self, entry: RunEntry) -> None:
        """Enter or replace one run. A failure is harmless: the folders are the truth."""
        with contextlib.suppress(sqlite3.Error, OSError), self._open() as connection:
            _insert(connection, [entry])

    def rebuild(self, entries: Iterable[RunEntry]) -> None:
        """Make the index anew. A failure is harmless here too."""
        with contextlib.suppress(sqlite3.Error, OSError):
            for path in self._path.parent.glob(self._path.name + "*"):
                path.unlink()
            with self._open() as connection:
                _insert(connection, entries)

    @contextlib.contextmanager
    def _open(self) -> Iterator[sqlite3.Connection]:
        with contextlib.closing(sqlite3.connect(self._path, timeout=10)) as connection:
            connection.execute("pragma journal_mode=wal")
            connection.execute(_TABLE)
            with connection:
                yield connection


def _from_row(row: tuple[str, str, str, str, str, str, int]) -> RunEntry:
    run_id, created, folder, models, backends, summary, complete = row
    return RunEntry(run_id, created, folder, models, backends, summary, bool(complete))


def _insert(connection: sqlite3.Connection, entries: Iterable[RunEntry]) -> None:
    rows = (
        (one.run_id, one.created, one.folder, one.models, one.backends, one.summary, int(one.complete))
        for one in entries
    )
    connection.executemany("insert or replace into runs values (?, ?, ?, ?, ?, ?, ?)", rows)


def _winner(document: RunDocument) -> Iterator[str]:
    for group in document.groups:
        labels = {cell.id: cell.label for cell in group.cells}
        if group.winner is not None:
            yield f"{labels[group.winner.cell]} {group.winner.value:.2f}x {labels[group.winner.rival]}"
