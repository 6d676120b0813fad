"""Runs from elsewhere, of which nothing is believed before it was checked: call this in a worker.

A folder is read like an archive: regular files only, nothing through a link, and nothing that could keep us waiting.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import msgspec
import psutil

from irbench.core.record import LaunchRecord
from irbench.core.result import RunDocument
from irbench.errors import IrbenchError
from irbench.spec import Timing
from irbench.store.archives import read_logs, unpack
from irbench.store.document import decode_document
from irbench.store.files import LARGEST_BYTES, LARGEST_DOCUMENT_BYTES, explained, read_bytes
from irbench.store.folders import LOGS, RUN_FILE, Unsearched, folders_of_runs, place_of, removal_of
from irbench.store.launches import decode_launch
from irbench.store.reading import check_launches, read_launch
from irbench.system.confinement import limit_memory
from irbench.system.document_damage import damage_text, named_by_archive
from irbench.system.file_access import sync_folder, write_synced
from irbench.system.file_states import is_folder

MEMORY_BYTES = 1 << 31
"""A launch of the largest size is held several times over while it is unpacked."""


@dataclass(frozen=True)
class _Run:
    """A run that was brought and checked, with its document as it stands in the file."""

    folder: Path
    whole: bytes
    document: RunDocument


@dataclass(frozen=True)
class Staged:
    """What was brought, checked.

    Attributes:
        copies: Where each new run lies for the moment, by the place that it is to have.
        present: Folders of those that were here already, with the same content.
        unsearched: What lies among the runs and was not searched.
    """

    copies: dict[Path, Path]
    present: tuple[Path, ...]
    unsearched: tuple[Unsearched, ...] = ()


def stage(sources: Sequence[Path], root: Path, scratch: Path) -> Staged:
    """Check the runs in ``sources`` and copy those that are new into ``scratch``. Limits this process' memory for good.

    Args:
        sources: Archives, or folders with runs in them at any depth.
        root: The store's folder.
        scratch: An empty folder beside the runs.
    """
    limit_memory(psutil.Process().memory_info().data + MEMORY_BYTES)
    copies: dict[Path, Path] = {}
    present: dict[Path, None] = {}
    unsearched: list[Unsearched] = []
    try:
        for number, source in enumerate(sources):
            with _named_as_given(source, scratch / f"unpacked-{number}") as unpacked:
                for folder in _runs_in(source, unpacked, unsearched):
                    _take(_checked(folder), root, scratch, copies, present)
    except MemoryError as error:
        raise IrbenchError(
            f"A run in {', '.join(map(str, sources))} takes more than {MEMORY_BYTES / 1e9:.0f} GB of memory to read.",
            hint="irbench does not write such runs: do not trust it.",
        ) from error
    return Staged(copies, tuple(present), tuple(unsearched))


@contextmanager
def _named_as_given(source: Path, unpacked: Path) -> Iterator[Path]:
    """Yield where an archive is unpacked; errors name it as the user did."""
    try:
        yield unpacked
    except IrbenchError as error:
        message, hint = (named_by_archive(text, unpacked, source) for text in (error.message, error.hint))
        raise IrbenchError(message, hint=hint, exit_code=error.exit_code, details=error.details) from error


def _take(run: _Run, root: Path, scratch: Path, copies: dict[Path, Path], present: dict[Path, None]) -> None:
    """Copy a run that is new, or note that it is here already."""
    run_id = run.document.run_id
    place = place_of(root, run.document.created, run_id)
    if _is_same(run, place):
        present[place] = None
    elif os.path.lexists(place):  # asked last: somebody may remove it meanwhile
        raise IrbenchError(
            f"Run {run_id} is already stored with different content, in {place}.",
            hint=f"If the one in {run.folder} is correct: {removal_of(place)}",
        )
    elif place not in copies:
        copies[place] = _copy(run, scratch / run_id)
    elif not _is_same(run, copies[place]):
        raise IrbenchError(
            f"Run {run_id} is given twice, with different content, the second time in {run.folder}.",
            hint="Import the one that is correct alone.",
        )


def _runs_in(source: Path, scratch: Path, unsearched: list[Unsearched]) -> Iterator[Path]:
    """Yield the folders of the runs in an archive or below a folder, and add what is left out to a list."""
    below = source
    if not is_folder(source):
        unpack(source, scratch)
        below = scratch
    known = len(unsearched)
    found = sorted(folders_of_runs(below, unsearched.append))
    if not found and len(unsearched) == known:
        raise IrbenchError(f"{source} contains no run.", hint="Give an archive written by irbench results export.")
    yield from found


def _checked(folder: Path) -> _Run:
    """Return a run whose every file is sound and fits the others."""
    at = folder / RUN_FILE
    whole = read_bytes(at, follow=False, most_bytes=LARGEST_DOCUMENT_BYTES)
    document = decode_document(whole, str(at))
    try:
        msgspec.convert(document.plan.get("timing", {}), Timing)
        for name in document.launches:
            at = folder / name
            _require_fitting(decode_launch(read_launch(folder, name, document), str(at)), document)
    except ValueError as error:  # msgspec's are ValueErrors too
        raise IrbenchError(
            f"{at} does not match the rest of its run: {damage_text(error)}.",
            hint="irbench does not write such runs: do not trust it.",
        ) from error
    return _Run(folder, whole, document)


def _require_fitting(record: LaunchRecord, document: RunDocument) -> None:
    """Raise ValueError where a launch is of no table of its run."""
    if not 0 <= record.group < len(document.groups):
        raise ValueError(f"the run has no table {record.group}")
    rows = {cell.id for cell in document.groups[record.group].cells}
    for cell in (*(measured.cell for measured in record.cells), *(measured.cell for measured in record.sustained)):
        if cell not in rows:
            raise ValueError(f"its table has no row {cell!r}")


def _is_same(run: _Run, other: Path) -> bool:
    """Return whether a run lies in a folder with the same content, as the digests in its document tell."""
    try:
        check_launches(other, run.document)
        return read_bytes(other / RUN_FILE, follow=False) == run.whole
    except IrbenchError:
        return False


def _copy(run: _Run, target: Path) -> Path:
    """Write what was checked: launches are read again, and have to have the same digests."""
    with explained(target):
        target.mkdir()
        for name, log in read_logs(run.folder, run.document, LARGEST_BYTES):
            (target / LOGS).mkdir(exist_ok=True)
            write_synced(target / LOGS / name, log)
        for name in run.document.launches:
            write_synced(target / name, read_launch(run.folder, name, run.document))
        write_synced(target / RUN_FILE, run.whole)
        sync_folder(target)
    return target
