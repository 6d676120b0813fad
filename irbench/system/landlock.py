"""Landlock: a process gives up access to files for ever, without privileges, where the kernel offers it.

Source of numbers, structures and rules: the kernel's documentation, userspace-api/landlock, and landlock(7).
"""

from __future__ import annotations

import ctypes
import os
import stat
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from irbench.system.privileges import give_up_privileges, last_error

_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
"""System calls that are newer than the differences between architectures: one number on all of them."""
_ASK_VERSION = 1
_PATH_BENEATH = 1

_EXECUTE, _WRITE_FILE, _READ_FILE, _READ_DIR = 1 << 0, 1 << 1, 1 << 2, 1 << 3
_TRUNCATE, _IOCTL_DEV = 1 << 14, 1 << 15
_OF_FILES = _EXECUTE | _WRITE_FILE | _READ_FILE | _TRUNCATE | _IOCTL_DEV
"""Rights that a rule for a single file can give; the others belong to folders."""
_READING = _EXECUTE | _READ_FILE | _READ_DIR
TRUNCATION_SINCE = 3
"""The first version that keeps who may not write a file from cutting it by its path."""
_FILE_RIGHTS_BITS = {1: 13, 2: 14, 3: 15, 4: 15}
"""How many rights of files each version knows; 16 since version 5."""
_TCP = 0b11
_TCP_SINCE = 4
_SCOPES = 0b11
"""No connection to abstract sockets, and no signal, beyond processes that are restricted likewise."""
SCOPES_SINCE = 6


class _Ruleset(ctypes.Structure):
    _fields_ = (("files", ctypes.c_uint64), ("network", ctypes.c_uint64), ("scopes", ctypes.c_uint64))


class _PathRule(ctypes.Structure):
    _pack_ = 1
    _fields_ = (("rights", ctypes.c_uint64), ("folder", ctypes.c_int32))


def abi_version() -> int:
    """Return the version of Landlock that the kernel offers to this process; 0 where it offers none."""
    try:
        return call_kernel(_CREATE_RULESET, None, 0, _ASK_VERSION)
    except (OSError, AttributeError):  # not compiled in, switched off, forbidden by a container, or not Linux
        return 0


def restrict_files(readable: Iterable[Path], writable: Iterable[Path]) -> None:
    """Take all access to files from this thread, and from what it starts, but for some paths and what lies below them.

    Files that are open stay open. TCP and signals to other processes are taken as well where the kernel can. Threads
    that run already keep what they have: call this while there is one.

    Args:
        readable: Files and folders that may be read; a path that is not there is left out.
        writable: Files and folders that may be read, written, made and removed; likewise.

    Raises:
        OSError: The kernel offers no Landlock, or refuses.
    """
    version = call_kernel(_CREATE_RULESET, None, 0, _ASK_VERSION)
    handled = (1 << _FILE_RIGHTS_BITS.get(version, 16)) - 1
    ruleset = _Ruleset(handled, _TCP if version >= _TCP_SINCE else 0, _SCOPES if version >= SCOPES_SINCE else 0)
    descriptor = call_kernel(_CREATE_RULESET, ctypes.byref(ruleset), size_of_ruleset(version), 0)
    try:
        for path in readable:
            _allow(descriptor, path, handled & _READING)
        for path in writable:
            _allow(descriptor, path, handled)
        give_up_privileges()
        call_kernel(_RESTRICT_SELF, descriptor, 0)
    finally:
        os.close(descriptor)


def size_of_ruleset(version: int) -> int:
    """Return how much of the structure a version knows: a kernel refuses more."""
    fields = 3 if version >= SCOPES_SINCE else 2 if version >= _TCP_SINCE else 1
    return fields * ctypes.sizeof(ctypes.c_uint64)


def _allow(ruleset: int, path: Path, rights: int) -> None:
    with suppress(OSError):  # not there, or on a file system that has no rules: it stays out of reach
        descriptor = os.open(path, os.O_PATH | os.O_CLOEXEC)
        try:
            if not stat.S_ISDIR(os.fstat(descriptor).st_mode):
                rights &= _OF_FILES
            rule = _PathRule(rights, descriptor)
            call_kernel(_ADD_RULE, ruleset, _PATH_BENEATH, ctypes.byref(rule), 0)
        finally:
            os.close(descriptor)


def call_kernel(number: int, *arguments: object) -> int:
    """Make a system call that libc has no function for."""
    libc = ctypes.CDLL(None, use_errno=True)
    answer = int(libc.syscall(ctypes.c_long(number), *arguments))
    if answer < 0:
        raise last_error()
    return answer
