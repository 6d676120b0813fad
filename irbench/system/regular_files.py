"""Opening files that somebody else put there: a link, a pipe that nobody writes to, a device."""

from __future__ import annotations

import errno
import os
import stat
from io import BufferedReader
from pathlib import Path


def open_regular(path: Path | str, *, follow: bool = True, folder: int | None = None) -> BufferedReader:
    """Open a regular file to read it. Never waits: opening a pipe without a writer would take for ever.

    Args:
        path: The file.
        follow: Whether it may be a symbolic link. Links among the folders above it are followed in any case.
        folder: Descriptor of the folder that ``path`` is relative to; ``None`` for the present one.

    Raises:
        OSError: It cannot be opened, is no regular file, or is a link that is not to be followed.
    """
    return os.fdopen(_opened(path, follow=follow, folder=folder)[0], "rb")


def read_regular(path: Path | str, most_bytes: int, *, follow: bool = True) -> bytes:
    """Return the content of a regular file.

    Args:
        path: The file.
        most_bytes: How large it may be.
        follow: As :func:`open_regular` takes it.

    Raises:
        OSError: As of :func:`open_regular`, or it is larger.
    """
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
    found = os.fstat(descriptor)
    if stat.S_ISREG(found.st_mode):
        return descriptor, found.st_size
    os.close(descriptor)
    if stat.S_ISDIR(found.st_mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    raise OSError(errno.EINVAL, "it is not a regular file", str(path))
