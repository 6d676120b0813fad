"""What is stored, and finding one of it. Reads a run only where its line is not known, and imports no arrays before."""

from __future__ import annotations

import contextlib
import errno
import glob
import os
import sqlite3
import stat
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, TypeVar
from urllib.parse import quote

import msgspec
from msgspec.structs import replace

from irbench.errors import IrbenchError
from irbench.store.entries import RunEntry
from irbench.store.file_errors import unreadable
from irbench.store.folders import (
    LATEST,
    RUN_FILE,
    Stamp,
    is_run,
    profiles_folder,
    results_option,
    run_folders,
    runs_here_text,
)
from irbench.store.sweeps import StateFile
from irbench.system.file_states import is_folder, is_utf8
from irbench.system.locks import is_held
from irbench.system.prepared_types import prepared

_VERSION = 9
"""Of the lines in the index."""
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


@dataclass(frozen=True)
class Listing:
    """What is stored.

    Attributes:
        entries: Every run, newest first; one that was killed before its first launch has no rows.
    """

    entries: tuple[RunEntry, ...]
    problems: tuple[str, ...]


@dataclass(frozen=True)
class Latest:
    """What ``latest`` means.

    Attributes:
        entry: The newest run in which at least one cell was measured; the newest with a table where there is none.
    """

    entry: RunEntry
    passed_over: tuple[RunEntry, ...]


def list_runs(root: Path, *, rebuild: bool = False) -> Listing:
    """Return every run below ``root``, and why others cannot be read."""
    _require_possible(root)
    index = Index(root / "index.sqlite", RunEntry, _VERSION)
    if rebuild:
        index.remove()
    known = index.known()
    entries: dict[str, RunEntry] = {}
    changed: dict[str, tuple[Stamp, RunEntry]] = {}
    problems: list[str] = []
    for folder, stamp in run_folders(root, lambda path, error: problems.append(unreadable(path, error).message)):
        if folder in known and known[folder][0] == stamp:
            entries[folder] = known[folder][1]
            continue
        try:
            entries[folder] = _read(root, folder)
            changed[folder] = (stamp, entries[folder])
        except IrbenchError as error:
            problems.append(error.message)
    index.update(changed, known.keys() - entries.keys())
    located = (replace(entry, folder=f"{root}/{folder}") for folder, entry in entries.items())
    return Listing(tuple(sorted(located, key=lambda entry: entry.run_id, reverse=True)), tuple(sorted(problems)))


def latest_run(root: Path) -> Latest:
    """Return what ``latest`` means."""
    entries = [entry for entry in list_runs(root).entries if entry.rows]
    if not entries:
        raise IrbenchError(f"No runs are stored in {root}.", hint=f"Measure a model: irbench run{runs_here_text(root)}")
    return _newest_measured(entries)


def resumable_runs(entries: Iterable[RunEntry]) -> tuple[RunEntry, ...]:
    """Return those of listed runs that ended early and can be continued, without those that are being measured."""
    return tuple(entry for entry in entries if entry.resumable and not is_held(Path(entry.folder)))


def runs_called(root: Path, name: str) -> tuple[RunEntry, ...]:
    """Return the runs that were given this name, newest first; none where ``name`` is ``latest``, a path or an id."""
    if not name or name == LATEST or _of_path(name) is not None:
        return ()
    entries = list_runs(root).entries
    if any(entry.run_id.upper() == name.upper() for entry in entries):
        return ()
    return tuple(entry for entry in entries if entry.name == name)


def find_run(root: Path, name: str | None) -> Path:
    """Return the folder of a run.

    Args:
        root: The folder of results.
        name: What the run was called, a ULID or the beginning of one, the run's folder or ``run.json``, or ``None``
            or ``latest`` for the newest that was measured. Of several runs of a name, the newest that was measured.
    """
    if name is None or name == LATEST:
        return Path(latest_run(root).entry.folder)
    folder = _of_path(name)
    if folder is not None:
        return folder
    folders = _folders_by_id(root, name.upper())
    return _of_id(folders, name) or _called(root, name) or _beginning_with(root, folders, name)


def sweep_called(root: Path, name: str) -> StateFile | None:
    """Return the sweep that a name stands for where it names no run: a run of the same name or folder goes first."""
    if name == LATEST or _of_path(name) is not None or runs_called(root, name):
        return None
    return StateFile.read(root, name)


def find_runs(root: Path, name: str | None) -> tuple[Path, ...]:
    """Return the folders of the runs that a name stands for.

    They are those of the sweep that :func:`sweep_called` returns, in the order in which they were begun and without
    those that were removed; otherwise the run that :func:`find_run` returns.
    """
    state = None if name is None else sweep_called(root, name)
    if state is None:
        return (find_run(root, name),)
    folders = folders_of_sweep(root, state)
    if not folders:
        raise IrbenchError(
            f"The runs of the sweep {name} were deleted.",
            hint=f"Measure them again: irbench sweep PLAN --name {name} --resume{results_option(root)}",
        )
    return folders


def folders_of_sweep(root: Path, state: StateFile) -> tuple[Path, ...]:
    """Return the folders of the stored runs of a sweep, in the order in which they were begun."""
    by_id = {folder.rpartition("/")[2]: root / folder for folder, _ in run_folders(root)}
    return tuple(by_id[run] for run in state.progress.runs if run in by_id)


def _require_possible(root: Path) -> None:
    try:
        root.lstat()
    except OSError as error:  # what is missing holds no runs, and what is closed is reported when it is searched
        if error.errno == errno.ENAMETOOLONG:
            raise unreadable(root, error) from error


def _of_path(name: str) -> Path | None:
    path = Path(name)
    for folder in (path, path.parent) if path.name == RUN_FILE else (path,):
        if name and is_run(folder):
            return folder.resolve()  # the folder's own name is the run's, which "." would hide
    return None


def _newest_measured(entries: Sequence[RunEntry]) -> Latest:
    at = next((number for number, entry in enumerate(entries) if entry.measured), 0)
    return Latest(entries[at], tuple(entries[:at]))


def _read(root: Path, folder: str) -> RunEntry:
    from irbench.store.runs import load_document
    from irbench.store.table_outcomes import entry_of

    return entry_of(load_document(root / folder), folder)


def _folders_by_id(root: Path, beginning: str) -> list[Path]:
    """Return the folders of the runs whose ids begin like that; as texts, because paths of thousands take a while."""
    folders = (folder for folder, _ in run_folders(root) if folder.rpartition("/")[2].upper().startswith(beginning))
    return [root / folder for folder in sorted(folders)]


def _called(root: Path, name: str) -> Path | None:
    entries = runs_called(root, name)
    return Path(_newest_measured(entries).entry.folder) if entries else None


def _of_id(folders: Sequence[Path], name: str) -> Path | None:
    exact = [folder for folder in folders if folder.name.upper() == name.upper()]
    if len(exact) > 1:
        raise IrbenchError(f"{name} is stored {len(exact)} times.", hint=f"Give its folder: {_listed(exact)}")
    return exact[0] if exact else None


def _beginning_with(root: Path, folders: Sequence[Path], name: str) -> Path:
    if name and len(folders) > 1:
        names = _listed([folder.name for folder in folders[-5:]])
        raise IrbenchError(f"{len(folders)} runs match {name!r}.", hint=f"Give more characters: {names}")
    if not name or not folders:
        profiles = profiles_folder(root)
        is_profile = name and is_folder(profiles) and any(profiles.glob(f"*/{glob.escape(name.upper())}*"))
        way = (
            f"It is a profile: irbench profile --show {name}" if is_profile else "List the stored runs: irbench results"
        )
        raise IrbenchError(
            f"There is no run {name!r} in {root}.", hint=f"{way}{results_option(root)}{runs_here_text(root)}"
        )
    return folders[0]


def _listed(names: Sequence[object]) -> str:
    return ", ".join(map(str, names))


class _NotOurs(sqlite3.DatabaseError):
    """The file is another program's, or was made to do harm: it is neither read nor written."""


class Index(Generic[Line]):
    """The SQLite file. Whatever is wrong with it is fixed by rebuilding it, and it may be missing altogether."""

    def __init__(self, path: Path, line: type[Line], version: int) -> None:
        self._path, self._line, self._version = path, line, version

    def known(self, folders: Container[str] | None = None) -> Mapping[str, tuple[Stamp, Line]]:
        """Return the stamp and the line of each run, by folder relative to the root; empty where nothing is known."""
        if not os.path.lexists(self._path):
            return {}
        with self._damage_removed(), self._open() as connection:
            rows = connection.execute("select folder, size, changed_ns, entry from runs")
            read = msgspec.json.Decoder(prepared(self._line)).decode
            return {
                folder: ((size, changed_ns), read(line))
                for folder, size, changed_ns, line in rows
                if folders is None or folder in folders
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
            (folder, *stamp, msgspec.json.encode(line)) for folder, (stamp, line) in changed.items() if is_utf8(folder)
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
    """Make our table, in place of that of another version."""
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
    size_bytes: int = connection.execute(
        "select coalesce(sum(2 * length(folder) + length(entry)), 0) from runs"
    ).fetchone()[0]
    return size_bytes


def _fitting(rows: Iterable[tuple[str, int, int, bytes]], room: float) -> Iterator[tuple[str, int, int, bytes]]:
    for row in rows:
        room -= 2 * len(row[0]) + len(row[-1])
        if room < 0:
            return
        yield row


def _require_harmless(path: Path) -> None:
    """Refuse a file that SQLite would read for ever, or through which it would write elsewhere."""
    try:
        status = path.lstat()
    except FileNotFoundError:
        return
    except OSError as error:
        raise _NotOurs from error
    if not stat.S_ISREG(status.st_mode) or status.st_size > MOST_BYTES:
        raise _NotOurs
