"""A run while it is measured: each launch is on the disk before the next begins."""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
import weakref
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from irbench.record import LaunchRecord
from irbench.result import RunDocument
from irbench.store.document import encode_document
from irbench.store.files import explained
from irbench.store.folders import LOGS, RUN_FILE
from irbench.store.launches import encode_launch
from irbench.system.files import write_atomically, write_synced
from irbench.system.locks import hold


class RunWriter:
    """Writes one run's folder. ``run.json`` is the commit point: the launches it names are part of the run.

    The folder is held until the run is complete or released, so that nobody removes what is still being measured.

    Attributes:
        folder: The run's own folder.
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
        """Write a launch's samples; :meth:`commit` makes them part of the run.

        Raises:
            IrbenchError: The disk is full, or the folder may not be written.
        """
        name = f"launch-{record.group:02d}-{record.launch:02d}.bin"
        data = encode_launch(record)
        with explained(self.folder / name):
            write_synced(self.folder / name, data)
        self._launches[name] = hashlib.sha256(data).hexdigest()

    def commit(self, document: RunDocument) -> RunDocument:
        """Make ``document`` the run's state, with the digest of every launch written so far, and return it.

        Raises:
            IrbenchError: The disk is full, or the folder may not be written; the former state is kept.
        """
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
            (self.folder / RUN_FILE).unlink()  # what is left of a removal that is cut short is no run
            shutil.rmtree(self.folder)
        self.release()

    def release(self) -> None:
        """Let the folder go: nothing more is written, and others may continue or remove the run."""
        self._let_go()
