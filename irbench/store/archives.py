"""Archives of runs: tar files, compressed with gzip, that unpack to the very folders of a store.

Members are ``runs/<yyyy-mm>/<ulid>/run.json``, the launches that it names and the logs of its workers.

They are read without ``tarfile``'s own reader, which takes extended headers into memory whole and believes what they
say: an archive from elsewhere is held to plain headers, and its files are put where we say. It is read twice, because
only what the documents of its runs name is unpacked, and they may stand anywhere.
"""

from __future__ import annotations

import errno
import gzip
import io
import os
import re
import tarfile
import zlib
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from datetime import datetime
from pathlib import Path, PurePosixPath
from typing import BinaryIO

import msgspec

from irbench.core.result import RunDocument
from irbench.errors import IrbenchError
from irbench.store.file_errors import LARGEST_BYTES, LARGEST_DOCUMENT_BYTES, explained, read_bytes, readable
from irbench.store.folders import LOGS, RUN_FILE, place_of
from irbench.store.run_document import decode_document
from irbench.store.runs import read_launch
from irbench.system.document_damage import damage_text
from irbench.system.file_access import open_regular, replacing
from irbench.system.file_states import exists, is_file
from irbench.system.prepared_types import prepared

_LOG = re.compile(r"(?P<worker>.+?)(-\d+)?\.log", re.ASCII)
"""Of a row, of one of its instances (``ort-2.log``), or of a process that keeps a processor busy."""
_NEIGHBOUR = "neighbour"
MOST_FILES = 1 << 18
"""Ten thousand runs of 26 files each; a run has a file for each launch, one for each row, and its document."""
MOST_RUNS = 1 << 14
"""Their documents are written to files before the rest of an archive is looked at, and each file takes a while."""
MOST_BYTES = 1 << 32
"""Of everything that is unpacked: ten thousand runs of the usual 200 kB take half of that."""
MOST_RATIO = 100
"""How many times larger than the archive what is unpacked may be. Launches, most of a run, are compressed already and
shrink no further; documents shrink to a tenth, and logs that repeat one line to a hundred-and-fiftieth."""
FREE_BYTES = 1 << 27
"""So much may be unpacked at any ratio: the logs of a hundred rows that all repeat one line."""
_LARGEST_LOG_BYTES = 1 << 20
"""Of a log, so much is packed, its end: a run that fails says why last."""
_UNTRUSTED = "irbench never writes such an archive: do not trust it."
_ELSEWHERE = "name another file with -o"
_GZIP = b"\x1f\x8b"
_LARGEST_HEADER_BYTES = 1 << 20
_PIECE_BYTES = 1 << 20
_FILES = (tarfile.REGTYPE, tarfile.AREGTYPE)
_HEADERS = (tarfile.XHDTYPE, tarfile.XGLTYPE, tarfile.GNUTYPE_LONGNAME, tarfile.GNUTYPE_LONGLINK)
_OF_A_RUN = re.compile(
    rf"(?:.*/)?([0-9A-Z]{{26}}/(?:{re.escape(RUN_FILE)}|launch-\d+-\d+(?:-sustained)?\.bin|{LOGS}/[^/.][^/]*\.log))",
    re.ASCII,
)
_UNREADABLE = (tarfile.TarError, EOFError, zlib.error, OSError, ValueError)


def read_logs(run: Path, document: RunDocument, most_bytes: int) -> Iterator[tuple[str, bytes]]:
    """Yield the name and the end of each log of a run, sorted; a run that fails says why last.

    Files of other names are left out, and nothing is read through a link: the folder may be from elsewhere, hold what
    irbench never wrote, and lead to files that are nobody else's business.
    """
    folder = run / LOGS
    if not os.path.lexists(folder):
        return
    with readable(folder):
        if folder.is_symlink():
            raise OSError(errno.ELOOP, "it is a symbolic link")
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        workers = {cell.id for group in document.groups for cell in group.cells} | {_NEIGHBOUR}
        for name in sorted(name for name in os.listdir(descriptor) if _is_of(name, workers)):  # noqa: PTH208 - of a descriptor
            with readable(folder / name), open_regular(name, follow=False, folder=descriptor) as file:
                file.seek(max(0, os.fstat(file.fileno()).st_size - most_bytes))
                yield name, file.read(most_bytes)
    finally:
        os.close(descriptor)


def _is_of(name: str, workers: AbstractSet[str]) -> bool:
    match = _LOG.fullmatch(name)
    return match is not None and name.isprintable() and bool({match["worker"], name.removesuffix(".log")} & workers)


def excess(files: int, runs: int, unpacked_bytes: int, packed_bytes: int) -> str:
    """Return what is too much about an archive, as the rest of a sentence; nothing where it may be unpacked.

    Args:
        files: How many it holds, folders and extended headers included.
        runs: How many of them are the document of a run.
        unpacked_bytes: Size of all of them with their headers.
        packed_bytes: Size of the archive itself.
    """
    if files > MOST_FILES:
        return f"holds more than {MOST_FILES:,} files"
    if runs > MOST_RUNS:
        return f"holds more than {MOST_RUNS:,} runs"
    if unpacked_bytes > MOST_BYTES:
        return f"unpacks to more than {MOST_BYTES >> 30} GiB"
    if unpacked_bytes > max(FREE_BYTES, MOST_RATIO * packed_bytes):
        return f"unpacks to more than {MOST_RATIO} times its own size"
    return ""


class _Named(msgspec.Struct):
    """What is read of a run's document before it is checked."""

    launches: dict[str, str]


def pack(folders: Sequence[Path], archive: Path) -> None:
    """Pack runs into ``archive``, which appears when it is whole."""
    with explained(archive, _ELSEWHERE):
        _require_archive(archive)
    with explained(archive, _ELSEWHERE), replacing(archive) as file:
        write_archive(folders, file)


def write_archive(folders: Sequence[Path], file: BinaryIO) -> None:
    """Pack runs into a file that is open; raises where irbench could not import the archive."""
    # launches are compressed already
    with tarfile.open(fileobj=file, mode="w:gz", compresslevel=1, format=tarfile.USTAR_FORMAT) as tar:
        for folder in folders:
            _pack(folder, tar)
        files = len(tar.getmembers())
    _require_unpackable(files, len(folders), tar.offset, file.tell())


def unpack(archive: Path, target: Path) -> None:
    """Write each run's files to a folder of its name below ``target``, and nothing else."""
    if not exists(archive):
        raise IrbenchError(f"There is no file or folder {archive}.", hint="Check the path.")
    if not is_file(archive):
        raise IrbenchError(
            f"{archive} is not a regular file, and an archive has to be read twice.", hint="Save it to a file first."
        )
    try:
        _unpack(archive, target, lambda path: path.name == RUN_FILE)
        launches = {folder.name: _launches_of(folder) for folder in target.glob("*")}
        _unpack(archive, target, lambda path: _is_named(path, launches))
    except _UNREADABLE as error:
        raise IrbenchError(
            f"{archive} is not an archive of runs, or is damaged: {_damage(archive, error)}.",
            hint="Copy it again, or export it again: irbench results export --all -o runs.tar.gz",
        ) from error


def _damage(archive: Path, error: Exception) -> str:
    """Return what is wrong with an archive: gzip has one kind of error for other files and for damaged ones."""
    if isinstance(error, gzip.BadGzipFile):
        with open_regular(archive) as file:
            if file.read(len(_GZIP)) != _GZIP:
                return "it is not compressed with gzip"
    return damage_text(error)


def _unpack(archive: Path, target: Path, is_chosen: Callable[[PurePosixPath], bool]) -> None:
    with open_regular(archive) as file, gzip.GzipFile(fileobj=file) as stream:
        for member in _members(stream, archive):
            end = stream.tell() + member.size
            match = _OF_A_RUN.fullmatch(member.name)
            if match and is_chosen(PurePosixPath(match[1])):
                _write(target / match[1], stream, member.size)
            stream.seek(end + -member.size % tarfile.BLOCKSIZE)


def _is_named(path: PurePosixPath, launches: Mapping[str, Collection[str]]) -> bool:
    """Whether a file is a log or a launch of a run whose document is there."""
    run = path.parts[0]
    return run in launches and path.name != RUN_FILE and (path.parts[1] == LOGS or path.name in launches[run])


def _launches_of(folder: Path) -> Collection[str]:
    """Return the launches that a document names; none where it is damaged, which those find that check it."""
    try:
        whole = read_bytes(folder / RUN_FILE, most_bytes=LARGEST_DOCUMENT_BYTES)
        return msgspec.json.decode(whole, type=prepared(_Named)).launches
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return ()


def _require_archive(path: Path) -> None:
    if not path.name.endswith((".tar.gz", ".tgz")):
        raise IrbenchError(f"{path} does not end with .tar.gz.", hint="Give a file name that ends with .tar.gz.")
    if not path.exists():
        return
    with open_regular(path) as file:
        if file.read(len(_GZIP)) != _GZIP:
            raise IrbenchError(
                f"{path} is not an archive of runs, and irbench does not overwrite it.",
                hint="Give another file with -o.",
            )


def _require_unpackable(files: int, runs: int, size_bytes: int, packed_bytes: int) -> None:
    if too_much := excess(files, runs, size_bytes, packed_bytes):
        raise IrbenchError(
            f"irbench could not import this archive: it {too_much}.", hint="Export fewer runs at a time."
        )


def _pack(folder: Path, tar: tarfile.TarFile) -> None:
    whole = read_bytes(folder / RUN_FILE, follow=False, most_bytes=LARGEST_DOCUMENT_BYTES)
    document = decode_document(whole, str(folder / RUN_FILE))
    _add(tar, document, RUN_FILE, whole)
    for name in sorted(document.launches):
        _add(tar, document, name, read_launch(folder, name, document))
    for name, log in read_logs(folder, document, _LARGEST_LOG_BYTES):
        _add(tar, document, f"{LOGS}/{name}", log)


def _add(tar: tarfile.TarFile, document: RunDocument, name: str, data: bytes) -> None:
    member = tarfile.TarInfo((place_of(Path(), document.created, document.run_id) / name).as_posix())
    member.size, member.mtime = len(data), int(datetime.fromisoformat(document.created).timestamp())
    tar.addfile(member, io.BytesIO(data))


def _members(stream: gzip.GzipFile, archive: Path) -> Iterator[tarfile.TarInfo]:
    packed_bytes, count, runs = archive.stat().st_size, 0, 0
    while any(header := _read(stream, tarfile.BLOCKSIZE)):
        member, count = tarfile.TarInfo.frombuf(header, "utf-8", "surrogateescape"), count + 1
        runs += PurePosixPath(member.name).name == RUN_FILE
        extended = member.type in _HEADERS
        if extended:
            _require_size(member, archive, _LARGEST_HEADER_BYTES)
        elif not member.isdir():
            _require_harmless(member, archive)
        if too_much := excess(count, runs, stream.tell() + max(0, member.size), packed_bytes):
            raise IrbenchError(f"{archive} {too_much}.", hint=_UNTRUSTED)
        if extended:
            stream.seek(member.size + -member.size % tarfile.BLOCKSIZE, os.SEEK_CUR)
        elif not member.isdir():
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
            f"{archive} holds {member.name!r}, which is a link or leads outside the archive.",
            hint=_UNTRUSTED,
        )
    _require_size(member, archive, LARGEST_BYTES)


def _require_size(member: tarfile.TarInfo, archive: Path, most_bytes: int) -> None:
    if not 0 <= member.size <= most_bytes:
        raise IrbenchError(
            f"{archive} holds {member.name!r} of {member.size / 1e9:.1f} GB, which is larger than any file of a run.",
            hint=_UNTRUSTED,
        )


def _write(path: Path, stream: gzip.GzipFile, size: int) -> None:
    if path.exists():
        raise ValueError(f"it holds {path.parent.name}/{path.name} twice")
    with explained(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        file = path.open("wb")
    with file:
        for start in range(0, size, _PIECE_BYTES):
            piece = _read(stream, min(_PIECE_BYTES, size - start))
            with explained(path):
                file.write(piece)
                file.flush()  # a full disk shows here
