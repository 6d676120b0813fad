"""The files that a target was sent, kept by their content, and the folders of its jobs."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
from collections.abc import Sequence
from pathlib import Path, PurePosixPath

from irbench.errors import IrbenchError
from irbench.features.fleet.messages import JobRequest, SentFile
from irbench.system.file_access import sync_folder
from irbench.system.file_states import digest, is_file
from irbench.system.home import home
from irbench.system.kept_files import remove_unused

REQUEST, OUTCOME, ARCHIVE, PROGRESS, ERRORS = "request.bin", "outcome.bin", "runs.tar.gz", "progress.log", "stderr.log"
FILES, LOCK, TURN = "files", "lock", "turn"
"""What lies in the folder of a job."""

_SHA256 = re.compile(r"[0-9a-f]{64}")
_JOB = re.compile(r"[0-9a-f]{12}")


def missing(files: Sequence[SentFile]) -> tuple[str, ...]:
    """Return the contents that are not here, each once."""
    wanted = dict.fromkeys(file.sha256 for file in files)
    return tuple(sha256 for sha256 in wanted if not is_file(_kept(sha256)))


def take_piece(file: SentFile, job: str, offset: int, piece: bytes) -> None:
    """Write a piece of a file, of which pieces arrive in order; it is here when the last one has come and all is right.

    Args:
        file: What is sent.
        job: For which: others may be sent the same at once, where targets share a folder.
        offset: Of the piece.
        piece: Its bytes.

    Raises:
        IrbenchError: The content is another one than was announced.
        OSError: The disk is full, for example.
    """
    place = _kept(file.sha256)
    part = place.with_name(f"{file.sha256}.{_checked(job)}.part")
    place.parent.mkdir(parents=True, exist_ok=True)
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
        raise IrbenchError("A file arrived damaged.", hint="Start the fleet again.")
    part.replace(place)
    sync_folder(place.parent)
    remove_unused(place)


def job_folder(job: str) -> Path:
    """Return the folder of a job; it may have to be made."""
    return home() / "fleet" / "jobs" / _checked(job)


def _checked(job: str) -> str:
    if _JOB.fullmatch(job) is None:
        raise IrbenchError(f"{job!r} is not the id of a job.")
    return job


def lay_out(request: JobRequest, folder: Path) -> None:
    """Put the files of a job where its plan names them.

    Raises:
        IrbenchError: One would lie outside the folder.
        OSError: One is not here, or the disk is full.
    """
    for file in request.files:
        path = PurePosixPath(file.place)
        if path.is_absolute() or ".." in path.parts or not path.parts:
            raise IrbenchError(f"{file.place!r} is not a place in the folder of a job.")
        place = folder.joinpath(*path.parts)
        place.parent.mkdir(parents=True, exist_ok=True)
        if not is_file(place) or digest(place) != file.sha256:
            _copied(_kept(file.sha256), place)


def _copied(source: Path, place: Path) -> None:
    """Make a file appear whole: a second name of the one that is kept where the file system allows that."""
    beside = place.with_name(f".{place.name}.new")
    beside.unlink(missing_ok=True)
    try:
        os.link(source, beside)
    except OSError:
        shutil.copyfile(source, beside)
    beside.replace(place)


def _kept(sha256: str) -> Path:
    if _SHA256.fullmatch(sha256) is None:
        raise IrbenchError("The name of a file is no SHA-256.")
    return home() / "fleet" / "files" / sha256


def machine_digest(fact: str) -> str:
    """Return a digest of what tells a machine from others."""
    return hashlib.sha256(fact.encode()).hexdigest()[:16]
