"""What happens in a sweep: one file of JSON lines that only grows, and what its events come to.

Layout, beside the runs: ``sweeps/<name>/state.jsonl``, which is on the disk after every line. The first line says what
was begun; each other line is an event. A line that a crash cut short is ignored.
"""

from __future__ import annotations

import contextlib
import os
import re
import weakref
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeAlias

import msgspec

from irbench.errors import IrbenchError
from irbench.features.sweep.curve import CurveEnd, CurvePoint, RowFacts
from irbench.system.document_damage import damage_text
from irbench.system.file_access import append_synced, read_regular, sync_folder
from irbench.system.locks import hold
from irbench.system.prepared_types import prepared

FORMAT = 1
"""Of the state file."""


class Header(msgspec.Struct, tag="sweep", frozen=True, kw_only=True):
    """What was begun."""

    format: int = FORMAT
    name: str
    created: str
    irbench_version: str
    seed: int
    plan: Mapping[str, Any]
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


Event: TypeAlias = TableBegun | TableDone | TableFailed | CurveEnded


class SweepProgress:
    """What the events of a sweep come to.

    Attributes:
        begun: The last run of each table that was begun, by the table's id.
    """

    def __init__(self) -> None:
        self.begun: dict[str, TableBegun] = {}
        self.done: dict[str, TableDone] = {}
        self.failed: dict[str, TableFailed] = {}
        self.ends: dict[str, CurveEnd] = {}

    def take(self, event: Event) -> None:
        """Take in what happened next."""
        if isinstance(event, TableBegun):
            self.begun[event.table] = event
        elif isinstance(event, TableDone):
            self.done[event.table] = event
            self.failed.pop(event.table, None)
        elif isinstance(event, TableFailed):
            self.failed[event.table] = event
        else:
            self.ends[event.end.curve] = event.end

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
        folder = root / "sweeps" / name
        try:
            data = read_regular(folder / _FILE, _MOST_BYTES)
        except FileNotFoundError:
            return None
        except OSError as error:
            raise IrbenchError(
                f"{folder / _FILE} cannot be read: {error.strerror or error}.",
                hint="Check the path and its permissions.",
            ) from error
        whole = _whole_lines(data)
        if whole.count(b"\n") < _LINES_OF_A_BEGINNING:
            return None
        header, progress = _read(whole, folder / _FILE)
        state = cls(folder, header, progress, len(whole))
        state._hold()
        return state

    @classmethod
    def begin(cls, root: Path, header: Header) -> StateFile:
        """Begin a sweep."""
        require_name(header.name)
        folder = root / "sweeps" / header.name
        state = cls(folder, header, SweepProgress(), 0)
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


def sweep_of_run(root: Path, run: str) -> str | None:
    """Return the name of the sweep that a run is a table of; ``None`` where it is of none, or nobody can tell."""
    for path in sorted(root.glob(f"sweeps/*/{_FILE}")):
        with contextlib.suppress(OSError, IrbenchError):
            _, progress = _read(_whole_lines(read_regular(path, _MOST_BYTES)), path)
            if any(begun.run == run for begun in progress.begun.values()):
                return path.parent.name
    return None


def require_name(name: str) -> None:
    """Refuse what cannot name a sweep, and its folder."""
    if _NAME.fullmatch(name) is None:
        raise IrbenchError(
            f"{name!r} is not a valid name for a sweep.",
            hint="Use letters, digits, and . _ + - between them; give another name with --name.",
        )


def _whole_lines(data: bytes) -> bytes:
    return data[: data.rfind(b"\n") + 1]


def _read(data: bytes, path: Path) -> tuple[Header, SweepProgress]:
    lines = data.splitlines()
    decode = msgspec.json.Decoder(prepared(TableBegun | TableDone | TableFailed | CurveEnded)).decode
    progress = SweepProgress()
    try:
        header = msgspec.json.decode(lines[0] if lines else b"", type=prepared(Header))
        for line in lines[1:] if header.format == FORMAT else ():
            progress.take(decode(line))
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        raise IrbenchError(
            f"{path} is damaged: {damage_text(error)}.",
            hint="Measure the plan under another name with --name; its runs are not affected.",
        ) from error
    if header.format != FORMAT:
        raise IrbenchError(
            f"{path} was written by a newer irbench.", hint="Update irbench: pip install --upgrade irbench"
        )
    return header, progress


def _unwritable(path: Path, error: OSError) -> IrbenchError:
    return IrbenchError(
        f"{path} cannot be written: {error.strerror or error}.",
        hint="Free some space there, or name another folder with `--results` or IRBENCH_RESULTS.",
    )
