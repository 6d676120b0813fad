"""A seccomp filter: system calls that a process refuses itself for ever, without privileges.

Source of numbers and structures: seccomp(2), and the kernel's documentation, userspace-api/seccomp_filter.
"""

from __future__ import annotations

import ctypes
import errno
import os
import platform
import struct
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from irbench.system.privileges import give_up_privileges, last_error

__all__ = [
    "ATTRIBUTES",
    "NETWORK",
    "OWNERSHIP",
    "PROCESSES",
    "PROGRAMS",
    "can_filter",
    "filter_program",
    "refuse_calls",
]

NETWORK = ("socket", "io_uring_setup")
"""What begins with a new connection: no socket can be made, and none by the other way into the kernel."""
PROGRAMS = ("execve", "execveat", "ptrace", "process_vm_readv", "process_vm_writev")
"""What starts other programs, or reaches into other processes."""
PROCESSES = ("fork", "vfork", "clone", "clone3", "setsid", "setpgid")
"""What starts processes and threads, and what leaves the process group that is killed."""
OWNERSHIP = ("chmod", "fchmod", "fchmodat", "fchmodat2", "chown", "fchown", "lchown", "fchownat")
"""What changes who may do what with a file, which Landlock leaves alone."""
ATTRIBUTES = (
    *("truncate", "utime", "utimes", "futimesat", "utimensat", "file_setattr"),
    *("setxattr", "lsetxattr", "fsetxattr", "setxattrat"),
    *("removexattr", "lremovexattr", "fremovexattr", "removexattrat"),
)
"""What changes a file without opening it: its times and attributes, and its length, which Landlock knows since 3."""


@dataclass(frozen=True)
class _Architecture:
    """What the kernel calls an architecture, and the numbers of the calls above that it has."""

    audit: int
    numbers: Mapping[str, int]


_ON_ALL = {
    "io_uring_setup": 425,
    "clone3": 435,
    "fchmodat2": 452,
    "setxattrat": 463,
    "removexattrat": 466,
    "file_setattr": 469,
}
"""Newer than the differences between architectures: one number on all of them."""
_ARCHITECTURES: Mapping[str, _Architecture] = {
    "x86_64": _Architecture(
        0xC000003E,
        {
            "socket": 41,
            "execve": 59,
            "execveat": 322,
            "ptrace": 101,
            "process_vm_readv": 310,
            "process_vm_writev": 311,
            "fork": 57,
            "vfork": 58,
            "clone": 56,
            "setsid": 112,
            "setpgid": 109,
            "chmod": 90,
            "fchmod": 91,
            "fchmodat": 268,
            "chown": 92,
            "fchown": 93,
            "lchown": 94,
            "fchownat": 260,
            "truncate": 76,
            "utime": 132,
            "utimes": 235,
            "futimesat": 261,
            "utimensat": 280,
            "setxattr": 188,
            "lsetxattr": 189,
            "fsetxattr": 190,
            "removexattr": 197,
            "lremovexattr": 198,
            "fremovexattr": 199,
            **_ON_ALL,
        },
    ),
    "aarch64": _Architecture(
        0xC00000B7,
        {
            "socket": 198,
            "execve": 221,
            "execveat": 281,
            "ptrace": 117,
            "process_vm_readv": 270,
            "process_vm_writev": 271,
            "clone": 220,
            "setsid": 157,
            "setpgid": 154,
            "fchmod": 52,
            "fchmodat": 53,
            "fchown": 55,
            "fchownat": 54,
            "truncate": 45,
            "utimensat": 88,
            "setxattr": 5,
            "lsetxattr": 6,
            "fsetxattr": 7,
            "removexattr": 14,
            "lremovexattr": 15,
            "fremovexattr": 16,
            **_ON_ALL,
        },
    ),
}
_FIRST_X32 = 0x40000000
"""From here on x86-64 has other numbers for the same calls, which no filter by number would find."""

_LOAD, _JUMP_EQUAL, _JUMP_AT_LEAST, _RETURN = 0x20, 0x15, 0x35, 0x06
_NUMBER_OFFSET, _ARCHITECTURE_OFFSET = 0, 4
_ALLOW, _REFUSE = 0x7FFF0000, 0x00050000 | errno.EACCES
_INSTRUCTION = struct.Struct("=HBBI")
_POINTER_BYTES = struct.calcsize("P")
_PR_GET_SECCOMP, _PR_SET_SECCOMP, _MODE_FILTER = 21, 22, 2


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("instructions", ctypes.c_char_p))


def can_filter() -> bool:
    """Return whether the kernel takes filters, and we know the numbers of its calls."""
    if _architecture() is None or platform.system() != "Linux":
        return False
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(_PR_GET_SECCOMP, 0, 0, 0, 0) < 0:
        return False
    # without a program the answer is EFAULT where filters are known, otherwise EINVAL: seccomp(2)
    return libc.prctl(_PR_SET_SECCOMP, _MODE_FILTER, None, 0, 0) < 0 and ctypes.get_errno() == errno.EFAULT


def _architecture() -> _Architecture | None:
    """Return that of this process, if its numbers are known: a kernel of 64 bits also runs programs of 32 bits."""
    return _ARCHITECTURES.get(platform.machine()) if _POINTER_BYTES == 8 else None


def refuse_calls(names: Iterable[str]) -> None:
    """Have these system calls fail with EACCES in this thread, and in what it starts, for ever.

    Args:
        names: Of the lists above; what the architecture lacks is left out.

    Raises:
        OSError: The kernel takes no filter, or the architecture is unknown here.
    """
    architecture = _architecture()
    if architecture is None:
        raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS))
    numbers = architecture.numbers
    code = filter_program(architecture.audit, [numbers[name] for name in names if name in numbers])
    program = _Program(len(code) // _INSTRUCTION.size, code)
    give_up_privileges()
    if ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_SECCOMP, _MODE_FILTER, ctypes.byref(program), 0, 0):
        raise last_error()


def filter_program(audit: int, numbers: Sequence[int]) -> bytes:
    """Return the filter that refuses system calls by their numbers, and all calls of another architecture.

    Args:
        audit: What the kernel calls the architecture whose numbers these are.
        numbers: The calls.
    """
    checks = [(_JUMP_AT_LEAST, _FIRST_X32), *((_JUMP_EQUAL, number) for number in numbers)]
    first_check = 3
    refusal = first_check + len(checks) + 1
    lines = [
        (_LOAD, 0, 0, _ARCHITECTURE_OFFSET),
        (_JUMP_EQUAL, 0, refusal - 2, audit),  # a jump is counted from the next instruction
        (_LOAD, 0, 0, _NUMBER_OFFSET),
        *((code, refusal - place - 1, 0, value) for place, (code, value) in enumerate(checks, first_check)),
        (_RETURN, 0, 0, _ALLOW),
        (_RETURN, 0, 0, _REFUSE),
    ]
    return b"".join(_INSTRUCTION.pack(*line) for line in lines)
