"""What listings say of each run, kept in SQLite beside the runs: a cache that the folders rebuild at any time.

An entry is used only while the run's file has the size and time it had when the entry was made, so runs that
were copied in, changed or removed by hand are seen, and no writer needs to know of the index.
"""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import TypeAlias

import msgspec

from irbench.store.entries import RunEntry

__all__ = ["Index", "Stamp"]

Stamp: TypeAlias = tuple[int, int]
"""Size in bytes and time of change in nanoseconds of a run's file."""

_VERSION = 1
_TABLE = "create table if not exists runs (folder text primary key, size integer, changed_ns integer, entry blob)"


class Index:
    """The SQLite file. Whatever is wrong with it is mended by making it anew, and it may be missing altogether."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def known(self) -> Mapping[str, tuple[Stamp, RunEntry]]:
        """Return the stamp and the entry of each run, by folder relative to the root; empty where nothing is known."""
        if not self._path.is_file():
            return {}
        try:
            with self._open() as connection:
                rows = connection.execute("select folder, size, changed_ns, entry from runs").fetchall()
            return {row[0]: ((row[1], row[2]), msgspec.json.decode(row[3], type=RunEntry)) for row in rows}
        except (sqlite3.Error, msgspec.MsgspecError):
            self._remove()
            return {}

    def update(self, changed: Mapping[str, tuple[Stamp, RunEntry]], gone: Collection[str]) -> None:
        """Enter what changed and drop what is gone. A failure is harmless: the folders are the truth."""
        if not changed and not gone:
            return
        rows = [(folder, *stamp, msgspec.json.encode(entry)) for folder, (stamp, entry) in changed.items()]
        with contextlib.suppress(sqlite3.Error, OSError), self._open() as connection:
            connection.executemany("insert or replace into runs values (?, ?, ?, ?)", rows)
            connection.executemany("delete from runs where folder = ?", [(folder,) for folder in gone])

    @contextlib.contextmanager
    def _open(self) -> Iterator[sqlite3.Connection]:
        with contextlib.closing(sqlite3.connect(self._path, timeout=10)) as connection:
            connection.execute("pragma journal_mode=wal")
            if connection.execute("pragma user_version").fetchone()[0] != _VERSION:
                connection.execute("drop table if exists runs")
                connection.execute(f"pragma user_version={_VERSION}")
            connection.execute(_TABLE)
            with connection:
                yield connection

    def _remove(self) -> None:
        with contextlib.suppress(OSError):
            for path in self._path.parent.glob(self._path.name + "*"):
                path.unlink()
