"""Sweeps as they are stored: one file of JSON lines that only grows, what its events come to, and the runs it names.

Layout, beside the runs: ``sweeps/<name>/state.jsonl``, which is on the disk after every line. The first line says what
was begun; each other line is an event. A line that a crash cut short is ignored.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import weakref
from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeAlias

import msgspec

from irbench.errors import IrbenchError
from irbench.store.folders import LATEST, is_ulid
from irbench.system.document_damage import damage_text
from irbench.system.file_access import append_synced, read_regular, sync_folder
from irbench.system.installation import upgrade_hint
from irbench.system.locks import hold
from irbench.system.prepared_types import prepared

FORMAT = 2
"""Of the state file. 2: the tables that each call asked for are known."""

StopReason: TypeAlias = Literal["saturated", "memory", "failed"]
"""The last step gained too little in every row; a row would not fit into memory at the next one; no row has figures."""


@dataclass(frozen=True)
class BatchGain:
    """What a batch adds to the throughput of the batch before it, both measured in one table.

    Attributes:
        value: As a share of what the batch before had.
        low: Lower end of the interval, at 95 % for this gain alone; ``None`` where there are too few launches for one.
        high: Upper end; ``None`` likewise.
        fps_before: Samples per second of the batch before, in the same table.
    """

    value: float
    low: float | None = None
    high: float | None = None
    fps_before: float | None = None


@dataclass(frozen=True)
class RowFacts:
    """What is kept of a row of a finished table.

    Attributes:
        state: As :class:`irbench.core.row.CellResult` has it, which takes too long to import for a listing.
        fps: Samples per second; ``None`` without figures.
        gain: What its batch adds; ``None`` for the first of a curve, outside curves, and where one of the two has no
            figures.
        peak_bytes: The most memory that its process had; ``None`` where that is unknown.
        reason: Why it failed; empty where it did not.
    """

    name: str
    state: str
    fps: float | None = None
    peak_bytes: int | None = None
    reason: str = ""
    gain: BatchGain | None = None

    @property
    def counts(self) -> bool:
        """Whether it has a throughput that is one of right answers."""
        return self.state == "ok" and self.fps is not None


@dataclass(frozen=True)
class CurvePoint:
    """One batch size of a curve."""

    batch: int
    rows: tuple[RowFacts, ...]

    def row(self, name: str) -> RowFacts | None:
        """Return the row of this name, if it has figures."""
        return next((row for row in self.rows if row.name == name and row.counts), None)


@dataclass(frozen=True)
class CurveEnd:
    """Why a curve has no further point.

    Attributes:
        row: The row that would not fit into memory at the next batch; empty for another reason.
    """

    curve: str
    batch: int
    reason: StopReason
    row: str = ""
    needed_bytes: int | None = None
    available_bytes: int | None = None


Tables: TypeAlias = tuple[Mapping[str, Any], ...]
"""Those that a call asks for, with the settings of their cells, as :class:`SweepTable` has them."""


class TablesAsked(msgspec.Struct, tag="asked", frozen=True):
    """A call that goes on with the sweep and asks for other tables than the one before it."""

    tables: Tables


class Header(msgspec.Struct, tag="sweep", frozen=True, kw_only=True):
    """What was begun; ``tables`` are empty in files of format 1."""

    format: int = FORMAT
    name: str
    created: str
    irbench_version: str
    seed: int
    plan: Mapping[str, Any]
    tables: Tables = ()
    confined: bool | None = None


class TableBegun(msgspec.Struct, tag="begun", frozen=True):
    """A table whose launches are stored as they end."""

    table: str
    run: str


class TableDone(msgspec.Struct, tag="done", frozen=True):
    """A table that is never measured again."""

    table: str
    run: str
    exit_code: int
    batch: int
    seconds: float
    rows: tuple[RowFacts, ...]
    undecided: bool = False


class TableFailed(msgspec.Struct, tag="failed", frozen=True):
    """A table that could not be measured at all; it is tried again when the sweep goes on."""

    table: str
    message: str
    hint: str
    exit_code: int


class CurveEnded(msgspec.Struct, tag="curve", frozen=True):
    """A curve that has no further table."""

    end: CurveEnd


Event: TypeAlias = TablesAsked | TableBegun | TableDone | TableFailed | CurveEnded


class SweepProgress:
    """What the events of a sweep come to.

    Attributes:
        asked: The tables of each call that asked for others than the one before it.
        begun: The last run of each table that was begun, by the table's id.
    """

    def __init__(self, asked_first: Tables) -> None:
        self.asked = [asked_first] if asked_first else []
        self.begun: dict[str, TableBegun] = {}
        self.done: dict[str, TableDone] = {}
        self.failed: dict[str, TableFailed] = {}
        self.ends: dict[str, CurveEnd] = {}

    def take(self, event: Event) -> None:
        """Take in what happened next."""
        if isinstance(event, TablesAsked):
            self.asked.append(event.tables)
        elif isinstance(event, TableBegun):
            self.begun[event.table] = event
            self.failed.pop(event.table, None)
            if event.table in self.done and self.done[event.table].run != event.run:
                del self.done[event.table]  # whose run was deleted
        elif isinstance(event, TableDone):
            self.done[event.table] = event
            self.failed.pop(event.table, None)
        elif isinstance(event, TableFailed):
            self.failed[event.table] = event
            self.done.pop(event.table, None)
        else:
            self.ends[event.end.curve] = event.end

    @property
    def runs(self) -> tuple[str, ...]:
        """The ids of the runs that hold its tables, in the order in which they were begun."""
        runs = {event.table: event.run for events in (self.begun, self.done) for event in events.values()}
        return tuple(run for table, run in runs.items() if table not in self.failed)

    @property
    def tables(self) -> frozenset[str]:
        """The ids of the tables that something happened to."""
        return frozenset((*self.begun, *self.done, *self.failed))

    def forget(self, runs: Container[str]) -> tuple[str, ...]:
        """Take back that tables were measured in one of these runs, and return their ids."""
        tables = tuple(table for table, done in self.done.items() if done.run in runs)
        for table in tables:
            del self.done[table]
            if table in self.begun and self.begun[table].run in runs:
                del self.begun[table]
        return tables

    def point(self, table: str) -> CurvePoint | None:
        """Return a measured table as a point of a curve."""
        done = self.done.get(table)
        return None if done is None else CurvePoint(done.batch, done.rows)


_FILE = "state.jsonl"
_MOST_BYTES = 1 << 28
_LINES_OF_A_BEGINNING = 2
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+-]{0,79}")


class StateFile:
    """The file of one sweep, which this process alone may write while the object lives."""

    def __init__(self, folder: Path, header: Header, progress: SweepProgress, size: int) -> None:
        self.folder = folder
        self.header = header
        self.progress = progress
        self._size = size
        self._let_go: Callable[[], object] = lambda: None

    @classmethod
    def open(cls, root: Path, name: str) -> StateFile | None:
        """Return the state of a sweep, or ``None`` where no table of one of this name was begun."""
        require_name(name)
        stored = _stored(root / "sweeps" / name)
        if stored is None:
            return None
        state = cls(*stored)
        state._hold()
        return state

    @classmethod
    def read(cls, root: Path, name: str) -> StateFile | None:
        """Return the state of a sweep to look at, which another process may be measuring; ``None`` likewise."""
        stored = None if _NAME.fullmatch(name) is None else _stored(root / "sweeps" / name)
        return None if stored is None else cls(*stored)

    @classmethod
    def begin(cls, root: Path, header: Header) -> StateFile:
        """Begin a sweep."""
        require_name(header.name)
        folder = root / "sweeps" / header.name
        state = cls(folder, header, SweepProgress(header.tables), 0)
        try:
            folder.mkdir(parents=True, exist_ok=True)
            state._hold()
            state._append(header)
            sync_folder(folder)
        except OSError as error:
            raise _unwritable(folder, error) from error
        return state

    def add(self, event: Event) -> None:
        """Take in what happened, and wait until the disk has it."""
        try:
            self._append(event)
        except OSError as error:
            raise _unwritable(self.folder / _FILE, error) from error
        self.progress.take(event)

    def _append(self, line: Header | Event) -> None:
        data = msgspec.json.encode(line) + b"\n"
        append_synced(self.folder / _FILE, self._size, data)
        self._size += len(data)

    def _hold(self) -> None:
        try:
            self._let_go = weakref.finalize(self, os.close, hold(self.folder))
        except BlockingIOError as error:
            raise IrbenchError(
                f"The sweep {self.folder.name} is being measured by another process.",
                hint="Wait until it has finished, or choose another name with --name.",
            ) from error
        except OSError:
            pass  # some network file systems know no locks

    def close(self) -> None:
        """Let other processes go on with the sweep."""
        self._let_go()


def stored_sweeps(root: Path) -> Iterator[StateFile]:
    """Yield every sweep of which a table was begun, to look at, by name; one whose file is damaged is left out."""
    for path in sorted(root.glob(f"sweeps/*/{_FILE}")):
        with contextlib.suppress(IrbenchError):
            if (state := StateFile.read(root, path.parent.name)) is not None:
                yield state


def sweep_of_run(root: Path, run: str) -> str | None:
    """Return the name of the sweep that a run is a table of; ``None`` where it is of none, or nobody can tell."""
    held = (state for state in stored_sweeps(root) if any(run == begun.run for begun in state.progress.begun.values()))
    return next((state.header.name for state in held), None)


@contextmanager
def removed_sweeps(root: Path, names: Iterable[str]) -> Iterator[None]:
    """Hold sweeps while their runs are removed, and then remove what else is stored of them.

    Raises:
        IrbenchError: One is being measured, and nothing was removed; or one cannot be removed.
    """
    with ExitStack() as stack:
        held = [state for name in names if (state := StateFile.open(root, name)) is not None]
        for state in held:
            stack.callback(state.close)
        yield
        for state in held:
            try:
                shutil.rmtree(state.folder)
            except OSError as error:
                raise IrbenchError(
                    f"{state.folder} cannot be removed: {error.strerror or error}.", hint="Check its permissions."
                ) from error


def require_name(name: str) -> None:
    """Refuse what cannot name a sweep, and its folder: what names a run is none."""
    if name == LATEST or is_ulid(name.upper()):
        raise IrbenchError(f"{name} names a run, not a sweep.", hint="Give the sweep another name with --name.")
    if _NAME.fullmatch(name) is None:
        raise IrbenchError(
            f"{name!r} is not a valid name for a sweep.",
            hint="Use letters, digits, and . _ + - between them; give another name with --name.",
        )


def _stored(folder: Path) -> tuple[Path, Header, SweepProgress, int] | None:
    try:
        data = read_regular(folder / _FILE, _MOST_BYTES)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise IrbenchError(
            f"{folder / _FILE} cannot be read: {error.strerror or error}.", hint="Check the path and its permissions."
        ) from error
    whole = _whole_lines(data)
    if whole.count(b"\n") < _LINES_OF_A_BEGINNING:
        return None
    return folder, *_read(whole, folder / _FILE), len(whole)


def _whole_lines(data: bytes) -> bytes:
    return data[: data.rfind(b"\n") + 1]


def _read(data: bytes, path: Path) -> tuple[Header, SweepProgress]:
    lines = data.splitlines()
    decode = msgspec.json.Decoder(prepared(Event)).decode
    try:
        header = msgspec.json.decode(lines[0] if lines else b"", type=prepared(Header))
        progress = SweepProgress(header.tables)
        for line in lines[1:] if header.format <= FORMAT else ():
            progress.take(decode(line))
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        raise IrbenchError(
            f"{path} is damaged: {damage_text(error)}.",
            hint="Measure the plan under another name with --name; its runs are not affected.",
        ) from error
    if header.format > FORMAT:
        raise IrbenchError(f"{path} was written by a newer irbench.", hint=upgrade_hint())
    return header, progress


def _unwritable(path: Path, error: OSError) -> IrbenchError:
    return IrbenchError(
        f"{path} cannot be written: {error.strerror or error}.",
        hint="Free some space there, or name another folder with `--results` or IRBENCH_RESULTS.",
    )
