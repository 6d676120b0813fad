"""The kernel's page cache: drop files from it, read files into it, and see how much of a file is in it.

Dropping takes no privilege. Pages that some process has mapped stay, as do those of files that live in memory
(``tmpfs``), so who drops must look at what is left.
"""

from __future__ import annotations

import contextlib
import ctypes
import mmap
import os
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

_PIECE_BYTES = 1 << 22
_IN_MEMORY = bytes(byte & 1 for byte in range(256))
"""The lowest bit of what ``mincore`` writes for a page; see mincore(2)."""


@dataclass(frozen=True)
class Residency:
    """How much of some files is in the page cache.

    Attributes:
        size_bytes: Of all files whose pages the kernel reports.
        unknown_bytes: Size of the files whose pages the kernel does not report: those of another owner that may not
            be written either.
    """

    size_bytes: int = 0
    resident_bytes: int = 0
    unknown_bytes: int = 0

    @property
    def share(self) -> float | None:
        """The part that is in memory, from 0 to 1; ``None`` where nothing is known."""
        return self.resident_bytes / self.size_bytes if self.size_bytes else None

    def __add__(self, other: Residency) -> Residency:
        return Residency(
            self.size_bytes + other.size_bytes,
            self.resident_bytes + other.resident_bytes,
            self.unknown_bytes + other.unknown_bytes,
        )


def drop(files: Iterable[Path]) -> None:
    """Ask the kernel to drop each file's pages; a file that is gone or cannot be read is left out.

    What was written a moment ago goes to the disk first: the kernel keeps pages that the disk has not yet.
    """
    for file in files:
        with _opened(file) as descriptor:
            if descriptor is not None:
                with contextlib.suppress(OSError):  # some file systems have nothing to write back
                    os.fdatasync(descriptor)
                os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)


def read_in(files: Iterable[Path]) -> None:
    """Read each file once, so that its pages are in memory; a file that cannot be read is left out."""
    buffer = bytearray(_PIECE_BYTES)
    for file in files:
        with _opened(file) as descriptor:
            while descriptor is not None and os.readv(descriptor, [buffer]):
                pass


def residency(files: Iterable[Path]) -> Residency:
    """Return how much of some files is in memory, without bringing any of it there."""
    return sum(map(_residency, files), Residency())


def _residency(file: Path) -> Residency:
    with _opened(file) as descriptor:
        if descriptor is None:
            return Residency()
        size_bytes = os.fstat(descriptor).st_size
        if not size_bytes:
            return Residency()
        if not is_reported(file):
            return Residency(unknown_bytes=size_bytes)
        with closing(mmap.mmap(descriptor, size_bytes, mmap.MAP_PRIVATE)) as pages:
            resident_bytes = _resident_pages(pages, size_bytes) * mmap.PAGESIZE
        return Residency(size_bytes, min(resident_bytes, size_bytes))


def _resident_pages(pages: mmap.mmap, size_bytes: int) -> int:
    view = (ctypes.c_char * size_bytes).from_buffer(pages)
    resident = ctypes.create_string_buffer(-(-size_bytes // mmap.PAGESIZE))
    try:
        libc = ctypes.CDLL(None, use_errno=True)
        if libc.mincore(ctypes.c_void_p(ctypes.addressof(view)), ctypes.c_size_t(size_bytes), resident):
            code = ctypes.get_errno()
            raise OSError(code, os.strerror(code))
        return sum(resident.raw.translate(_IN_MEMORY)[: len(resident)])
    finally:
        del view  # a mapping that something points into cannot be closed


def is_reported(file: Path) -> bool:
    """Whether the kernel tells this user which pages of a file are in memory; to others it says that all are.

    Source: mincore(2), NOTES, and ``can_do_mincore`` of the kernel.
    """
    return file.stat().st_uid == os.geteuid() or os.access(file, os.W_OK)


@contextmanager
def _opened(file: Path) -> Iterator[int | None]:
    try:
        descriptor = os.open(file, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except OSError:
        yield None
        return
    try:
        yield descriptor
    finally:
        os.close(descriptor)
