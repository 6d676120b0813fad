"""Runs on their way between machines: an archive that unpacks to the very folders of a store.

Members are ``runs/<yyyy-mm>/<ulid>/run.json`` and the launches that it names, in a tar file compressed with gzip.
"""

from __future__ import annotations

import io
import shutil
import tarfile
import tempfile
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path, PurePosixPath

from irbench.errors import IrbenchError
from irbench.result import RunDocument
from irbench.store.document import decode_document
from irbench.store.files import explained, read_bytes, sync_folder, write_synced
from irbench.store.folders import RUN_FILE, place_of
from irbench.store.launches import decode_launch
from irbench.store.reading import check_launches, load_document, read_launch

__all__ = ["Arrivals", "export_runs", "import_runs", "remove_run"]

_LARGEST_MEMBER_BYTES = 1 << 30
_UNREADABLE = (tarfile.TarError, EOFError, zlib.error, OSError)


@dataclass(frozen=True)
class Arrivals:
    """What an import did.

    Attributes:
        added: Folders of the runs that are new here.
        present: Folders of those that were here already, with the same content.
    """

    added: tuple[Path, ...]
    present: tuple[Path, ...]


def export_runs(folders: Sequence[Path], archive: Path) -> None:
    """Pack runs into ``archive``, which appears when it is whole.

    Raises:
        IrbenchError: A file of a run is missing or damaged, or the archive cannot be written.
    """
    beside = archive.with_name(f".{archive.name}.new")
    try:
        with explained(archive), tarfile.open(beside, "w:gz", compresslevel=1) as tar:  # launches are compressed
            for folder in folders:
                _pack(folder, tar)
        with explained(archive):
            beside.replace(archive)
    finally:
        beside.unlink(missing_ok=True)


def import_runs(sources: Sequence[Path], root: Path) -> Arrivals:
    """Bring runs into the store: everything is checked before the first of them becomes visible, each in one step.

    Args:
        sources: Archives of :func:`export_runs`, or folders with runs in them at any depth.
        root: The store's folder.

    Raises:
        IrbenchError: A source is no archive or holds no run, one of them is damaged or of a newer format, or it is
            here already with other content. Nothing was imported.
    """
    with explained(root):
        root.mkdir(parents=True, exist_ok=True)
        staging = tempfile.TemporaryDirectory(prefix=".import-", dir=root)
    with staging as name:
        scratch = Path(name)
        ready: dict[Path, Path] = {}
        present: list[Path] = []
        for number, source in enumerate(sources):
            for folder in _runs_in(source, scratch / f"unpacked-{number}"):
                document = _checked(folder)
                place = place_of(root, document.created, document.run_id)
                if place.exists():
                    _require_equal(folder, place, document)
                    present.append(place)
                elif place not in ready:
                    ready[place] = _copy(folder, scratch / document.run_id, document)
        for place, copy in ready.items():
            with explained(place):
                place.parent.mkdir(parents=True, exist_ok=True)
                copy.rename(place)
                sync_folder(place.parent)
    return Arrivals(tuple(ready), tuple(present))


def remove_run(folder: Path) -> None:
    """Remove a run for good; it disappears in one step.

    Raises:
        IrbenchError: Its folder may not be changed.
    """
    with explained(folder):
        aside = folder.with_name(f".removed-{folder.name}")
        folder.rename(aside)
        shutil.rmtree(aside)


def _pack(folder: Path, tar: tarfile.TarFile) -> None:
    whole = read_bytes(folder / RUN_FILE)
    document = decode_document(whole, str(folder / RUN_FILE))
    _add(tar, document, RUN_FILE, whole)
    for name in sorted(document.launches):
        _add(tar, document, name, read_launch(folder, name, document))


def _add(tar: tarfile.TarFile, document: RunDocument, name: str, data: bytes) -> None:
    member = tarfile.TarInfo((place_of(Path(), document.created, document.run_id) / name).as_posix())
    member.size, member.mtime = len(data), datetime.fromisoformat(document.created).timestamp()
    tar.addfile(member, io.BytesIO(data))


def _runs_in(source: Path, scratch: Path) -> Iterator[Path]:
    """Yield the folders of the runs in an archive or below a folder."""
    below = source
    if not source.is_dir():
        _unpack(source, scratch)
        below = scratch
    found = sorted(path.parent for path in below.rglob(RUN_FILE) if not _hidden(path.relative_to(below)))
    if not found:
        raise IrbenchError(f"{source} holds no run.", hint="Name an archive that irbench results export wrote.")
    yield from found


def _hidden(path: Path) -> bool:
    return any(part.startswith(".") for part in path.parts)


def _unpack(archive: Path, scratch: Path) -> None:
    """Unpack the files of runs, and nothing else.

    Raises:
        IrbenchError: It is no archive, damaged, or holds what could harm.
    """
    scratch.mkdir()
    room_bytes = shutil.disk_usage(scratch).free
    try:
        with tarfile.open(archive) as tar:
            for member in tar:
                _require_harmless(member, archive, room_bytes)
                room_bytes -= member.size
                if PurePosixPath(member.name).suffix in (".bin", ".json"):
                    tar.extract(member, scratch, filter="data")
    except _UNREADABLE as error:
        raise IrbenchError(
            f"{archive} is no archive of runs, or it is damaged: {error}.",
            hint="Copy it again, or pack it again: irbench results export",
        ) from error


def _require_harmless(member: tarfile.TarInfo, archive: Path, room_bytes: int) -> None:
    path = PurePosixPath(member.name)
    if path.is_absolute() or ".." in path.parts or not (member.isfile() or member.isdir()):
        raise IrbenchError(
            f"{archive} holds {member.name!r}, which is a link or leads out of the folder it is unpacked in.",
            hint="irbench never writes such an archive: do not trust it.",
        )
    if member.size > min(_LARGEST_MEMBER_BYTES, room_bytes):
        raise IrbenchError(
            f"{archive} holds {member.name!r} of {member.size / 1e9:.1f} GB, which is more than a run's file has"
            " or than there is room for.",
            hint="Make room there, or do not trust the archive.",
        )


def _checked(folder: Path) -> RunDocument:
    """Return the document of a run whose every file is sound."""
    document = load_document(folder)
    for name in document.launches:
        decode_launch(read_launch(folder, name, document), str(folder / name))
    return document


def _require_equal(folder: Path, place: Path, document: RunDocument) -> None:
    try:
        check_launches(place, document)
        same = read_bytes(place / RUN_FILE) == read_bytes(folder / RUN_FILE)
    except IrbenchError:
        same = False
    if not same:
        raise IrbenchError(
            f"Run {document.run_id} is stored already, with other content, in {place}.",
            hint=f"If that of the import is right: irbench results rm {document.run_id}",
        )


def _copy(folder: Path, target: Path, document: RunDocument) -> Path:
    with explained(target):
        target.mkdir()
    for name in (*document.launches, RUN_FILE):
        write_synced(target / name, read_bytes(folder / name))
    sync_folder(target)
    return target
