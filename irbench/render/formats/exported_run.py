"""What writers of formats are given: runs that were read and checked, and the columns that were chosen."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from irbench.errors import IrbenchError
from irbench.record import LaunchRecord
from irbench.render.formats.row_table import RowTable, row_table
from irbench.result import RunDocument
from irbench.store.folders import removal_of
from irbench.store.reading import check_launches, load_document, read_launches

__all__ = ["Export", "ExportedRun", "read_run"]


@dataclass(frozen=True)
class ExportedRun:
    """A stored run.

    Attributes:
        document: All that is known of it.
        folder: Where its raw samples are.
    """

    document: RunDocument
    folder: Path

    def launches(self) -> Iterator[LaunchRecord]:
        """Yield its raw samples, a launch after the other.

        Raises:
            IrbenchError: A file is missing, changed or damaged.
        """
        return read_launches(self.folder, self.document)


@dataclass(frozen=True)
class Export:
    """What is written to one file.

    Attributes:
        runs: In the order of their rows.
        columns: Names of the columns that were chosen; none for all.
    """

    runs: tuple[ExportedRun, ...]
    columns: tuple[str, ...] = ()

    @property
    def table(self) -> RowTable:
        """All rows with the columns that were chosen; raises as :func:`row_table`."""
        return row_table([run.document for run in self.runs], self.columns)


def read_run(folder: Path, *, with_samples: bool) -> ExportedRun:
    """Return the run in a folder, every launch's file compared with its checksum.

    Args:
        folder: The run's.
        with_samples: Whether its raw samples are going to be read: they are then decoded once, so that a run that is
            damaged is found before anything is written.

    Raises:
        IrbenchError: The run is damaged, of a newer format, or its samples do not match its document.
    """
    document = load_document(folder)
    check_launches(folder, document)
    if with_samples:
        for record in read_launches(folder, document):
            if record.group not in range(len(document.groups)):
                raise IrbenchError(
                    f"The samples of run {document.run_id} do not match its document: it has no table {record.group}.",
                    hint=f"Restore the run from a copy, or delete it: {removal_of(folder)}",
                )
    return ExportedRun(document, folder)
