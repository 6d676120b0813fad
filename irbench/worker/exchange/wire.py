"""What travels between the coordinator and a worker, over a descriptor of its own and never over stdout.

Messages are pickled: both ends are the same program started by the same user, and the arrays they carry need no other
form. Only the answers of a worker that is confined have one (:mod:`irbench.worker.exchange.answer_encoding`). The two
may run in different versions of Python, so the protocol is fixed, and what versions pickle differently has a form of
its own.
"""

from __future__ import annotations

import copyreg
import errno
import io
import pickle
import socket
import struct
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path, PosixPath
from typing import Any

from irbench.errors import ExitCode, IrbenchError

_LENGTH = struct.Struct("!Q")
_PIECE_BYTES = 1 << 20
_PROTOCOL = 4


def path_of(text: str) -> Path:
    """Return the path of a text; pickles name this in place of a path's class."""
    return Path(text)


class _Pickler(pickle.Pickler):
    """Names a path's class in no message: Python 3.13 has it in another module than those before and after."""

    dispatch_table = copyreg.dispatch_table | {PosixPath: lambda path: (path_of, (str(path),))}


class Channel:
    """One end of a connection: whole messages, each its length and its content."""

    def __init__(
        self,
        end: socket.socket,
        dump: Callable[[object], bytes] | None = None,
    ) -> None:
        self._end = end
        self._dump = dump or pickled
        self._arrived = bytearray()

    @property
    def closed(self) -> bool:
        """Whether :meth:`close` was called."""
        return self._end.fileno() < 0

    def fileno(self) -> int:
        """Return the descriptor, for those who wait for several."""
        return self._end.fileno()

    def close(self) -> None:
        """Hang up."""
        self._end.close()

    def send(self, message: object, *, within_s: float | None = None) -> None:
        """Send a message; waits until the other end has room for it.

        Raises:
            TimeoutError: The other end had no room for it in time; what was sent of it is not a whole message.
            OSError: The other end has hung up.
            Exception: ``dump`` does not take it; nothing was sent.
        """
        content = self._dump(message)
        self._end.settimeout(within_s)
        try:
            self._end.sendall(_LENGTH.pack(len(content)) + content)
        finally:
            self._end.settimeout(None)

    @property
    def complete(self) -> bool:
        """Whether a whole message has been taken in."""
        arrived = len(self._arrived)
        return arrived >= _LENGTH.size and arrived - _LENGTH.size >= self._length

    def take_in(self, *, wait: bool) -> None:
        """Read what is there of the next message.

        Raises:
            BlockingIOError: Nothing is there, and waiting was not asked for.
            EOFError: The other end has hung up.
            OSError: The connection broke.
        """
        piece = self._end.recv(_PIECE_BYTES, 0 if wait else socket.MSG_DONTWAIT)
        if not piece:
            raise EOFError
        self._arrived += piece

    def next(self) -> bytes:
        """Return the content of a message that is complete; :func:`unpickled` reads what is trusted."""
        end = _LENGTH.size + self._length
        content = bytes(memoryview(self._arrived)[_LENGTH.size : end])
        del self._arrived[:end]
        return content

    @property
    def _length(self) -> int:
        return int(_LENGTH.unpack_from(self._arrived)[0])


def pickled(message: object) -> bytes:
    """Return a message as it travels, without its length."""
    buffer = io.BytesIO()
    _Pickler(buffer, _PROTOCOL).dump(message)
    return buffer.getvalue()


def unpickled(content: bytes) -> Any:
    """Return the message in a content of our own making: a pickle may name any code.

    Raises:
        Exception: It cannot be read here.
    """
    return pickle.loads(content)  # noqa: S301 - our own


@dataclass(frozen=True)
class Request:
    """Call ``target`` (``module:name``), or the method of that name where an object is held.

    Attributes:
        target: What to call.
        hold: Keep the result in the worker as the object that later methods belong to.
        talks: Give the callee a function as its last argument with which it reports progress.
    """

    target: str
    args: tuple[Any, ...] = ()
    hold: bool = False
    talks: bool = False


@dataclass(frozen=True)
class Say:
    """Progress: a line, or a value that the coordinator turns into words."""

    progress: Any


@dataclass(frozen=True)
class Reply:
    """What the call returned."""

    value: Any


@dataclass(frozen=True)
class CallError:
    """What the call raised.

    Attributes:
        exit_code: Of an :class:`irbench.errors.IrbenchError`; ``None`` for any other exception.
    """

    message: str
    hint: str
    exit_code: int | None


@dataclass(frozen=True)
class OutOfMemory:
    """The call needed more memory than it may have."""


_NO_ROOM = (errno.ENOSPC, errno.EDQUOT)
_MAKE_ROOM = "Make room on its disk, or name folders on another: IRBENCH_HOME for models, TMPDIR for temporary files."


def problem_of(error: BaseException) -> CallError:
    """Return message, hint and exit code of an exception, of whatever kind."""
    if isinstance(error, IrbenchError):
        return CallError(error.message, error.hint, int(error.exit_code))
    if isinstance(error, MemoryError):
        return CallError("It ran out of memory.", "Use a smaller batch or fewer streams.", None)
    if isinstance(error, OSError) and error.errno in _NO_ROOM:
        return CallError(
            f"{error.filename or 'A file'} cannot be written: {error.strerror}.", _MAKE_ROOM, int(ExitCode.USAGE)
        )
    message = getattr(error, "message", None)
    hint = getattr(error, "hint", None)
    if isinstance(message, str) and isinstance(hint, str):  # a Refusal, or a plugin's exception of the same shape
        return CallError(message, hint, None)
    first_line = (str(error).strip().splitlines() or [""])[0]
    return CallError(f"{type(error).__name__}: {first_line}" if first_line else type(error).__name__, "", None)
