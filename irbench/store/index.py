"""A line about each run, kept in SQLite beside the runs: a cache that the folders rebuild at any time.

A line is used only while the run's file has the size and time it had when the line was made, so runs that
were copied in, changed or removed by hand are seen, and no writer needs to know of the index.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
import stat
from collections.abc import Container, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Generic, TypeVar
from urllib.parse import quote

import msgspec

from irbench.store.folders import Stamp

Line = TypeVar("Line")

_COLUMNS = "runs (folder text primary key, size integer, changed_ns integer, entry blob)"
_SCHEMA = [("table", "runs", f"CREATE TABLE {_COLUMNS}"), ("index", "sqlite_autoindex_runs_1", None)]
"""All that our database contains. A view in the place of the table, or a trigger beside it, could compute for ever."""

_FILES = ("", "-wal", "-shm", "-journal")
"""What SQLite appends to the name of the file for those that it keeps beside it."""

MOST_BYTES = 1 << 28
"""Of each file: lines of listings of a quarter of a million runs, or summaries of 200,000 rows."""

_SHARE_FOR_LINES = 0.7
"""Of the bytes of the file; SQLite needs some besides."""

_MOST_BYTES_OF_LINE = 1 << 24
_PATIENCE_S = 1.0
"""How long a listing waits for another process before it reads the folders instead."""

_OUT_OF_REACH = {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN}
"""What says nothing against the file: it is only not ours for the moment."""

_PRIMARY_CODE = 0xFF


class _NotOurs(sqlite3.DatabaseError):
    """The file is another program's, or was made to do harm: it is neither read nor written."""


class Index(Generic[Line]):
    """The SQLite file. Whatever is wrong with it is fixed by making it anew, and it may be missing altogether.

    Args:
        path: The file.
        line: What is kept of each run.
        version: Of the form of these lines: those of another one are dropped.
    """

    def __init__(self, path: Path, line: type[Line], version: int) -> None:
        self._path, self._line, self._version = path, line, version

    def known(self, wanted: Container[str] | None = None) -> Mapping[str, tuple[Stamp, Line]]:
        """Return the stamp and the line of each run, by folder relative to the root; empty where nothing is known.

        Args:
            wanted: Folders; ``None`` for all.
        """
        if not os.path.lexists(self._path):
            return {}
        with self._damage_removed(), self._open() as connection:
            rows = connection.execute("select folder, size, changed_ns, entry from runs")
            read = msgspec.json.Decoder(self._line).decode
            return {
                folder: ((size, changed_ns), read(line))
                for folder, size, changed_ns, line in rows
                if wanted is None or folder in wanted
            }
        return {}

    def folders(self) -> tuple[str, ...]:
        """Return the folders of which there is a line; none where nothing is known."""
        if os.path.lexists(self._path):
            with self._damage_removed(), self._open() as connection:
                return tuple(folder for (folder,) in connection.execute("select folder from runs"))
        return ()

    def update(self, changed: Mapping[str, tuple[Stamp, Line]], gone: Iterable[str]) -> None:
        """Enter what changed and drop what is gone. A failure is harmless: the folders are the truth.

        What has no room is not entered, and is read again for each call.
        """
        removed = [(folder,) for folder in gone]
        if not changed and not removed:
            return
        rows = (
            (folder, *stamp, msgspec.json.encode(line)) for folder, (stamp, line) in changed.items() if _is_text(folder)
        )
        with contextlib.suppress(sqlite3.Error, OSError), self._open() as connection:
            connection.executemany("delete from runs where folder = ?", removed)
            room = MOST_BYTES * _SHARE_FOR_LINES - _bytes_of_lines(connection)
            connection.executemany("insert or replace into runs values (?, ?, ?, ?)", _fitting(rows, room))

    @contextlib.contextmanager
    def _damage_removed(self) -> Iterator[None]:
        """Remove the file where reading it shows that it is damaged."""
        try:
            yield
        except _NotOurs:
            pass
        except sqlite3.Error as error:
            if getattr(error, "sqlite_errorcode", 0) & _PRIMARY_CODE not in _OUT_OF_REACH:
                self.remove()
        except (TypeError, ValueError, RecursionError):  # msgspec's are ValueErrors too
            self.remove()

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
            _make_table(connection, self._version)
            connection.execute("pragma journal_mode=wal")
            with connection:
                yield connection

    def _address(self) -> str:
        """Return the file's URI. Where its folder may not be written, SQLite must not look for a log beside it."""
        writable = os.access(self._path.parent, os.W_OK)
        return f"file:{quote(os.fsencode(self._path.absolute()))}{'' if writable else '?immutable=1'}"


def _make_table(connection: sqlite3.Connection, version: int) -> None:
    """Make our table, in place of that of another version.

    Raises:
        _NotOurs: The database contains something that we did not put there.
    """
    schema = connection.execute("select type, name, sql from sqlite_master").fetchall()
    if not {row[:2] for row in schema} <= {row[:2] for row in _SCHEMA}:
        raise _NotOurs
    if connection.execute("pragma user_version").fetchone()[0] != version:
        connection.execute("drop table if exists runs")
        connection.execute(f"pragma user_version={version}")
        schema = []
    if not schema:
        connection.execute(f"create table if not exists {_COLUMNS}")
    elif schema != _SCHEMA:
        raise _NotOurs


def _bytes_of_lines(connection: sqlite3.Connection) -> int:
    found: int = connection.execute("select coalesce(sum(2 * length(folder) + length(entry)), 0) from runs").fetchone()[
        0
    ]
    return found


def _fitting(rows: Iterable[tuple[str, int, int, bytes]], room: float) -> Iterator[tuple[str, int, int, bytes]]:
    """Yield rows while there is room for so many bytes."""
    for row in rows:
        room -= 2 * len(row[0]) + len(row[-1])
        if room < 0:
            return
        yield row


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
    if not stat.S_ISREG(found.st_mode) or found.st_size > MOST_BYTES:
        raise _NotOurs


def _is_text(name: str) -> bool:
    """Whether a name is UTF-8, which SQLite's texts are; a run of another name is read for each listing."""
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True
