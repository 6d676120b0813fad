"""Reading one run: its document, and its raw samples one launch after the other."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import msgspec

from irbench.core.record import LaunchRecord
from irbench.core.result import RunDocument
from irbench.errors import IrbenchError
from irbench.store.document import decode_document
from irbench.store.files import LARGEST_DOCUMENT_BYTES, read_bytes
from irbench.store.folders import RUN_FILE
from irbench.store.launches import decode_launch


class _Row(msgspec.Struct):
    """A row, of which nothing is read."""


class _Table(msgspec.Struct):
    cells: tuple[_Row, ...] = ()
    rows: tuple[_Row, ...] = ()


class Outline(msgspec.Struct):
    """The tables of a run, read in a sixth of the time that its document takes.

    Attributes:
        groups: Of speeds.
        cold_starts: Of times to the first output.
        soaks: Of memory.
    """

    groups: tuple[_Table, ...] = ()
    cold_starts: tuple[_Table, ...] = ()
    soaks: tuple[_Table, ...] = ()


def load_document(folder: Path) -> RunDocument:
    """Return the document of the run in ``folder``."""
    return decode_document(_document_bytes(folder), f"{folder}/{RUN_FILE}")


def outline_of(folder: Path) -> Outline | None:
    """Return which tables the run in ``folder`` has; ``None`` where reading the whole of it would say what is wrong."""
    try:
        return _outlines().decode(_document_bytes(folder))
    except (IrbenchError, msgspec.DecodeError, ValueError, RecursionError):
        return None


def _document_bytes(folder: Path) -> bytes:
    return read_bytes(f"{folder}/{RUN_FILE}", follow=False, most_bytes=LARGEST_DOCUMENT_BYTES)


@cache
def _outlines() -> msgspec.json.Decoder[Outline]:
    return msgspec.json.Decoder(Outline)


def check_launches(folder: Path, document: RunDocument) -> None:
    """Compare every launch's file with its digest."""
    for name in document.launches:
        read_launch(folder, name, document)


def read_launches(folder: Path, document: RunDocument) -> Iterator[LaunchRecord]:
    """Yield a run's raw samples in the order in which they were taken, each file checked against its digest."""
    for name in sorted(document.launches):
        yield decode_launch(read_launch(folder, name, document), f"{folder}/{name}")


def read_launch(folder: Path, name: str, document: RunDocument) -> bytes:
    """Return the bytes of one launch's file, as they were measured.

    Args:
        folder: The run's.
        name: The file's.
        document: The run's, with the digest of the file.
    """
    path = f"{folder}/{name}"
    data = read_bytes(path, follow=False)
    if hashlib.sha256(data).hexdigest() != document.launches[name]:
        raise IrbenchError(
            f"{path} is damaged: its checksum does not match.",
            hint="Restore it from a copy, or delete the run's folder; other runs are not affected.",
        )
    return data
