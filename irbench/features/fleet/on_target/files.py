"""The files that a target was sent, kept by their content, and the folders of its jobs."""

from __future__ import annotations

import hashlib
import os
import re
import stat
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path, PurePosixPath

from irbench.errors import IrbenchError
from irbench.features.fleet.messages import JobRequest, SentFile
from irbench.system.file_access import open_regular, replacing, sync_folder
from irbench.system.file_states import digest
from irbench.system.home import home
from irbench.system.kept_files import remove_unused

REQUEST, OUTCOME, ARCHIVE, PROGRESS, ERRORS = "request.bin", "outcome.bin", "runs.tar.gz", "progress.log", "stderr.log"
FILES, LOCK, TURN = "files", "lock", "turn"
"""What lies in the folder of a job."""

_SHA256 = re.compile(r"[0-9a-f]{64}")
_JOB = re.compile(r"[0-9a-f]{12}")
_PRIVATE, _WRITTEN_BY_OTHERS = 0o700, stat.S_IWGRP | stat.S_IWOTH
_COPIED_BYTES = 1 << 20
_SEND_AGAIN = "Go on with --resume: it is sent again."


def missing(files: Sequence[SentFile]) -> tuple[str, ...]:
    """Return the contents that are not here, each once; a kept file that holds anything else is removed.

    Raises:
        IrbenchError: The folder of kept files is not private.
    """
    return tuple(sha256 for sha256 in dict.fromkeys(file.sha256 for file in files) if not _is_kept(sha256))


def _is_kept(sha256: str) -> bool:
    place = _kept(sha256)
    if _holds(place, sha256):
        return True
    with suppress(OSError):  # a folder, for example, which is told when the file is written
        place.unlink()
    return False


def take_piece(file: SentFile, job: str, offset: int, piece: bytes) -> None:
    """Write a piece of a file, of which pieces arrive in order; it is here when the last one has come and all is right.

    Args:
        file: What is sent.
        job: For which: others may be sent the same at once, where targets share a folder.
        offset: Of the piece.
        piece: Its bytes.

    Raises:
        IrbenchError: The content is another one than was announced, or the folder of kept files is not private.
        OSError: The disk is full, for example.
    """
    place = _kept(file.sha256)
    part = place.with_name(f"{file.sha256}.{_checked(job)}.part")
    if not 0 <= offset <= file.size_bytes - len(piece):
        part.unlink(missing_ok=True)
        raise IrbenchError(f"A file is larger than the {file.size_bytes} bytes that were announced.", hint=_SEND_AGAIN)
    try:
        with part.open("r+b" if offset else "wb") as taken:
            taken.seek(offset)
            taken.write(piece)
            taken.truncate()
            if offset + len(piece) < file.size_bytes:
                return
            taken.flush()
            os.fsync(taken.fileno())
    except OSError:
        part.unlink(missing_ok=True)
        raise
    if digest(part) != file.sha256:
        part.unlink()
        raise IrbenchError("A file arrived damaged, or was changed while it was sent.", hint=_SEND_AGAIN)
    part.replace(place)
    sync_folder(place.parent)
    remove_unused(place)


def job_folder(job: str, *, make: bool = False) -> Path:
    """Return the folder of a job, which no other user can look into.

    Args:
        job: Its id.
        make: Whether it is made where it is not there.

    Raises:
        IrbenchError: It, or a folder around it, belongs to another user or can be written by others.
    """
    folder = private_folder("jobs") / _checked(job)
    return _private(folder) if make or os.path.lexists(folder) else folder


def private_folder(name: str) -> Path:
    """Return a folder of irbench's for fleets, which is made where it is not there."""
    home().mkdir(parents=True, exist_ok=True)
    return _private(_private(home() / "fleet") / name)


def _private(folder: Path) -> Path:
    with suppress(FileExistsError):
        folder.mkdir(mode=_PRIVATE)
    status = folder.lstat()
    is_own = stat.S_ISDIR(status.st_mode) and status.st_uid == os.getuid()
    if not is_own or status.st_mode & _WRITTEN_BY_OTHERS:
        raise IrbenchError(
            f"{folder} is not a folder that this user alone can write to.",
            hint="Remove it, or set IRBENCH_HOME to a folder of your own.",
        )
    if stat.S_IMODE(status.st_mode) != _PRIVATE:
        folder.chmod(_PRIVATE)
    return folder


def _checked(job: str) -> str:
    if _JOB.fullmatch(job) is None:
        raise IrbenchError(f"{job!r} is not the id of a job.")
    return job


def lay_out(request: JobRequest, folder: Path) -> None:
    """Put the files of a job where its plan names them, as copies: whoever writes to one changes no other job's.

    Raises:
        IrbenchError: One would lie outside the folder, or was changed since it was sent.
        OSError: One is not here, or the disk is full.
    """
    for file in request.files:
        path = PurePosixPath(file.place)
        if path.is_absolute() or ".." in path.parts or not path.parts:
            raise IrbenchError(f"{file.place!r} is not a place in the folder of a job.")
        place = folder.joinpath(*path.parts)
        place.parent.mkdir(parents=True, exist_ok=True)
        if not _holds(place, file.sha256):
            _copy(file.sha256, place)


def _copy(sha256: str, place: Path) -> None:
    content = hashlib.sha256()
    with open_regular(_kept(sha256), follow=False) as kept, replacing(place) as copy:
        while block := kept.read(_COPIED_BYTES):
            content.update(block)
            copy.write(block)
        if content.hexdigest() != sha256:
            raise IrbenchError("A kept file was changed before its job began.", hint=_SEND_AGAIN)


def _holds(place: Path, sha256: str) -> bool:
    try:
        return digest(place, follow=False) == sha256
    except OSError:  # it is not there, or no file
        return False


def _kept(sha256: str) -> Path:
    if _SHA256.fullmatch(sha256) is None:
        raise IrbenchError("The name of a file is no SHA-256.")
    return private_folder("files") / sha256


def machine_digest(fact: str) -> str:
    """Return a digest of what tells a machine from others."""
    return hashlib.sha256(fact.encode()).hexdigest()[:16]
