"""All stored runs: finding, reading and listing them."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import platformdirs

from irbench import __version__
from irbench.errors import IrbenchError
from irbench.measure.clock import utc_now
from irbench.result import SCHEMA_VERSION, LaunchRecord, RunDocument
from irbench.store.document import decode_document
from irbench.store.files import read_bytes
from irbench.store.index import Index, RunEntry, entry_of
from irbench.store.launches import decode_launch
from irbench.store.ulid import new_ulid
from irbench.store.writer import RunWriter

__all__ = ["RunEntry", "Store", "default_root"]


def default_root() -> Path:
    """Return where runs go: ``IRBENCH_RESULTS``, else ``./results`` where that folder exists, else the user's data."""
    named = os.environ.get("IRBENCH_RESULTS")
    if named:
        return Path(named)
    here = Path("results")
    return here.resolve() if here.is_dir() else Path(platformdirs.user_data_dir("irbench")) / "results"


class Store:
    """The runs below one folder: ``runs/<yyyy-mm>/<ulid>/``, with an index beside them.

    Args:
        root: The folder; made when the first run begins.
    """

    def __init__(self, root: Path) -> None:
        self.root = root
        self._index = Index(root / "index.sqlite")

    def begin(self, environment: Mapping[str, Any], plan: Mapping[str, Any]) -> RunWriter:
        """Make a folder for a new run, and with it sure that results can be written.

        Args:
            environment: The machine and its software.
            plan: What was asked for.

        Raises:
            IrbenchError: The folder cannot be made or written.
        """
        now = utc_now()
        run_id = new_ulid(now)
        folder = self.root / "runs" / f"{now:%Y-%m}" / run_id
        try:
            folder.mkdir(parents=True)
        except OSError as error:
            raise IrbenchError(
                f"Results cannot be written to {self.root}: {error.strerror}.",
                hint="Name another folder with --results or IRBENCH_RESULTS.",
            ) from None
        document = RunDocument(
            schema_version=SCHEMA_VERSION,
            run_id=run_id,
            created=now.isoformat(timespec="seconds"),
            irbench_version=__version__,
            environment=environment,
            plan=plan,
        )
        writer = RunWriter(folder, document, lambda one: self._index.put(entry_of(one, folder)))
        writer.commit(document)
        return writer

    def entries(self) -> list[RunEntry]:
        """Return every run that holds at least one table, newest first; a missing or broken index is rebuilt."""
        found = self._index.entries()
        if found is None or {entry.folder for entry in found} != {str(folder) for folder in self._folders()}:
            found = [entry_of(document, folder) for folder, document in self._documents()]
            found.sort(key=lambda entry: entry.run_id, reverse=True)
            if self.root.is_dir():
                self._index.rebuild(found)
        return [entry for entry in found if entry.models]

    def find(self, name: str | None) -> Path:
        """Return the folder of a run.

        Args:
            name: A ULID or the beginning of one, a folder, or ``None`` or ``latest`` for the newest.

        Raises:
            IrbenchError: There is no such run, or the beginning fits several.
        """
        if name is not None and (Path(name) / "run.json").is_file():
            return Path(name)
        entries = self.entries()
        if name in (None, "latest"):
            if not entries:
                raise IrbenchError(f"No run is stored in {self.root}.", hint="Measure something: irbench run")
            return Path(entries[0].folder)
        fitting = [entry for entry in entries if entry.run_id.startswith(str(name).upper())]
        if len(fitting) == 1:
            return Path(fitting[0].folder)
        if fitting:
            raise IrbenchError(
                f"{name} is the beginning of {len(fitting)} runs.",
                hint=f"Write more of it: {', '.join(entry.run_id for entry in fitting[:5])}",
            )
        raise IrbenchError(f"There is no run {name} in {self.root}.", hint="List what is stored: irbench results")

    def load(self, folder: Path) -> RunDocument:
        """Return a run's document.

        Raises:
            IrbenchError: It is damaged or of a newer format.
        """
        path = folder / "run.json"
        return decode_document(read_bytes(path), str(path))

    def launches(self, folder: Path) -> tuple[LaunchRecord, ...]:
        """Return a run's raw samples, each file checked against its digest.

        Raises:
            IrbenchError: A file is missing, changed or damaged.
        """
        records: list[LaunchRecord] = []
        for name, digest in sorted(self.load(folder).launches.items()):
            data = read_bytes(folder / name)
            if hashlib.sha256(data).hexdigest() != digest:
                raise IrbenchError(
                    f"{folder / name} was changed after it was measured.", hint="Restore the file, or remove the run."
                )
            records.append(decode_launch(data, str(folder / name)))
        return tuple(records)

    def _folders(self) -> Iterator[Path]:
        yield from (path.parent for path in self.root.glob("runs/*/*/run.json"))

    def _documents(self) -> Iterator[tuple[Path, RunDocument]]:
        for folder in self._folders():
            try:
                yield folder, self.load(folder)
            except IrbenchError:
                continue  # damaged or newer: `show` says so when it is asked for
