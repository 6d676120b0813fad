"""One run: its folder begun, written safely and read again, its document and its raw samples launch by launch."""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
import weakref
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import msgspec

from irbench import __version__
from irbench.core.record import LaunchRecord
from irbench.core.result import SCHEMA_VERSION, RunDocument
from irbench.core.stored_plan import StoredPlan
from irbench.errors import IrbenchError
from irbench.measure.clock import utc_now
from irbench.store.file_errors import LARGEST_DOCUMENT_BYTES, explained, make_folder, prove_writable, read_bytes
from irbench.store.folders import LOGS, RUN_FILE, new_ulid, place_of
from irbench.store.launch_files import decode_launch, encode_launch
from irbench.store.listing import Listing, find_run, list_runs
from irbench.store.run_document import decode_document, encode_document
from irbench.system.file_access import write_atomically, write_synced
from irbench.system.locks import hold, is_held
from irbench.system.prepared_types import prepared


class _UnreadRow(msgspec.Struct):
    """A row, of which nothing is read."""


class _Table(msgspec.Struct):
    cells: tuple[_UnreadRow, ...] = ()
    rows: tuple[_UnreadRow, ...] = ()


class Outline(msgspec.Struct):
    """The tables of a run, read in a sixth of the time that its document takes."""

    groups: tuple[_Table, ...] = ()
    cold_starts: tuple[_Table, ...] = ()
    soaks: tuple[_Table, ...] = ()
    serving: tuple[_Table, ...] = ()


def load_document(folder: Path) -> RunDocument:
    """Return the document of the run in ``folder``."""
    return decode_document(_document_bytes(folder), f"{folder}/{RUN_FILE}")


def outline_of(folder: Path) -> Outline | None:
    """Return which tables the run in ``folder`` has; ``None`` where reading the whole of it would say what is wrong."""
    try:
        return _outlines().decode(_document_bytes(folder))
    except (IrbenchError, msgspec.DecodeError, ValueError, RecursionError):
        return None


def _document_bytes(folder: Path) -> bytes:
    return read_bytes(f"{folder}/{RUN_FILE}", follow=False, most_bytes=LARGEST_DOCUMENT_BYTES)


@cache
def _outlines() -> msgspec.json.Decoder[Outline]:
    return msgspec.json.Decoder(prepared(Outline))


def check_launches(folder: Path, document: RunDocument) -> None:
    """Compare every launch's file with its digest."""
    for name in document.launches:
        read_launch(folder, name, document)


def read_launches(folder: Path, document: RunDocument) -> Iterator[LaunchRecord]:
    """Yield a run's raw samples in the order in which they were taken, each file checked against its digest."""
    for name in sorted(document.launches):
        yield decode_launch(read_launch(folder, name, document), f"{folder}/{name}")


def read_launch(folder: Path, name: str, document: RunDocument) -> bytes:
    """Return the bytes of one launch's file, as they were measured."""
    path = f"{folder}/{name}"
    data = read_bytes(path, follow=False)
    if hashlib.sha256(data).hexdigest() != document.launches[name]:
        raise IrbenchError(
            f"{path} is damaged: its checksum does not match.",
            hint="Restore it from a copy, or delete the run's folder; other runs are not affected.",
        )
    return data


class RunWriter:
    """Writes one run's folder. ``run.json`` is the commit point: the launches it names are part of the run.

    The folder is held until the run is complete or released, so that nobody removes what is still being measured.

    Attributes:
        document: As last committed; its launches are part of the run.
    """

    def __init__(self, folder: Path, document: RunDocument) -> None:
        self.folder = folder
        self.document = document
        self._launches = dict(document.launches)
        self._let_go: Callable[[], object] = lambda: None
        with contextlib.suppress(OSError):  # some network file systems know no locks
            self._let_go = weakref.finalize(self, os.close, hold(folder))

    @property
    def logs(self) -> Path:
        """The folder for what workers print; made when it is first asked for."""
        folder = self.folder / LOGS
        folder.mkdir(exist_ok=True)
        return folder

    def add_launch(self, record: LaunchRecord) -> None:
        """Write a launch's samples; :meth:`commit` makes them part of the run."""
        name = f"launch-{record.group:02d}-{record.launch:02d}.bin"
        data = encode_launch(record)
        with explained(self.folder / name):
            write_synced(self.folder / name, data)
        self._launches[name] = hashlib.sha256(data).hexdigest()

    def add_attachment(self, place: Path, data: bytes) -> str:
        """Write a file that other programs read, and return its place in the run's folder; it is part of no archive."""
        path = self.folder / place
        with explained(path):
            path.parent.mkdir(parents=True, exist_ok=True)
            write_atomically(path, data)
        return str(place)

    def commit(self, document: RunDocument) -> RunDocument:
        """Make ``document`` the run's state, with the digest of every launch written so far, and return it."""
        document = replace(document, launches=dict(self._launches))
        with explained(self.folder / RUN_FILE):
            write_atomically(self.folder / RUN_FILE, encode_document(document))
        self.document = document
        if document.complete:
            self.release()
        return document

    def discard(self) -> None:
        """Remove the run: nothing of it was measured."""
        with contextlib.suppress(OSError):
            (self.folder / RUN_FILE).unlink()  # what is left of a removal that is cut short is not a run
            shutil.rmtree(self.folder)
        self.release()

    def release(self) -> None:
        """Let the folder go: nothing more is written, and others may continue or remove the run."""
        self._let_go()


class Store:
    """The runs below one folder: ``runs/<yyyy-mm>/<ulid>/``, with an index beside them."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def begin(
        self, environment: Mapping[str, Any], plan: StoredPlan, file_digests: Mapping[str, str] | None = None
    ) -> RunWriter:
        """Make a folder for a new run, and sure that results can be written there."""
        now = utc_now()
        run_id = new_ulid(now)
        created = now.isoformat(timespec="seconds")
        folder = place_of(self.root, created, run_id)
        make_folder(folder)
        prove_writable(folder)
        document = RunDocument(
            schema_version=SCHEMA_VERSION,
            run_id=run_id,
            created=created,
            irbench_version=__version__,
            environment=environment,
            plan=plan,
            file_digests=file_digests or {},
        )
        writer = RunWriter(folder, document)
        writer.commit(document)
        return writer

    def reopen(self, folder: Path, document: RunDocument) -> RunWriter:
        """Return a run that ended early, to go on with it; the launches that its document names stay."""
        if is_held(folder):
            raise IrbenchError(
                f"Run {folder.name} is still being measured.",
                hint="Wait until it has finished, or stop it with Ctrl-C.",
            )
        prove_writable(folder)
        return RunWriter(folder, document)

    def listing(self) -> Listing:
        """Return every run, and why others cannot be read."""
        return list_runs(self.root)

    def find(self, name: str | None) -> Path:
        """Return the folder of a run; takes and raises what :func:`irbench.store.listing.find_run` does."""
        return find_run(self.root, name)

    def load(self, folder: Path) -> RunDocument:
        """Return a run's document."""
        return load_document(folder)

    def launches(self, folder: Path) -> tuple[LaunchRecord, ...]:
        """Return a run's raw samples in the order in which they were taken, each file checked against its digest."""
        return tuple(read_launches(folder, self.load(folder)))
