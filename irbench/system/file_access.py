"""Writing files so that a crash leaves the old content or the new, and opening files that somebody else put there."""

from __future__ import annotations

import contextlib
import ctypes
import errno
import os
import shutil
import stat
import tempfile
from collections.abc import Iterator
from io import BufferedReader
from pathlib import Path
from typing import BinaryIO

_AT_FDCWD, _RENAME_EXCHANGE = -100, 2  # of Linux


def write_synced(path: Path, data: bytes) -> None:
    """Write a file and wait until the disk has its content.

    Raises:
        OSError: The disk is full, or the folder may not be written; nothing is left behind.
    """
    try:
        with path.open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
    except OSError:
        path.unlink(missing_ok=True)
        raise


def write_atomically(path: Path, data: bytes) -> None:
    """Replace a file's content in one step: readers see the old content or the new.

    Every file that was written into the same folder before is on the disk afterwards too.
    """
    with replacing(path) as file:
        file.write(data)


def append_synced(path: Path, size: int, data: bytes) -> None:
    """Write behind the first bytes of a file, which is made where it is not there, and wait until the disk has them.

    Args:
        path: The file.
        size: After how many bytes; what an earlier call has left behind them is removed.
        data: What is written.

    Raises:
        OSError: The disk is full, or the file may not be written.
    """
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT, 0o666)
    with open(descriptor, "wb") as file:  # noqa: PTH123 - of a descriptor
        file.truncate(size)
        file.seek(size)
        file.write(data)
        file.flush()
        os.fsync(descriptor)


def require_room(folder: Path, size_bytes: int) -> None:
    """Refuse where no file of a size can be written.

    Raises:
        OSError: The disk, a quota or a limit of this process leaves less.
    """
    with tempfile.TemporaryFile(dir=folder) as file:
        os.posix_fallocate(file.fileno(), 0, size_bytes)


@contextlib.contextmanager
def replacing(path: Path) -> Iterator[BinaryIO]:
    """Yield a new file that takes the place of ``path`` in one step when the block ends, and is gone where it fails."""
    beside = path.with_name(f".{path.name}-{os.urandom(4).hex()}.new")  # two processes may write at once
    try:
        with beside.open("wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        beside.replace(path)
    except BaseException:  # an interrupt as well
        beside.unlink(missing_ok=True)
        raise
    sync_folder(path.parent)


def sync_folder(folder: Path) -> None:
    """Wait until the disk knows which files a folder holds."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def move_folder(folder: Path, place: Path) -> None:
    """Move a folder to a place on its file system that holds no file, in one step that the disk knows of."""
    folder.rename(place)
    with contextlib.suppress(OSError):  # some file systems sync no folders, and the move is done
        sync_folder(place.parent)


def replace_folder(new: Path, place: Path) -> None:
    """Move a folder to a place on its file system and remove the one that is there.

    Where the system can exchange two folders, ``place`` is one of the two at any moment. Elsewhere it is missing for a
    moment; a crash then leaves the old one beside it, under a name that begins with a dot and its own.

    Raises:
        OSError: It cannot be moved; the old folder is still there.
    """
    try:
        move_folder(new, place)
    except OSError as error:
        if error.errno not in (errno.ENOTEMPTY, errno.EEXIST):
            raise
        if not exchange(new, place):
            _swap(new, place)
        shutil.rmtree(new, ignore_errors=True)
        with contextlib.suppress(OSError):
            sync_folder(place.parent)


def exchange(path: Path, other: Path) -> bool:
    """Exchange two folders in one step, where the system can."""
    exchange = getattr(ctypes.CDLL(None), "renameat2", None)
    paths = os.fsencode(path.absolute()), os.fsencode(other.absolute())
    return exchange is not None and exchange(_AT_FDCWD, paths[0], _AT_FDCWD, paths[1], _RENAME_EXCHANGE) == 0


def _swap(new: Path, place: Path) -> None:
    """Exchange two folders in steps, and undo the first where the second fails."""
    aside = place.with_name(f".{place.name}-{os.urandom(4).hex()}.old")
    place.rename(aside)
    try:
        new.rename(place)
    except BaseException:  # an interrupt as well
        aside.rename(place)
        raise
    aside.rename(new)


def open_regular(path: Path | str, *, follow: bool = True, folder: int | None = None) -> BufferedReader:
    """Open a regular file to read it. Never waits: opening a pipe without a writer would take for ever.

    Args:
        path: The file.
        follow: Whether it may be a symbolic link. Links among the folders above it are followed in any case.
        folder: Descriptor of the folder that ``path`` is relative to; ``None`` for the present one.

    Raises:
        OSError: It cannot be opened, is not a regular file, or is a link that is not to be followed.
    """
    return os.fdopen(_opened(path, follow=follow, folder=folder)[0], "rb")


def read_regular(path: Path | str, most_bytes: int, *, follow: bool = True) -> bytes:
    """Return the content of a regular file."""
    descriptor, size = _opened(path, follow=follow)
    size = min(size, most_bytes)
    try:  # by the descriptor alone: a file object costs as much as the reading, of which an export has thousands
        content = os.read(descriptor, size + 1)  # not of most_bytes, for which that much memory would be reserved
        # another length: it has changed since, the read was interrupted, or the kernel does not know its file's size
        while len(content) != size and (more := os.read(descriptor, most_bytes + 1 - len(content))):
            content += more
    finally:
        os.close(descriptor)
    if len(content) > most_bytes:
        raise OSError(errno.EFBIG, f"it has more than {most_bytes / 1e6:.0f} MB", str(path))
    return content


def _opened(path: Path | str, *, follow: bool, folder: int | None = None) -> tuple[int, int]:
    """Return a descriptor of a regular file, and its size in bytes; takes and raises what :func:`open_regular` does."""
    flags = os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | (0 if follow else os.O_NOFOLLOW)
    try:
        descriptor = os.open(path, flags, dir_fd=folder)
    except OSError as error:
        if error.errno == errno.ELOOP and not follow:
            raise OSError(errno.ELOOP, "it is a symbolic link", str(path)) from error
        raise
    except ValueError as error:  # a null character, which plans and receipts may hold
        raise OSError(errno.EINVAL, "no file can have such a name", str(path)) from error
    status = os.fstat(descriptor)
    if stat.S_ISREG(status.st_mode):
        return descriptor, status.st_size
    os.close(descriptor)
    if stat.S_ISDIR(status.st_mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    raise OSError(errno.EINVAL, "it is not a regular file", str(path))
