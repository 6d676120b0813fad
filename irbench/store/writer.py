"""A run while it is measured: each launch is on the disk before the next begins."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from irbench.result import LaunchRecord, RunDocument
from irbench.store.document import encode_document
from irbench.store.files import write_atomically, write_synced
from irbench.store.launches import encode_launch

__all__ = ["RunWriter"]


class RunWriter:
    """Writes one run's folder. ``run.json`` is the commit point: what it names is complete.

    Attributes:
        folder: The run's own folder.
        document: As last committed.
    """

    def __init__(self, folder: Path, document: RunDocument, committed: Callable[[RunDocument], None]) -> None:
        self.folder = folder
        self.document = document
        self._committed = committed
        self._launches: dict[str, str] = {}

    @property
    def logs(self) -> Path:
        """The folder for what workers print; made when it is first asked for."""
        folder = self.folder / "logs"
        folder.mkdir(exist_ok=True)
        return folder

    def add_launch(self, record: LaunchRecord) -> None:
        """Write a launch's samples; :meth:`commit` makes them part of the run.

        Raises:
            IrbenchError: The disk is full, or the folder may not be written.
        """
        name = f"launch-{record.group:02d}-{record.launch:02d}.bin"
        data = encode_launch(record)
        write_synced(self.folder / name, data)
        self._launches[name] = hashlib.sha256(data).hexdigest()

    def commit(self, document: RunDocument) -> RunDocument:
        """Make ``document`` the run's state, with every launch written so far, and return it.

        Raises:
            IrbenchError: The disk is full, or the folder may not be written; the former state is kept.
        """
        document = replace(document, launches=dict(self._launches))
        write_atomically(self.folder / "run.json", encode_document(document))
        self.document = document
        self._committed(document)
        return document
