"""What listings say of each run, kept in SQLite beside the runs: a cache that the folders rebuild at any time.

An entry is used only while the run's file has the size and time it had when the entry was made, so runs that
were copied in, changed or removed by hand are seen, and no writer needs to know of the index.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
import stat
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from urllib.parse import quote

import msgspec

from irbench.store.entries import RunEntry
from irbench.store.folders import Stamp

__all__ = ["Index"]

_VERSION = 7
_COLUMNS = "runs (folder text primary key, size integer, changed_ns integer, entry blob)"
_SCHEMA = [("table", "runs", f"CREATE TABLE {_COLUMNS}"), ("index", "sqlite_autoindex_runs_1", None)]
"""All that our database contains. A view in the place of the table, or a trigger beside it, could compute for ever."""

_FILES = ("", "-wal", "-shm", "-journal")
"""What SQLite appends to the name of the file for those that it keeps beside it."""

_MOST_BYTES = 1 << 28
"""Of each file: lines of a quarter of a million runs."""

_MOST_BYTES_OF_LINE = 1 << 24
_PATIENCE_S = 1.0
"""How long a listing waits for another process before it reads the folders instead."""

_OUT_OF_REACH = {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN}
"""What says nothing against the file: it is only not ours for the moment."""

_PRIMARY_CODE = 0xFF


class _NotOurs(sqlite3.DatabaseError):
    """The file is another program's, or was made to do harm: it is neither read nor written."""


class Index:
    """The SQLite file. Whatever is wrong with it is fixed by making it anew, and it may be missing altogether."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def known(self) -> Mapping[str, tuple[Stamp, RunEntry]]:
        """Return the stamp and the entry of each run, by folder relative to the root; empty where nothing is known."""
        if not os.path.lexists(self._path):
            return {}
        try:
            with self._open() as connection:
                rows = connection.execute("select folder, size, changed_ns, entry from runs").fetchall()
            read = msgspec.json.Decoder(RunEntry).decode
            return {folder: ((size, changed_ns), read(entry)) for folder, size, changed_ns, entry in rows}
        except _NotOurs:
            pass
        except sqlite3.Error as error:
            if getattr(error, "sqlite_errorcode", 0) & _PRIMARY_CODE not in _OUT_OF_REACH:
                self.remove()
        except (TypeError, ValueError, RecursionError):  # msgspec's are ValueErrors too
            self.remove()
        return {}

    def update(self, changed: Mapping[str, tuple[Stamp, RunEntry]], gone: Collection[str]) -> None:
        """Enter what changed and drop what is gone. A failure is harmless: the folders are the truth."""
        if not changed and not gone:
            return
        rows = [
            (folder, *stamp, msgspec.json.encode(entry))
            for folder, (stamp, entry) in changed.items()
            if _is_text(folder)
        ]
        with contextlib.suppress(sqlite3.Error, OSError), self._open() as connection:
            connection.executemany("insert or replace into runs values (?, ?, ?, ?)", rows)
            connection.executemany("delete from runs where folder = ?", [(folder,) for folder in gone])

    def remove(self) -> None:
        """Remove the file, and what SQLite keeps beside it."""
        for path in self._files():
            with contextlib.suppress(OSError):
                path.unlink(missing_ok=True)

    def _files(self) -> list[Path]:
        return [self._path.with_name(self._path.name + suffix) for suffix in _FILES]

    @contextlib.contextmanager
    def _open(self) -> Iterator[sqlite3.Connection]:
        for path in self._files():
            _require_harmless(path)
        with contextlib.closing(sqlite3.connect(self._address(), timeout=_PATIENCE_S, uri=True)) as connection:
            connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _MOST_BYTES_OF_LINE)
            connection.execute("pragma trusted_schema=off")
            _make_table(connection)
            connection.execute("pragma journal_mode=wal")
            with connection:
                yield connection

    def _address(self) -> str:
        """Return the file's URI. Where its folder may not be written, SQLite must not look for a log beside it."""
        writable = os.access(self._path.parent, os.W_OK)
        return f"file:{quote(os.fsencode(self._path.absolute()))}{'' if writable else '?immutable=1'}"


def _make_table(connection: sqlite3.Connection) -> None:
    """Make our table, in place of that of another version.

    Raises:
        _NotOurs: The database contains something that we did not put there.
    """
    schema = connection.execute("select type, name, sql from sqlite_master").fetchall()
    if not {row[:2] for row in schema} <= {row[:2] for row in _SCHEMA}:
        raise _NotOurs
    if connection.execute("pragma user_version").fetchone()[0] != _VERSION:
        connection.execute("drop table if exists runs")
        connection.execute(f"pragma user_version={_VERSION}")
        schema = []
    if not schema:
        connection.execute(f"create table if not exists {_COLUMNS}")
    elif schema != _SCHEMA:
        raise _NotOurs


def _require_harmless(path: Path) -> None:
    """Refuse a file that SQLite would read for ever, or through which it would write elsewhere.

    Raises:
        _NotOurs: It is a link, no regular file, or larger than any index.
    """
    try:
        found = path.lstat()
    except FileNotFoundError:
        return
    except OSError as error:
        raise _NotOurs from error
    if not stat.S_ISREG(found.st_mode) or found.st_size > _MOST_BYTES:
        raise _NotOurs


def _is_text(name: str) -> bool:
    """Whether a name is UTF-8, which SQLite's texts are; a run of another name is read for each listing."""
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True
