"""What listings say of each run, kept in SQLite beside the runs: a cache that the folders rebuild at any time.

An entry is used only while the run's file has the size and time it had when the entry was made, so runs that
were copied in, changed or removed by hand are seen, and no writer needs to know of the index.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from urllib.parse import quote

import msgspec

from irbench.store.entries import RunEntry
from irbench.store.folders import Stamp

__all__ = ["Index"]

_VERSION = 7
_TABLE = "create table if not exists runs (folder text primary key, size integer, changed_ns integer, entry blob)"
_PATIENCE_S = 1.0
"""How long a listing waits for another process before it reads the folders instead."""

_OUT_OF_REACH = {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN}
"""What says nothing against the file: it is only not ours for the moment."""

_PRIMARY_CODE = 0xFF


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
            read = msgspec.json.Decoder(RunEntry).decode
            return {folder: ((size, changed_ns), read(entry)) for folder, size, changed_ns, entry in rows}
        except sqlite3.Error as error:
            if getattr(error, "sqlite_errorcode", 0) & _PRIMARY_CODE not in _OUT_OF_REACH:
                self.remove()
        except (msgspec.MsgspecError, TypeError):
            self.remove()
        return {}

    def update(self, changed: Mapping[str, tuple[Stamp, RunEntry]], gone: Collection[str]) -> None:
        """Enter what changed and drop what is gone. A failure is harmless: the folders are the truth."""
        if not changed and not gone:
            return
        rows = [(folder, *stamp, msgspec.json.encode(entry)) for folder, (stamp, entry) in changed.items()]
        with contextlib.suppress(sqlite3.Error, OSError), self._open() as connection:
            connection.executemany("insert or replace into runs values (?, ?, ?, ?)", rows)
            connection.executemany("delete from runs where folder = ?", [(folder,) for folder in gone])

    def remove(self) -> None:
        """Remove the file, and what SQLite keeps beside it."""
        with contextlib.suppress(OSError):
            for suffix in ("", "-wal", "-shm", "-journal"):
                self._path.with_name(self._path.name + suffix).unlink(missing_ok=True)

    @contextlib.contextmanager
    def _open(self) -> Iterator[sqlite3.Connection]:
        with contextlib.closing(sqlite3.connect(self._address(), timeout=_PATIENCE_S, uri=True)) as connection:
            connection.execute("pragma journal_mode=wal")
            if connection.execute("pragma user_version").fetchone()[0] != _VERSION:
                connection.execute("drop table if exists runs")
                connection.execute(f"pragma user_version={_VERSION}")
            connection.execute(_TABLE)
            with connection:
                yield connection

    def _address(self) -> str:
        """Return the file's URI. Where its folder may not be written, SQLite must not look for a log beside it."""
        writable = os.access(self._path.parent, os.W_OK)
        return f"file:{quote(str(self._path.absolute()))}{'' if writable else '?immutable=1'}"
