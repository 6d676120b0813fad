"""All stored runs: finding, reading and listing them."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import platformdirs

from irbench import __version__
from irbench.errors import IrbenchError
from irbench.measure.clock import utc_now
from irbench.record import LaunchRecord
from irbench.result import SCHEMA_VERSION, RunDocument
from irbench.store.document import decode_document
from irbench.store.entries import RunEntry, entry_of
from irbench.store.files import make_folder, prove_writable, read_bytes
from irbench.store.index import Index, Stamp
from irbench.store.launches import decode_launch
from irbench.store.ulid import new_ulid
from irbench.store.writer import RUN_FILE, RunWriter

__all__ = ["Listing", "Store", "default_root"]


def default_root() -> Path:
    """Return where runs go: ``IRBENCH_RESULTS``, else ``./results`` where that folder exists, else the user's data."""
    named = os.environ.get("IRBENCH_RESULTS")
    if named:
        return Path(named)
    here = Path("results")
    return here.resolve() if here.is_dir() else Path(platformdirs.user_data_dir("irbench")) / "results"


@dataclass(frozen=True)
class Listing:
    """What is stored.

    Attributes:
        entries: Every run that holds at least one table, newest first.
        problems: A sentence for each run that cannot be read.
    """

    entries: tuple[RunEntry, ...]
    problems: tuple[str, ...]


class Store:
    """The runs below one folder: ``runs/<yyyy-mm>/<ulid>/``, with an index beside them.

    Args:
        root: The folder; made when the first run begins.
    """

    def __init__(self, root: Path) -> None:
        self.root = root
        self._index = Index(root / "index.sqlite")

    def begin(self, environment: Mapping[str, Any], plan: Mapping[str, Any]) -> RunWriter:
        """Make a folder for a new run, and sure that results can be written there.

        Args:
            environment: The machine and its software.
            plan: What was asked for.

        Raises:
            IrbenchError: The folder cannot be made or written, or the disk is full.
        """
        now = utc_now()
        run_id = new_ulid(now)
        folder = self.root / "runs" / f"{now:%Y-%m}" / run_id
        make_folder(folder)
        prove_writable(folder)
        document = RunDocument(
            schema_version=SCHEMA_VERSION,
            run_id=run_id,
            created=now.isoformat(timespec="seconds"),
            irbench_version=__version__,
            environment=environment,
            plan=plan,
        )
        writer = RunWriter(folder, document)
        writer.commit(document)
        return writer

    def listing(self) -> Listing:
        """Return every run that holds at least one table, and why others cannot be read."""
        known = self._index.known()
        entries: dict[str, RunEntry] = {}
        changed: dict[str, tuple[Stamp, RunEntry]] = {}
        problems: list[str] = []
        for folder, stamp in self._folders():
            if folder in known and known[folder][0] == stamp:
                entries[folder] = known[folder][1]
                continue
            try:
                entries[folder] = entry_of(self.load(self.root / folder), folder)
                changed[folder] = (stamp, entries[folder])
            except IrbenchError as error:
                problems.append(error.message)
        self._index.update(changed, known.keys() - entries.keys())
        found = [replace(entry, folder=str(self.root / entry.folder)) for entry in entries.values() if entry.rows]
        return Listing(tuple(sorted(found, key=lambda entry: entry.run_id, reverse=True)), tuple(problems))

    def find(self, name: str | None) -> Path:
        """Return the folder of a run.

        Args:
            name: A ULID or the beginning of one, the run's folder or ``run.json``, or ``None`` or ``latest`` for
                the newest.

        Raises:
            IrbenchError: There is no such run, or the beginning fits several.
        """
        if name is None or name == "latest":
            return self._latest()
        path = Path(name)
        for folder in (path, path.parent) if path.name == RUN_FILE else (path,):
            if (folder / RUN_FILE).is_file():
                return folder
        return self._beginning_with(name)

    def load(self, folder: Path) -> RunDocument:
        """Return a run's document.

        Raises:
            IrbenchError: It is damaged or of a newer format.
        """
        path = folder / RUN_FILE
        return decode_document(read_bytes(path), str(path))

    def launches(self, folder: Path) -> tuple[LaunchRecord, ...]:
        """Return a run's raw samples in the order in which they were taken, each file checked against its digest.

        Raises:
            IrbenchError: A file is missing, changed or damaged.
        """
        return tuple(self._launch(folder / name, digest) for name, digest in sorted(self.load(folder).launches.items()))

    def _launch(self, path: Path, digest: str) -> LaunchRecord:
        data = read_bytes(path)
        if hashlib.sha256(data).hexdigest() != digest:
            raise IrbenchError(
                f"{path} is damaged: it is not the file that was measured.",
                hint="Restore it from a copy, or remove the run's folder; no other run is affected.",
            )
        return decode_launch(data, str(path))

    def _latest(self) -> Path:
        entries = self.listing().entries
        if not entries:
            raise IrbenchError(f"No run is stored in {self.root}.", hint="Measure something: irbench run")
        return Path(entries[0].folder)

    def _beginning_with(self, name: str) -> Path:
        folders = sorted(self.root / folder for folder, _ in self._folders())
        fitting = [folder for folder in folders if folder.name.startswith(name.upper())]
        if len(fitting) > 1:
            raise IrbenchError(
                f"{len(fitting)} runs begin with {name!r}.",
                hint=f"Write more of it: {', '.join(folder.name for folder in fitting[-5:])}",
            )
        if not fitting:
            raise IrbenchError(f"There is no run {name!r} in {self.root}.", hint="List what is stored: irbench results")
        return fitting[0]

    def _folders(self) -> Iterator[tuple[str, Stamp]]:
        """Yield each run's folder, relative to the root, with the stamp of its file."""
        for path in self.root.glob(f"runs/*/*/{RUN_FILE}"):
            try:
                state = path.stat()
            except OSError:
                continue  # removed while we looked
            yield str(path.parent.relative_to(self.root)), (state.st_size, state.st_mtime_ns)
