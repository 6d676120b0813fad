"""A seccomp filter: system calls that a process refuses itself for ever, without privileges.

Source of numbers and structures: seccomp(2), and the kernel's documentation, userspace-api/seccomp_filter.
"""

from __future__ import annotations

import ctypes
import errno
import os
import platform
import struct
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

_PR_CAPBSET_READ, _PR_CAPBSET_DROP, _PR_SET_NO_NEW_PRIVS = 23, 24, 38
_VERSION_3 = 0x20080522
"""Of the structures that tell the kernel what a process is able to do: two words of 32 capabilities."""
_WORDS = 2
READS_ALL_FILES = 1
"""``CAP_DAC_OVERRIDE``, by which root reads and writes files whoever owns them."""


class _Header(ctypes.Structure):
    _fields_ = (("version", ctypes.c_uint32), ("process", ctypes.c_int))


class _Word(ctypes.Structure):
    _fields_ = (("effective", ctypes.c_uint32), ("permitted", ctypes.c_uint32), ("inheritable", ctypes.c_uint32))


def give_up_privileges() -> None:
    """Promise to gain no privileges by starting programs."""
    if ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0):
        raise last_error()


def drop_capabilities(kept: Collection[int]) -> None:
    """Leave this thread, and what it starts, no capabilities but some: what makes root more than its files' owner."""
    libc = ctypes.CDLL(None, use_errno=True)
    number = 0
    while (is_bounded := libc.prctl(_PR_CAPBSET_READ, number, 0, 0, 0)) >= 0:  # up to the last that the kernel knows
        if is_bounded and number not in kept:
            libc.prctl(_PR_CAPBSET_DROP, number, 0, 0, 0)  # fails where none are held that programs could bring back
        number += 1
    header, words = _Header(_VERSION_3, 0), (_Word * _WORDS)()
    if libc.capget(ctypes.byref(header), words):
        raise last_error()
    for place, word in enumerate(words):
        mask = sum(1 << number % 32 for number in kept if number // 32 == place)
        word.effective, word.permitted, word.inheritable = word.effective & mask, word.permitted & mask, 0
    if libc.capset(ctypes.byref(header), words):
        raise last_error()


def last_error() -> OSError:
    """Return why the last call of the C library that said so failed."""
    code = ctypes.get_errno()
    return OSError(code, os.strerror(code))


@dataclass(frozen=True)
class Architecture:
    """What the kernel calls an architecture, and the numbers of those calls that filters name and it has."""

    audit: int
    numbers: Mapping[str, int]


_ON_ALL = {
    "io_uring_setup": 425,
    "clone3": 435,
    "pidfd_send_signal": 424,
    "pidfd_getfd": 438,
    "fchmodat2": 452,
    "setxattrat": 463,
    "removexattrat": 466,
    "file_setattr": 469,
}
"""Newer than the differences between architectures: one number on all of them."""
ARCHITECTURES: Mapping[str, Architecture] = {
    "x86_64": Architecture(
        0xC000003E,
        {
            "socket": 41,
            "bind": 49,
            "listen": 50,
            "socketpair": 53,
            "kill": 62,
            "tkill": 200,
            "tgkill": 234,
            "rt_sigqueueinfo": 129,
            "rt_tgsigqueueinfo": 297,
            "execve": 59,
            "execveat": 322,
            "ptrace": 101,
            "process_vm_readv": 310,
            "process_vm_writev": 311,
            "fork": 57,
            "vfork": 58,
            "clone": 56,
            "sendto": 44,
            "sendmsg": 46,
            "sendmmsg": 307,
            "unshare": 272,
            "setns": 308,
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
            "shmget": 29,
            "shmat": 30,
            "shmctl": 31,
            "semget": 64,
            "semop": 65,
            "semtimedop": 220,
            "semctl": 66,
            "msgget": 68,
            "msgsnd": 69,
            "msgrcv": 70,
            "msgctl": 71,
            "mq_open": 240,
            "mq_unlink": 241,
            "add_key": 248,
            "request_key": 249,
            "keyctl": 250,
            "perf_event_open": 298,
            "prlimit64": 302,
            "prctl": 157,
            "kcmp": 312,
            "bpf": 321,
            "userfaultfd": 323,
            "setpriority": 141,
            "ioprio_set": 251,
            **_ON_ALL,
        },
    ),
    "aarch64": Architecture(
        0xC00000B7,
        {
            "socket": 198,
            "bind": 200,
            "listen": 201,
            "socketpair": 199,
            "kill": 129,
            "tkill": 130,
            "tgkill": 131,
            "rt_sigqueueinfo": 138,
            "rt_tgsigqueueinfo": 240,
            "execve": 221,
            "execveat": 281,
            "ptrace": 117,
            "process_vm_readv": 270,
            "process_vm_writev": 271,
            "clone": 220,
            "sendto": 206,
            "sendmsg": 211,
            "sendmmsg": 269,
            "unshare": 97,
            "setns": 268,
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
            "shmget": 194,
            "shmat": 196,
            "shmctl": 195,
            "semget": 190,
            "semop": 193,
            "semtimedop": 192,
            "semctl": 191,
            "msgget": 186,
            "msgsnd": 189,
            "msgrcv": 188,
            "msgctl": 187,
            "mq_open": 180,
            "mq_unlink": 181,
            "add_key": 217,
            "request_key": 218,
            "keyctl": 219,
            "perf_event_open": 241,
            "prlimit64": 261,
            "prctl": 167,
            "kcmp": 272,
            "bpf": 280,
            "userfaultfd": 282,
            "setpriority": 140,
            "ioprio_set": 30,
            **_ON_ALL,
        },
    ),
}


_UNSEEN_CALLS = ("io_uring_setup",)
"""The other way into the kernel, by which calls are made that no filter sees."""
NETWORK = ("socket", *_UNSEEN_CALLS)
"""What begins with a new connection: no socket can be made."""
PROGRAMS = ("execve", "execveat")
"""What starts other programs."""
OTHER_PROCESSES = (
    *("ptrace", "process_vm_readv", "process_vm_writev", "pidfd_getfd", "kcmp", "perf_event_open"),
    *("setpriority", "ioprio_set"),
)
"""What reaches into other processes, and what changes the priority of all of a user's at once."""
SHARED = (
    *("shmget", "shmat", "shmctl", "semget", "semop", "semtimedop", "semctl"),
    *("msgget", "msgsnd", "msgrcv", "msgctl", "mq_open", "mq_unlink", "add_key", "request_key", "keyctl"),
)
"""What reaches memory, queues and keys of a user's other programs, for which Landlock has no rules."""
KERNEL = ("bpf", "userfaultfd")
"""What no runtime needs, and attacks on the kernel do."""
NAMESPACES = ("unshare", "setns")
"""What leaves the namespaces of a process for others, in which it would have every privilege."""
_GROUPS = ("setsid", "setpgid")
"""What leaves the process group that is killed."""
PROCESSES = ("fork", "vfork", "clone", "clone3", *_GROUPS)
"""What starts processes and threads, and what leaves the process group that is killed."""
SIGNALS = ("kill", "tkill", "tgkill", "rt_sigqueueinfo", "rt_tgsigqueueinfo", "pidfd_send_signal")
"""What reaches other processes of the user's where Landlock has no scopes yet."""
OF_SERVERS = (*_UNSEEN_CALLS, *_GROUPS, *SIGNALS, "fork", "vfork", "bind", "listen")
"""What a server that listens already, and has threads and TCP, needs no more than a reader does."""
OWNERSHIP = ("chmod", "fchmod", "fchmodat", "fchmodat2", "chown", "fchown", "lchown", "fchownat")
"""What changes who may do what with a file, which Landlock leaves alone."""
TRUNCATION = ("truncate",)
"""What changes the length of a file without opening it; Landlock knows it since version 3."""
ATTRIBUTES = (
    *(*TRUNCATION, "utime", "utimes", "futimesat", "utimensat", "file_setattr"),
    *("setxattr", "lsetxattr", "fsetxattr", "setxattrat"),
    *("removexattr", "lremovexattr", "fremovexattr", "removexattrat"),
)
"""What changes a file without opening it: its times, attributes and length."""


@dataclass(frozen=True)
class ArgumentRule:
    """A system call that is refused where an argument has any of some bits, or a value.

    Attributes:
        argument: Which argument, from 0.
        bits: Of its lower 32.
        is_value: Whether it is refused where these bits are all of the argument's that are set, and no others.
        is_lack: Whether it is refused where the argument has none of these bits.
    """

    call: str
    argument: int
    bits: int
    is_value: bool = False
    is_lack: bool = False


_SET_USER_AND_GROUP = 0o6000
SET_USER_MODES = (
    *(ArgumentRule(call, 1, _SET_USER_AND_GROUP) for call in ("chmod", "fchmod")),
    *(ArgumentRule(call, 2, _SET_USER_AND_GROUP) for call in ("fchmodat", "fchmodat2")),
)
"""Changes of modes by which whoever starts a file gets the rights of its owner."""
NEW_NAMESPACES = ArgumentRule("clone", 0, 0x7E020080)
"""Processes in namespaces of their own, by any of the flags ``CLONE_NEW*``."""
LIMITS_OF_OTHERS = ArgumentRule("prlimit64", 0, 0xFFFFFFFF)
"""The limits of another process, by which it can be ended: a process names itself as 0."""
_ALL_BITS = 0xFFFFFFFF
_INTERNET, _INTERNET_6, _STREAM, _NON_BLOCKING_CLOEXEC, _TCP = 2, 10, 1, 0o2004000, 6
ONLY_TCP = (
    ArgumentRule("socket", 0, _ALL_BITS & ~(_INTERNET | _INTERNET_6)),
    ArgumentRule("socket", 1, _ALL_BITS & ~(_STREAM | _NON_BLOCKING_CLOEXEC)),
    ArgumentRule("socket", 2, _ALL_BITS & ~_TCP),
    ArgumentRule("socketpair", 1, _ALL_BITS & ~(_STREAM | _NON_BLOCKING_CLOEXEC)),
)
"""Sockets other than those of TCP, for which Landlock has no rules: UDP, multipath TCP, and those of Unix, of which
datagram pairs also send to others."""
ONLY_THREADS = ArgumentRule("clone", 0, 0x00010000, is_lack=True)
"""Processes of its own (no ``CLONE_THREAD``), which outlive one that is killed."""
_FAST_OPEN = 0x20000000
CONNECTING_BY_SENDING = (
    ArgumentRule("sendto", 3, _FAST_OPEN),
    ArgumentRule("sendmsg", 2, _FAST_OPEN),
    ArgumentRule("sendmmsg", 3, _FAST_OPEN),
)
"""Connections of TCP Fast Open, whose ports Landlock does not look at."""
ADOPTION = ArgumentRule("prctl", 0, 36, is_value=True)
"""``PR_SET_CHILD_SUBREAPER``: a worker that stops adopting its daemons would not find them to freeze or kill them."""

_UNKNOWN = ("clone3",)
"""Its flags lie in memory, where no filter sees them. Where a kernel lacks it, the C library calls ``clone``."""

_FIRST_X32 = 0x40000000
"""From here on x86-64 has other numbers for the same calls, which no filter by number would find."""

_LOAD, _JUMP_EQUAL, _JUMP_AT_LEAST, _JUMP_ANY_BIT, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_NUMBER_OFFSET, _ARCHITECTURE_OFFSET, _ARGUMENTS_OFFSET, _ARGUMENT_BYTES = 0, 4, 16, 8
_RULE_LINES = 4
_ALLOW, _REFUSE, _NOT_KNOWN = 0x7FFF0000, 0x00050000 | errno.EACCES, 0x00050000 | errno.ENOSYS
INSTRUCTION = struct.Struct("=HBBI")
POINTER_BYTES = struct.calcsize("P")
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


def _architecture() -> Architecture | None:
    """Return that of this process, if its numbers are known: a kernel of 64 bits also runs programs of 32 bits."""
    return ARCHITECTURES.get(platform.machine()) if POINTER_BYTES == 8 else None


def refuse_calls(names: Iterable[str], rules: Iterable[ArgumentRule] = ()) -> None:
    """Have these system calls fail with EACCES in this thread, and in what it starts, for ever.

    ``clone3`` fails as on a kernel that lacks it, unless it is among them.
    """
    architecture = _architecture()
    if architecture is None:
        raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS))
    numbers = architecture.numbers
    code = filter_program(
        architecture.audit,
        [numbers[name] for name in names if name in numbers],
        [(numbers[rule.call], rule) for rule in rules if rule.call in numbers],
        [numbers[name] for name in _UNKNOWN],
    )
    program = _Program(len(code) // INSTRUCTION.size, code)
    give_up_privileges()
    if ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_SECCOMP, _MODE_FILTER, ctypes.byref(program), 0, 0):
        raise last_error()


def filter_program(
    audit: int, numbers: Sequence[int], rules: Sequence[tuple[int, ArgumentRule]] = (), unknown: Sequence[int] = ()
) -> bytes:
    """Return the filter that refuses system calls by their numbers, and all calls of another architecture.

    Args:
        audit: What the kernel calls the architecture whose numbers these are.
        numbers: The calls.
        rules: Numbers of calls that are refused only with some arguments, and with which.
        unknown: Numbers of calls that fail as if the kernel had none of that number.
    """
    checks = [(_JUMP_AT_LEAST, _FIRST_X32), *((_JUMP_EQUAL, number) for number in numbers)]
    first_check = 3
    first_unknown = first_check + len(checks)
    first_rule = first_unknown + len(unknown)
    not_known = first_rule + _RULE_LINES * len(rules) + 1
    refusal = not_known + 1
    lines = [
        (_LOAD, 0, 0, _ARCHITECTURE_OFFSET),
        (_JUMP_EQUAL, 0, refusal - 2, audit),  # a jump is counted from the next instruction
        (_LOAD, 0, 0, _NUMBER_OFFSET),
        *((code, refusal - place - 1, 0, value) for place, (code, value) in enumerate(checks, first_check)),
        *((_JUMP_EQUAL, not_known - place - 1, 0, number) for place, number in enumerate(unknown, first_unknown)),
    ]
    for number, rule in rules:
        offset = (
            _ARGUMENTS_OFFSET + _ARGUMENT_BYTES * rule.argument
        )  # of its lower half: both architectures begin there
        lines += [
            (_JUMP_EQUAL, 0, _RULE_LINES - 1, number),
            (_LOAD, 0, 0, offset),
            (_JUMP_EQUAL if rule.is_value else _JUMP_ANY_BIT, *_jumps(rule, refusal - len(lines) - 3), rule.bits),
            (_LOAD, 0, 0, _NUMBER_OFFSET),
        ]
    lines += [(_RETURN, 0, 0, _ALLOW), (_RETURN, 0, 0, _NOT_KNOWN), (_RETURN, 0, 0, _REFUSE)]
    return b"".join(INSTRUCTION.pack(*line) for line in lines)


def _jumps(rule: ArgumentRule, to_refusal: int) -> tuple[int, int]:
    """Return how many instructions are left out where a rule's bits are found, and where they are not."""
    return (0, to_refusal) if rule.is_lack else (to_refusal, 0)
