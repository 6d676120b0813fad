"""Reading one run: its document, and its raw samples one launch after the other."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from irbench.errors import IrbenchError
from irbench.record import LaunchRecord
from irbench.result import RunDocument
from irbench.store.document import decode_document
from irbench.store.files import LARGEST_DOCUMENT_BYTES, read_bytes
from irbench.store.folders import RUN_FILE
from irbench.store.launches import decode_launch


def load_document(folder: Path) -> RunDocument:
    """Return the document of the run in ``folder``.

    Raises:
        IrbenchError: It is damaged, of a newer format, larger than any, or no regular file: a link is none.
    """
    return decode_document(_document_bytes(folder), str(folder / RUN_FILE))


def load_to_read_again(folder: Path) -> tuple[RunDocument, Callable[[], RunDocument]]:
    """Return the document of the run in ``folder``, and what reads it again: faster, while it is the same.

    Raises:
        IrbenchError: As of :func:`load_document`; what reads it again raises it too.
    """
    data = _document_bytes(folder)
    return decode_document(data, str(folder / RUN_FILE)), partial(_read_again, folder, _digest(data))


def _read_again(folder: Path, digest: bytes) -> RunDocument:
    data = _document_bytes(folder)
    return decode_document(data, str(folder / RUN_FILE), is_checked=_digest(data) == digest)


def _document_bytes(folder: Path) -> bytes:
    return read_bytes(folder / RUN_FILE, follow=False, most_bytes=LARGEST_DOCUMENT_BYTES)


def _digest(data: bytes) -> bytes:
    return hashlib.sha256(data).digest()


def check_launches(folder: Path, document: RunDocument) -> None:
    """Compare every launch's file with its digest.

    Raises:
        IrbenchError: A file is missing or changed.
    """
    for name in document.launches:
        read_launch(folder, name, document)


def read_launches(folder: Path, document: RunDocument) -> Iterator[LaunchRecord]:
    """Yield a run's raw samples in the order in which they were taken, each file checked against its digest.

    Raises:
        IrbenchError: A file is missing, changed or damaged.
    """
    for name in sorted(document.launches):
        yield decode_launch(read_launch(folder, name, document), str(folder / name))


def read_launch(folder: Path, name: str, document: RunDocument) -> bytes:
    """Return the bytes of one launch's file, as they were measured.

    Args:
        folder: The run's.
        name: The file's.
        document: The run's, with the digest of the file.

    Raises:
        IrbenchError: It is missing, changed, or no regular file: a link is none.
    """
    data = read_bytes(folder / name, follow=False)
    if hashlib.sha256(data).hexdigest() != document.launches[name]:
        raise IrbenchError(
            f"{folder / name} is damaged: its checksum does not match.",
            hint="Restore it from a copy, or delete the run's folder; other runs are not affected.",
        )
    return data
