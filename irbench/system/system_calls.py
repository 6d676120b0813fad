"""The numbers of system calls, which differ between architectures.

Source: the kernel's arch/x86/entry/syscalls/syscall_64.tbl and scripts/syscall.tbl.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Architecture:
    """What the kernel calls an architecture, and the numbers of those calls that filters name and it has."""

    audit: int
    numbers: Mapping[str, int]


_ON_ALL = {
    "io_uring_setup": 425,
    "clone3": 435,
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
            "execve": 59,
            "execveat": 322,
            "ptrace": 101,
            "process_vm_readv": 310,
            "process_vm_writev": 311,
            "fork": 57,
            "vfork": 58,
            "clone": 56,
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
            "execve": 221,
            "execveat": 281,
            "ptrace": 117,
            "process_vm_readv": 270,
            "process_vm_writev": 271,
            "clone": 220,
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
            "kcmp": 272,
            "bpf": 280,
            "userfaultfd": 282,
            "setpriority": 140,
            "ioprio_set": 30,
            **_ON_ALL,
        },
    ),
}
