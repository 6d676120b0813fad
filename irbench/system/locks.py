"""Files and folders that belong to a living process: the kernel lets go of them when it ends, however it ends.

Process ids would tell nothing across containers that share a folder. Where a file system knows no locks, a name that
is held on this machine stands for the lock; processes of other machines do not see it.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import hashlib
import os
import shutil
import socket
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


def hold_name(name: str) -> int:
    """Hold a name until the descriptor that is returned is closed, or this process ends.

    Raises:
        BlockingIOError: Another descriptor holds it.
        OSError: The system has no such names.
    """
    with contextlib.ExitStack() as stack:
        holder = stack.enter_context(socket.socket(socket.AF_UNIX, socket.SOCK_STREAM))
        try:
            holder.bind(_address(name))
            holder.listen(socket.SOMAXCONN)
        except OSError as error:
            if error.errno == errno.EADDRINUSE:
                raise BlockingIOError(errno.EAGAIN, os.strerror(errno.EAGAIN), name) from error
            raise
        stack.pop_all()
        return holder.detach()


def wait_for_name(name: str) -> int:
    """Do as :func:`hold_name`, but wait for as long as another descriptor holds the name."""
    while True:
        try:
            return hold_name(name)
        except BlockingIOError:
            _wait_for_its_end(name)


def _wait_for_its_end(name: str) -> None:
    """Connect to who holds a name, and wait until the kernel hangs up: nobody ever answers."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as waiting, contextlib.suppress(ConnectionError):
        waiting.connect(_address(name))
        waiting.recv(1)


def _address(name: str) -> bytes:
    """Return an address of the same length for any name: the kernel takes 107 bytes."""
    return b"\0irbench-" + hashlib.sha256(name.encode(errors="surrogateescape")).hexdigest().encode()


_ALIVE = ".alive"
"""A file that the owner of a temporary folder keeps locked."""

NO_LOCKS = frozenset({errno.ENOLCK, errno.ENOTSUP, errno.EOPNOTSUPP, errno.EINVAL, errno.ENOSYS, errno.EBADF})
"""What file systems without locks answer: NFS without its lock server, 9p, Lustre, some of FUSE. ``EBADF``: NFS locks
nothing that was opened to read, and folders cannot be opened to write."""

_ABANDONED_S = 7 * 24 * 3600
"""Age at which a temporary folder is removed of which nobody can know whether its owner lives: the owner may be on
another machine, whose locks are not seen here."""


def hold(path: Path) -> int:
    """Lock a file or folder until the descriptor that is returned is closed, or this process ends.

    Raises:
        BlockingIOError: Another descriptor holds it.
        OSError: It cannot be opened, is a link, or neither its file system nor the system knows locks.
    """
    access = os.O_RDONLY if path.is_dir() else os.O_RDWR  # network file systems lock only what may be written
    return _locked(os.open(path, access | os.O_NOFOLLOW | os.O_NONBLOCK), wait=False)


def is_held(path: Path) -> bool:
    """Whether a living process holds a file or folder; ``False`` where nobody can know."""
    try:
        os.close(hold(path))
    except BlockingIOError:
        return True
    except OSError:
        return False
    return False


@contextmanager
def waiting_for(path: Path) -> Iterator[None]:
    """Hold the lock of a folder or file, waiting for as long as another process holds it; a file is made and stays."""
    access = os.O_RDONLY if path.is_dir() else os.O_RDWR | os.O_CREAT
    descriptor = _locked(os.open(path, access | os.O_NOFOLLOW, 0o600), wait=True)
    try:
        yield
    finally:
        os.close(descriptor)


@contextmanager
def temporary_folder(parent: Path, prefix: str) -> Iterator[Path]:
    """Yield an empty folder that is gone afterwards, after removing those of ``prefix`` whose owners were killed."""
    with tempfile.TemporaryDirectory(prefix=prefix, dir=parent, ignore_cleanup_errors=True) as name:
        folder = Path(name)
        fresh = folder / f"{_ALIVE}.new"
        fresh.touch()
        descriptor = _held_or_not(fresh)
        try:
            fresh.rename(folder / _ALIVE)  # locked before anyone can find it
            _remove_abandoned(parent, prefix, folder)
            yield folder
        finally:
            if descriptor is not None:
                os.close(descriptor)


def _locked(descriptor: int, *, wait: bool) -> int:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
    except BlockingIOError:
        os.close(descriptor)
        raise
    except OSError as error:
        status = os.fstat(descriptor)
        os.close(descriptor)
        if error.errno not in NO_LOCKS:
            raise
        name = f"file {status.st_dev}:{status.st_ino}"
        return wait_for_name(name) if wait else hold_name(name)
    return descriptor


def _held_or_not(path: Path) -> int | None:
    """Return what holds a file; ``None`` where nothing here knows locks."""
    try:
        return hold(path)
    except OSError:
        return None


def _remove_abandoned(parent: Path, prefix: str, own: Path) -> None:
    """Remove temporary folders whose owners are gone, or must be: those of other machines go by their age."""
    for alive in parent.glob(f"{prefix}*/{_ALIVE}"):
        folder = alive.parent
        if folder.name == own.name:
            continue
        with contextlib.suppress(OSError):  # its owner lives, or it was just removed
            if _is_released(alive) or _age_s(alive, own) > _ABANDONED_S:
                shutil.rmtree(folder, ignore_errors=True)


def _is_released(alive: Path) -> bool:
    """Whether the lock of a temporary folder tells that its owner is gone.

    Raises:
        BlockingIOError: Its owner lives.
    """
    try:
        descriptor = hold(alive)
    except BlockingIOError:
        raise
    except OSError:
        return False
    try:
        return stat.S_ISREG(os.fstat(descriptor).st_mode)  # a name says nothing of owners on other machines
    finally:
        os.close(descriptor)


def _age_s(alive: Path, fresh: Path) -> float:
    """Return how much older than a fresh folder a file is, by the clock of their file system."""
    return fresh.stat().st_mtime - alive.stat().st_mtime
