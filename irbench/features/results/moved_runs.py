"""Stored runs as a whole: brought in from elsewhere, or removed."""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
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
from irbench.store.file_errors import LARGEST_BYTES, LARGEST_DOCUMENT_BYTES, explained, read_bytes
from irbench.store.folders import LOGS, RUN_FILE, Unsearched, folders_of_runs, place_of, removal_of
from irbench.store.launch_files import decode_launch
from irbench.store.run_document import decode_document
from irbench.store.runs import check_launches, read_launch
from irbench.system.confinement import limit_memory
from irbench.system.document_damage import damage_text, named_by_archive
from irbench.system.file_access import move_folder, sync_folder, write_synced
from irbench.system.file_states import is_folder
from irbench.system.locks import hold, temporary_folder, waiting_for
from irbench.system.prepared_types import prepared

MEMORY_BYTES = 1 << 31
"""A launch of the largest size is held several times over while it is unpacked."""


@dataclass(frozen=True)
class Arrivals:
    """What an import did.

    Attributes:
        present: Folders of those that were here already, with the same content.
        unsearched: What lies among the runs and was not searched.
    """

    added: tuple[Path, ...]
    present: tuple[Path, ...]
    unsearched: tuple[Unsearched, ...] = ()


def import_runs(
    sources: Sequence[Path],
    root: Path,
    stage: Callable[[Sequence[Path], Path, Path], Staged],
    check: Callable[[Sequence[Path]], None] = lambda _: None,
) -> Arrivals:
    """Bring runs into the store: everything is checked before the first of them becomes visible, each in one step.

    Args:
        sources: Archives of :func:`irbench.store.archives.pack`, or folders with runs in them at any depth.
        root: The store's folder.
        stage: Calls :func:`irbench.features.results.moved_runs.stage`, in a worker where what is brought may do harm.
        check: Is given the folders of all runs that were brought, and raises where they are not to be stored.
    """
    with contextlib.ExitStack() as stack:
        with explained(root):
            root.mkdir(parents=True, exist_ok=True)
            scratch = stack.enter_context(temporary_folder(root, ".import-"))
        staged = stage(sources, root, scratch)
        check((*staged.copies.values(), *staged.present))
        added = _publish(staged.copies)
    others = tuple(place for place in staged.copies if place not in added)
    return Arrivals(added, (*staged.present, *others), staged.unsearched)


def remove_runs(folders: Sequence[Path], root: Path) -> Iterator[Path]:
    """Remove runs for good, and yield each that is gone; it disappears in one step.

    One that somebody else removed meanwhile is not yielded. Removals from one store take turns, so that none takes
    another's lock for that of a measurement.
    """
    with contextlib.ExitStack() as stack:
        with explained(root):
            aside = stack.enter_context(temporary_folder(root, ".removed-"))
        removed: list[Path] = []
        try:
            with _turn(root), contextlib.ExitStack() as locks:
                for folder in folders:
                    _hold(folder, locks)
                for number, folder in enumerate(folders):
                    if _moved_aside(folder, aside / str(number)):
                        removed.append(folder)
        finally:  # after the turn, because whoever is told may be slow; and told even where a later one failed
            yield from removed


def _moved_aside(folder: Path, place: Path) -> bool:
    with explained(folder):
        try:
            folder.rename(place)
        except FileNotFoundError:
            if os.path.lexists(folder):
                raise
            return False
    return True


@contextlib.contextmanager
def _turn(root: Path) -> Iterator[None]:
    """Wait until nobody else removes runs from a store; where nothing knows locks, do not."""
    with contextlib.ExitStack() as stack:
        with contextlib.suppress(OSError):
            stack.enter_context(waiting_for(root))
        yield


def _publish(copies: Mapping[Path, Path]) -> tuple[Path, ...]:
    """Move every copy to its place, or none, and return the places but for those where another import was first."""
    done: list[Path] = []
    try:
        for place, copy in copies.items():
            with explained(place):
                place.parent.mkdir(parents=True, exist_ok=True)
                if _moved(copy, place):
                    done.append(place)
    except BaseException:  # an interrupt as well
        for place in done:
            place.rename(copies[place])
        raise
    return tuple(done)


def _moved(copy: Path, place: Path) -> bool:
    """Move a copy to its place; ``False`` where the same run came there meanwhile."""
    try:
        move_folder(copy, place)
    except OSError as error:
        if error.errno not in (errno.EEXIST, errno.ENOTEMPTY) or not _is_same(copy, place):
            raise
        return False
    return True


def _is_same(run: Path, other: Path) -> bool:
    """Whether the document and the launches of two runs are the same, byte for byte."""
    names = [path.name for path in run.iterdir() if path.is_file()]
    try:
        return all(read_bytes(run / name) == read_bytes(other / name, follow=False) for name in names)
    except IrbenchError:
        return False


def _hold(folder: Path, stack: contextlib.ExitStack) -> None:
    try:
        stack.callback(os.close, hold(folder))
    except BlockingIOError as error:
        raise IrbenchError(
            f"Run {folder.name} is still being measured.", hint="Wait until it has finished, or stop it with Ctrl-C."
        ) from error
    except OSError:
        pass  # some network file systems know no locks


@dataclass(frozen=True)
class _BroughtRun:
    """A run that was brought and checked, with its document as it stands in the file."""

    folder: Path
    whole: bytes
    document: RunDocument


@dataclass(frozen=True)
class Staged:
    """What was brought, checked.

    Attributes:
        copies: Where each new run lies for the moment, by the place that it is to have.
    """

    copies: dict[Path, Path]
    present: tuple[Path, ...]
    unsearched: tuple[Unsearched, ...] = ()


def stage(sources: Sequence[Path], root: Path, scratch: Path) -> Staged:
    """Check runs and copy those that are new into ``scratch``; limits this process' memory for good."""
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


def _take(run: _BroughtRun, root: Path, scratch: Path, copies: dict[Path, Path], present: dict[Path, None]) -> None:
    run_id = run.document.run_id
    place = place_of(root, run.document.created, run_id)
    if _is_stored_as(run, place):
        present[place] = None
    elif os.path.lexists(place):  # asked last: somebody may remove it meanwhile
        raise IrbenchError(
            f"Run {run_id} is already stored with different content, in {place}.",
            hint=f"If the one in {run.folder} is correct: {removal_of(place)}",
        )
    elif place not in copies:
        copies[place] = _copy(run, scratch / run_id)
    elif not _is_stored_as(run, copies[place]):
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
    folders = sorted(folders_of_runs(below, unsearched.append))
    if not folders and len(unsearched) == known:
        raise IrbenchError(f"{source} contains no run.", hint="Give an archive written by irbench results export.")
    yield from folders


def _checked(folder: Path) -> _BroughtRun:
    at = folder / RUN_FILE
    whole = read_bytes(at, follow=False, most_bytes=LARGEST_DOCUMENT_BYTES)
    document = decode_document(whole, str(at))
    try:
        msgspec.convert(document.plan.timing, prepared(Timing))
        for name in document.launches:
            at = folder / name
            _require_fitting(decode_launch(read_launch(folder, name, document), str(at)), document)
    except ValueError as error:  # msgspec's are ValueErrors too
        raise IrbenchError(
            f"{at} does not match the rest of its run: {damage_text(error)}.",
            hint="irbench does not write such runs: do not trust it.",
        ) from error
    return _BroughtRun(folder, whole, document)


def _require_fitting(record: LaunchRecord, document: RunDocument) -> None:
    """Raise ValueError where a launch is of no table of its run."""
    rows_by_table = {place: {cell.id for cell in table.cells} for place, table in enumerate(document.groups)}
    rows_by_table |= {table.group: {row.id for row in table.rows} for table in document.serving}
    rows = rows_by_table.get(record.group)
    if rows is None:
        raise ValueError(f"the run has no table {record.group}")
    for cell in (*(measured.cell for measured in record.cells), *(measured.cell for measured in record.sustained)):
        if cell not in rows:
            raise ValueError(f"its table has no row {cell!r}")


def _is_stored_as(run: _BroughtRun, other: Path) -> bool:
    """Return whether a run lies in a folder with the same content, as the digests in its document tell."""
    try:
        check_launches(other, run.document)
        return read_bytes(other / RUN_FILE, follow=False) == run.whole
    except IrbenchError:
        return False


def _copy(run: _BroughtRun, target: Path) -> Path:
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
