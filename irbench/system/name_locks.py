"""Names that one living process holds: the kernel lets go of them when it ends, and no file can be removed beneath it.

They are abstract Unix sockets, which Linux has: see unix(7). Processes see each other's where they share a network
namespace, as those of one machine or of one container do.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import socket


def hold_name(name: str) -> int:
    """Hold a name until the descriptor that is returned is closed, or this process ends.

    Args:
        name: Any text.

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
    """Do as :func:`hold_name`, but wait for as long as another descriptor holds the name.

    Raises:
        OSError: The system has no such names.
    """
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
