"""Archives of runs: tar files, compressed with gzip, that unpack to the very folders of a store.

Members are ``runs/<yyyy-mm>/<ulid>/run.json``, the launches that it names and the logs of its workers.

They are read without ``tarfile``'s own reader, which takes extended headers into memory whole and believes what they
say: an archive from elsewhere is held to plain headers, and its files are put where we say.
"""

from __future__ import annotations

import gzip
import io
import os
import re
import tarfile
import zlib
from collections.abc import Iterator, Sequence
from datetime import datetime
from pathlib import Path, PurePosixPath

from irbench.errors import IrbenchError
from irbench.files import sync_folder
from irbench.result import RunDocument
from irbench.store.document import decode_document
from irbench.store.files import explained, read_bytes
from irbench.store.folders import LOGS, RUN_FILE, place_of
from irbench.store.reading import read_launch

__all__ = ["pack", "unpack"]

_LARGEST_LOG_BYTES = 1 << 20
"""Of a log, so much is packed, its end: a run that fails says why last."""

_ELSEWHERE = "name another file with -o"
_GZIP = b"\x1f\x8b"
_LARGEST_MEMBER_BYTES = 1 << 28
_LARGEST_HEADER_BYTES = 1 << 20
_FILES = (tarfile.REGTYPE, tarfile.AREGTYPE)
_HEADERS = (tarfile.XHDTYPE, tarfile.XGLTYPE, tarfile.GNUTYPE_LONGNAME, tarfile.GNUTYPE_LONGLINK)
_OF_A_RUN = re.compile(
    rf"(?:.*/)?([0-9A-Z]{{26}}/(?:{re.escape(RUN_FILE)}|launch-\d+-\d+(?:-sustained)?\.bin|{LOGS}/[^/.][^/]*\.log))",
    re.ASCII,
)
_UNREADABLE = (tarfile.TarError, EOFError, zlib.error, OSError, ValueError)


def pack(folders: Sequence[Path], archive: Path) -> None:
    """Pack runs into ``archive``, which appears when it is whole.

    Raises:
        IrbenchError: A file of a run is missing or damaged, or the archive cannot be written or would replace
            something that is none.
    """
    with explained(archive, _ELSEWHERE):
        _require_archive(archive)
    beside = archive.with_name(f".{archive.name}-{os.urandom(4).hex()}.new")
    try:
        with explained(archive, _ELSEWHERE):
            with beside.open("wb") as file:
                # launches are compressed already
                with tarfile.open(fileobj=file, mode="w:gz", compresslevel=1, format=tarfile.USTAR_FORMAT) as tar:
                    for folder in folders:
                        _pack(folder, tar)
                file.flush()
                os.fsync(file.fileno())
            beside.replace(archive)
            sync_folder(archive.parent)
    finally:
        beside.unlink(missing_ok=True)


def unpack(archive: Path, target: Path) -> None:
    """Write each run's files to a folder of its name below ``target``, and nothing else.

    Raises:
        IrbenchError: It is no archive, damaged, or holds what could harm.
    """
    try:
        with gzip.open(archive) as stream:
            for member in _members(stream, archive):
                if found := _OF_A_RUN.fullmatch(member.name):
                    _write(target / found[1], _read(stream, member.size))
                else:
                    stream.seek(member.size, os.SEEK_CUR)
                stream.seek(-member.size % tarfile.BLOCKSIZE, os.SEEK_CUR)
    except _UNREADABLE as error:
        raise IrbenchError(
            f"{archive} is no archive of runs, or it is damaged: {error}.",
            hint="Copy it again, or pack it again: irbench results export",
        ) from error


def _require_archive(path: Path) -> None:
    if not path.name.endswith((".tar.gz", ".tgz")):
        raise IrbenchError(f"{path} is no name of an archive.", hint="Name a file that ends in .tar.gz with -o.")
    if not path.exists():
        return
    with path.open("rb") as file:
        if file.read(len(_GZIP)) != _GZIP:
            raise IrbenchError(f"{path} is no archive and is not replaced.", hint="Name another file with -o.")


def _pack(folder: Path, tar: tarfile.TarFile) -> None:
    whole = read_bytes(folder / RUN_FILE)
    document = decode_document(whole, str(folder / RUN_FILE))
    _add(tar, document, RUN_FILE, whole)
    for name in sorted(document.launches):
        _add(tar, document, name, read_launch(folder, name, document))
    for log in sorted((folder / LOGS).glob("*.log")):
        _add(tar, document, f"{LOGS}/{log.name}", _end_of(log))


def _end_of(log: Path) -> bytes:
    with log.open("rb") as file:
        file.seek(max(0, log.stat().st_size - _LARGEST_LOG_BYTES))
        return file.read(_LARGEST_LOG_BYTES)


def _add(tar: tarfile.TarFile, document: RunDocument, name: str, data: bytes) -> None:
    member = tarfile.TarInfo((place_of(Path(), document.created, document.run_id) / name).as_posix())
    member.size, member.mtime = len(data), int(datetime.fromisoformat(document.created).timestamp())
    tar.addfile(member, io.BytesIO(data))


def _members(stream: gzip.GzipFile, archive: Path) -> Iterator[tarfile.TarInfo]:
    """Yield each file's header, behind which the stream stands at its content."""
    while any(header := _read(stream, tarfile.BLOCKSIZE)):
        member = tarfile.TarInfo.frombuf(header, "utf-8", "surrogateescape")
        if member.type in _HEADERS:
            _require_size(member, archive, _LARGEST_HEADER_BYTES)
            stream.seek(member.size + -member.size % tarfile.BLOCKSIZE, os.SEEK_CUR)
        elif not member.isdir():
            _require_harmless(member, archive)
            yield member


def _read(stream: gzip.GzipFile, count: int) -> bytes:
    data = stream.read(count)
    if len(data) < count:
        raise EOFError("it is cut short")
    return data


def _require_harmless(member: tarfile.TarInfo, archive: Path) -> None:
    path = PurePosixPath(member.name)
    if path.is_absolute() or ".." in path.parts or member.type not in _FILES:
        raise IrbenchError(
            f"{archive} holds {member.name!r}, which is a link or leads out of the folder it is unpacked in.",
            hint="irbench never writes such an archive: do not trust it.",
        )
    _require_size(member, archive, _LARGEST_MEMBER_BYTES)


def _require_size(member: tarfile.TarInfo, archive: Path, most_bytes: int) -> None:
    if not 0 <= member.size <= most_bytes:
        raise IrbenchError(
            f"{archive} holds {member.name!r} of {member.size / 1e9:.1f} GB, which is more than a run's file has.",
            hint="irbench never writes such an archive: do not trust it.",
        )


def _write(path: Path, data: bytes) -> None:
    if path.exists():
        raise ValueError(f"it holds {path.parent.name}/{path.name} twice")
    with explained(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
