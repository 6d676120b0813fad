"""One measurement at a time on a machine: two would disturb each other, and both would be wrong.

The kernel holds the lock; its file holds a line for each who measures, the holder's first. Those who measure all
the same write theirs below, and each reads at its leisure who else is there.

A file can be removed, by a cleaner of old files for example, and a lock on it is then seen by nobody. So the holder
also holds a name of the file's path, which no one can remove; containers that share the file alone see the file alone.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import pwd
import stat
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from irbench.errors import IrbenchError, one_line
from irbench.measure.clock import utc_now
from irbench.notices.notes import holder_text
from irbench.system.locks import NO_LOCKS, hold_name

_LOCKS = Path("/proc/locks")


def lock_owner(file: os.stat_result, lines: Iterable[str] | None = None) -> int | None:
    """Return the number of the process that holds a file's lock; ``None`` where the kernel does not report it.

    Args:
        file: Of the file.
        lines: Of ``/proc/locks``, which are read unless given: ``1: FLOCK ADVISORY WRITE 4711 08:01:131 0 EOF``.
    """
    place = f"{os.major(file.st_dev):02x}:{os.minor(file.st_dev):02x}:{file.st_ino}"
    try:
        for line in _LOCKS.read_text().splitlines() if lines is None else lines:
            words = line.split()
            if len(words) == 8 and words[1] == "FLOCK" and words[5] == place and int(words[4]) > 0:
                return int(words[4])
    except (OSError, ValueError):
        pass
    return None


def owner_text(process: int) -> str:
    """Return ``Process 4711 of user bob``, as far as it is known whose it is."""
    try:
        user = Path(f"/proc/{process}").stat().st_uid
    except OSError:
        return f"Process {process}"
    try:
        return f"Process {process} of user {pwd.getpwuid(user).pw_name}"
    except KeyError:
        return f"Process {process} of user {user}"


_VARIABLE = "IRBENCH_LOCK"
_SHARED = "/tmp/irbench.lock"  # noqa: S108 - every user of the machine must find it, and TMPDIR may be one's own
_MOST_BYTES = 4096
_MOST_OTHERS = 5
_LONGEST_WORD = 200
_LONGEST_NUMBER = 10
_BEGINNING = b'{"process": '
"""How each line begins that we write."""


@dataclass(frozen=True)
class Holder:
    """Somebody who measures on this machine; ``None`` is what they have not written.

    Attributes:
        since: When it began, ISO 8601.
        what: What it measures, in its own words.
    """

    process: int | None = None
    since: str | None = None
    what: str | None = None


class AlreadyMeasuring(IrbenchError):
    """Somebody else measures on this machine."""


class MeasurementLock:
    """Our place among those who measure on this machine."""

    def __init__(self, what: str) -> None:
        ourselves = {"process": os.getpid(), "since": utc_now().isoformat(timespec="seconds")}
        self._line = json.dumps({**ourselves, "what": what[:_LONGEST_WORD]})
        named = os.environ.get(_VARIABLE)
        self._path, self._is_named = Path(named or _SHARED), bool(named)
        self._descriptor: int | None = None
        self._name: int | None = None
        self.holds = False

    def join(self) -> None:
        """Take the lock if it is free."""
        self._close_file()
        try:
            self._descriptor, taken = _taken(self._path)
            if taken:
                self._refuse_other_files(self._descriptor)
                self.holds = self._holds_name()
        except OSError as error:
            self._close_file()
            raise IrbenchError(
                f"The lock file {self._path} cannot be opened: {error.strerror}.",
                hint=f"Set {_VARIABLE} to another file, or use --no-lock.",
            ) from error
        if self.holds and self._descriptor is not None:
            _write(self._descriptor, [self._line])
        elif taken and self._descriptor is not None:  # whoever holds the name gets the file, too, at the next look
            _unlock(self._descriptor)

    def leave(self) -> None:
        """Give the lock back, if it is ours."""
        self._close_file()
        if self._name is not None:
            os.close(self._name)
        self._name = None

    def _close_file(self) -> None:
        if self._descriptor is not None:
            os.close(self._descriptor)
        self._descriptor, self.holds = None, False

    def _holds_name(self) -> bool:
        """Take the name of the file's path, unless it is ours already, and return whether nobody else has it."""
        if self._name is None:
            try:
                self._name = hold_name(f"lock {self._path.resolve()}")
            except BlockingIOError:
                return False
            except OSError:  # the system has no names
                assert self._descriptor is not None
                fcntl.flock(self._descriptor, fcntl.LOCK_EX)  # is ours already, unless nothing here knows locks
        return True

    def _refuse_other_files(self, descriptor: int) -> None:
        """Refuse to write into a file that may be somebody's.

        The usual place is irbench's own by its name; whatever any user of the machine wrote there is replaced.
        """
        status = os.fstat(descriptor)
        is_file = stat.S_ISREG(status.st_mode) and status.st_nlink == 1
        if is_file and (not self._is_named or os.pread(descriptor, len(_BEGINNING), 0) in (b"", _BEGINNING)):
            return
        self._close_file()
        raise IrbenchError(
            f"{self._path} is not a lock file of irbench, and irbench does not overwrite it.",
            hint=f"Set {_VARIABLE} to another file, or remove this one.",
        )

    def holder(self) -> Holder:
        """Return who holds the lock."""
        return next(iter(self._holders(self._lines())), Holder())

    def held_by(self) -> str:
        """Return who keeps the file locked, where the kernel tells, and how to do without that file."""
        process = None if self._descriptor is None else lock_owner(os.fstat(self._descriptor))
        owner = "" if process is None else f"{owner_text(process)} holds {self._path}. "
        return f"{owner}To use another lock file, set {_VARIABLE}."

    def others(self) -> tuple[Holder, ...]:
        """Return who else has measured since the last call, and stay visible to them; ``()`` where none can be seen.

        Who was refused the lock takes it once it is free.
        """
        # a cleaner of old files may have removed the file, and nobody sees a lock on that
        if self._descriptor is None or not (self.holds and _is_at(self._path, self._descriptor)):
            with contextlib.suppress(IrbenchError):
                self.join()
        if self._descriptor is None:
            return ()
        lines = self._lines()
        others = self._holders(lines)
        if self.holds:
            _write(self._descriptor, [self._line])  # who still measures writes again
            return others
        if self._line not in lines:
            _write(self._descriptor, [*lines, self._line])
        return others or (Holder(),)  # who may not have written yet

    def _lines(self) -> list[str]:
        assert self._descriptor is not None
        try:
            return os.pread(self._descriptor, _MOST_BYTES, 0).decode(errors="replace").splitlines()
        except OSError:
            return []

    def _holders(self, lines: Sequence[str]) -> tuple[Holder, ...]:
        holders = (_holder(line) for line in lines if line != self._line)
        return tuple(dict.fromkeys(holder for holder in holders if holder is not None))[:_MOST_OTHERS]


@contextmanager
def measuring(what: str, *, insist: bool = False) -> Iterator[MeasurementLock]:
    """Hold the machine's lock on measuring.

    The kernel releases it when this process ends, however it ends. Workers do not inherit it.

    ``insist`` goes on without the lock where someone else holds it or its file is out of reach.

    Yields:
        Who else is measuring: nobody, unless one of us insists.
    """
    lock = MeasurementLock(what)
    try:
        with contextlib.suppress(*([IrbenchError] if insist else [])):
            lock.join()
        if not (lock.holds or insist):
            holder = lock.holder()
            raise AlreadyMeasuring(
                f"{holder_text(holder.process, holder.since, holder.what)} is already measuring on this machine.",
                hint=f"Wait until it has finished. With --no-lock both run and disturb each other. {lock.held_by()}",
            )
        yield lock
    finally:
        lock.leave()


def _taken(path: Path) -> tuple[int, bool]:
    """Open the lock's file, made for all users by the first, and return whether the lock is ours."""
    while True:
        descriptor = _open(path)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            taken = True
        except BlockingIOError:
            taken = False
        except OSError as error:
            if error.errno not in NO_LOCKS:
                os.close(descriptor)
                raise
            taken = True  # as far as the file tells; the name does the rest
        if _is_at(path, descriptor):
            return descriptor, taken
        os.close(descriptor)  # removed between its opening and its taking


def _unlock(descriptor: int) -> None:
    with contextlib.suppress(OSError):  # some file systems know no locks
        fcntl.flock(descriptor, fcntl.LOCK_UN)


def _open(path: Path) -> int:
    before = os.umask(0)  # the mask of the user who comes first must not keep others out
    try:
        return os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o666)
    except FileExistsError:
        # without O_CREAT: the kernel refuses it for files of other users in a shared folder
        return os.open(path, os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK)
    finally:
        os.umask(before)


def _is_at(path: Path, descriptor: int) -> bool:
    try:
        return os.path.samestat(os.fstat(descriptor), path.lstat())
    except OSError:
        return False


def _write(descriptor: int, lines: Sequence[str]) -> None:
    with contextlib.suppress(OSError):  # a full disk takes away names, not the lock
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, "".join(f"{line}\n" for line in lines).encode(), 0)


def _holder(line: str) -> Holder | None:
    """Return whom a line names, if anybody: any user can write anything."""
    try:
        holder: dict[str, Any] = json.loads(line)
        since, what = (one_line(str(holder[key])[:_LONGEST_WORD]) for key in ("since", "what"))
        return Holder(int(str(int(holder["process"]))[:_LONGEST_NUMBER]), since, what)
    except (ValueError, KeyError, TypeError, OverflowError, RecursionError):
        return None
