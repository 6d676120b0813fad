"""Runs from elsewhere, of which nothing is believed before it was checked: call this in a worker."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec
import psutil

from irbench.errors import IrbenchError
from irbench.record import LaunchRecord
from irbench.result import RunDocument
from irbench.spec import Timing
from irbench.store.archives import unpack
from irbench.store.files import explained, read_bytes
from irbench.store.folders import LOGS, RUN_FILE, place_of
from irbench.store.launches import decode_launch
from irbench.store.reading import check_launches, load_document, read_launch
from irbench.system.files import sync_folder, write_synced
from irbench.system.memory import limit_memory

__all__ = ["Staged", "stage"]

_MEMORY_BYTES = 1 << 31
"""A launch of the largest size is held several times over while it is unpacked."""


@dataclass(frozen=True)
class Staged:
    """What was brought, checked.

    Attributes:
        copies: Where each new run lies for the moment, by the place that it is to have.
        present: Folders of those that were here already, with the same content.
    """

    copies: dict[Path, Path]
    present: tuple[Path, ...]


def stage(sources: Sequence[Path], root: Path, scratch: Path) -> Staged:
    """Check the runs in ``sources`` and copy those that are new into ``scratch``. Limits this process' memory for good.

    Args:
        sources: Archives, or folders with runs in them at any depth.
        root: The store's folder.
        scratch: An empty folder beside the runs.

    Raises:
        IrbenchError: A source is no archive or holds no run, one of them is damaged, of a newer format or larger than
            any can be, or it is here already, or in another source, with other content.
    """
    limit_memory(psutil.Process().memory_info().data + _MEMORY_BYTES)
    copies: dict[Path, Path] = {}
    present: dict[Path, None] = {}
    try:
        for number, source in enumerate(sources):
            for folder in _runs_in(source, scratch / f"unpacked-{number}"):
                document = _checked(folder)
                place = place_of(root, document.created, document.run_id)
                if place.exists():
                    _require_same(folder, place, f"irbench results rm {document.run_id}")
                    present[place] = None
                elif place in copies:
                    _require_same(folder, copies[place], "import it alone")
                else:
                    copies[place] = _copy(folder, scratch / document.run_id, document)
    except MemoryError as error:
        raise IrbenchError(
            f"A run in {', '.join(map(str, sources))} takes more than {_MEMORY_BYTES / 1e9:.0f} GB of memory to read.",
            hint="irbench does not write such runs: do not trust it.",
        ) from error
    return Staged(copies, tuple(present))


def _runs_in(source: Path, scratch: Path) -> Iterator[Path]:
    """Yield the folders of the runs in an archive or below a folder."""
    below = source
    if not source.is_dir():
        unpack(source, scratch)
        below = scratch
    found = sorted(path.parent for path in below.rglob(RUN_FILE) if not _hidden(path.relative_to(below)))
    if not found:
        raise IrbenchError(f"{source} contains no run.", hint="Give an archive written by irbench results export.")
    yield from found


def _hidden(path: Path) -> bool:
    return any(part.startswith(".") for part in path.parts)


def _checked(folder: Path) -> RunDocument:
    """Return the document of a run whose every file is sound and fits the others."""
    document = load_document(folder)
    at = folder / RUN_FILE
    try:
        msgspec.convert(document.plan.get("timing", {}), Timing)
        for name in document.launches:
            at = folder / name
            _require_fitting(decode_launch(read_launch(folder, name, document), str(at)), document)
    except ValueError as error:  # msgspec's are ValueErrors too
        raise IrbenchError(
            f"{at} does not match the rest of its run: {error}.",
            hint="irbench does not write such runs: do not trust it.",
        ) from error
    return document


def _require_fitting(record: LaunchRecord, document: RunDocument) -> None:
    """Raise ValueError where a launch is of no table of its run, or its series do not go together."""
    if not 0 <= record.group < len(document.groups):
        raise ValueError(f"the run has no table {record.group}")
    rows = {cell.id for cell in document.groups[record.group].cells}
    for cell in (*(measured.cell for measured in record.cells), *(measured.cell for measured in record.sustained)):
        if cell not in rows:
            raise ValueError(f"its table has no row {cell!r}")
    for round_ in (round_ for cell_launch in record.cells for round_ in cell_launch.rounds):
        if not 0 < round_.issue_ns.size == round_.completion_ns.size:
            raise ValueError("a round lacks times")


def _require_same(folder: Path, other: Path, remedy: str) -> None:
    """Refuse a run unless it is the same as another, whose digests stand in its document."""
    document = load_document(folder)
    try:
        check_launches(other, document)
        same = read_bytes(other / RUN_FILE) == read_bytes(folder / RUN_FILE)
    except IrbenchError:
        same = False
    if not same:
        raise IrbenchError(
            f"Run {document.run_id} is already stored with different content, in {other}.",
            hint=f"If the one in {folder} is correct: {remedy}",
        )


def _copy(folder: Path, target: Path, document: RunDocument) -> Path:
    logs = sorted(path.relative_to(folder).as_posix() for path in (folder / LOGS).glob("*.log"))
    with explained(target):
        target.mkdir()
        if logs:
            (target / LOGS).mkdir()
        for name in (*document.launches, *logs, RUN_FILE):
            write_synced(target / name, read_bytes(folder / name))
        sync_folder(target)
    return target
