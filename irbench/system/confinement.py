"""Confinement of a process that reads files from elsewhere: what it may still reach, and what holds it.

Landlock takes the user's files from it, a seccomp filter the network and other programs. Both last for the rest of the
process, need no privileges, and are left out where the kernel does not offer them: docs/adr/0035.

Source of numbers, structures and rules: the kernel's documentation, userspace-api/landlock, and landlock(7).
"""

from __future__ import annotations

import ctypes
import os
import resource
import stat
import sys
from collections.abc import Collection, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache
from itertools import chain
from pathlib import Path

from irbench.system import seccomp
from irbench.system.seccomp import READS_ALL_FILES, drop_capabilities, give_up_privileges, last_error

_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
"""System calls that are newer than the differences between architectures: one number on all of them."""
_ASK_VERSION = 1
_PATH_BENEATH, _NET_PORT = 1, 2

_EXECUTE, _WRITE_FILE, _READ_FILE, _READ_DIR = 1 << 0, 1 << 1, 1 << 2, 1 << 3
_TRUNCATE, _IOCTL_DEV = 1 << 14, 1 << 15
_OF_FILES = _EXECUTE | _WRITE_FILE | _READ_FILE | _TRUNCATE | _IOCTL_DEV
"""Rights that a rule for a single file can give; the others belong to folders."""
_READING = _EXECUTE | _READ_FILE | _READ_DIR
TRUNCATION_SINCE = 3
"""The first version that keeps who may not write a file from cutting it by its path."""
_FILE_RIGHTS_BITS = {1: 13, 2: 14, 3: 15, 4: 15}
"""How many rights of files each version knows; 16 since version 5."""
_TCP, _CONNECT_TCP = 0b11, 0b10
TCP_SINCE = 4
_SCOPES = 0b11
"""No connection to abstract sockets, and no signal, beyond processes that are restricted likewise."""
SCOPES_SINCE = 6


class _Ruleset(ctypes.Structure):
    _fields_ = (("files", ctypes.c_uint64), ("network", ctypes.c_uint64), ("scopes", ctypes.c_uint64))


class _PathRule(ctypes.Structure):
    _pack_ = 1
    _fields_ = (("rights", ctypes.c_uint64), ("folder", ctypes.c_int32))


class _PortRule(ctypes.Structure):
    _fields_ = (("rights", ctypes.c_uint64), ("port", ctypes.c_uint64))


def abi_version() -> int:
    """Return the version of Landlock that the kernel offers to this process; 0 where it offers none."""
    try:
        return call_kernel(_CREATE_RULESET, None, 0, _ASK_VERSION)
    except (OSError, AttributeError):  # not compiled in, switched off, forbidden by a container, or not Linux
        return 0


def restrict_files(readable: Iterable[Path], writable: Iterable[Path], ports: Collection[int] | None = None) -> None:
    """Take all access to files from this thread, and from what it starts, but for some paths and what lies below them.

    Files that are open stay open. TCP, but for connections to some ports, and signals to other processes are taken as
    well where the kernel can. Threads that run already keep what they have: call this while there is one.

    A path that is not there is left out.
    """
    version = call_kernel(_CREATE_RULESET, None, 0, _ASK_VERSION)
    handled = (1 << _FILE_RIGHTS_BITS.get(version, 16)) - 1
    ruleset = _Ruleset(handled, _TCP if version >= TCP_SINCE else 0, _SCOPES if version >= SCOPES_SINCE else 0)
    descriptor = call_kernel(_CREATE_RULESET, ctypes.byref(ruleset), size_of_ruleset(version), 0)
    try:
        for path in readable:
            _allow(descriptor, path, handled & _READING)
        for path in writable:
            _allow(descriptor, path, handled)
        if ports is not None and version >= TCP_SINCE:
            for port in ports:
                port_rule = _PortRule(_CONNECT_TCP, port)
                call_kernel(_ADD_RULE, descriptor, _NET_PORT, ctypes.byref(port_rule), 0)
        give_up_privileges()
        call_kernel(_RESTRICT_SELF, descriptor, 0)
    finally:
        os.close(descriptor)


def size_of_ruleset(version: int) -> int:
    """Return how much of the structure a version knows: a kernel refuses more."""
    fields = 3 if version >= SCOPES_SINCE else 2 if version >= TCP_SINCE else 1
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


PROGRAMS = ("/opt",)
"""Where vendors install libraries and compilers, besides ``/usr``."""
KERNEL_FILES = (
    *("/proc/cgroups", "/proc/devices", "/proc/filesystems", "/proc/loadavg", "/proc/pressure", "/proc/stat"),
    *("/proc/uptime", "/proc/version", "/proc/vmstat", "/proc/zoneinfo", "/proc/sys/vm"),
    *("/proc/sys/kernel/osrelease", "/proc/sys/kernel/pid_max", "/proc/sys/kernel/threads-max"),
    *("/proc/driver/nvidia*", "/sys/fs/cgroup", "/sys/kernel/mm", "/sys/module/nvidia*", "/sys/module/amdgpu"),
    *("/sys/class/drm", "/sys/class/kfd", "/sys/class/accel", "/sys/devices/virtual/kfd", "/sys/bus/pci/devices"),
    *("/sys/class/drm/*/device", "/sys/class/accel/*/device", "/sys/bus/pci/drivers/nvidia/*:*"),
)
"""What the kernel tells of the machine, its memory, groups of processes and accelerators, but nothing of a process."""
CONFIGURATION = (
    *("/etc/ld.so.conf", "/etc/ld.so.conf.d", "/etc/ld.so.preload", "/etc/nsswitch.conf", "/etc/timezone"),
    *("/etc/OpenCL", "/etc/vulkan", "/etc/glvnd", "/etc/mime.types"),
    *("/etc/ssl/openssl.cnf", "/etc/pki/tls/openssl.cnf", "/etc/crypto-policies"),
)
"""Of libraries: where others are, time zones, drivers of devices, and what Python's own modules read where it is."""
DEVICES = ("/dev/nvidia*", "/dev/dri", "/dev/kfd", "/dev/accel")
"""Graphics processors and accelerators."""


def runtime_paths() -> Iterator[Path]:
    """Yield what a runtime may read, of this machine."""
    yield from _found((*PROGRAMS, *KERNEL_FILES, *CONFIGURATION))
    yield from map(Path, filter(None, os.environ.get("LD_LIBRARY_PATH", "").split(os.pathsep)))


def device_paths() -> Iterator[Path]:
    """Yield the devices of this machine that a runtime may write to."""
    return _found(DEVICES)


def _found(patterns: tuple[str, ...]) -> Iterator[Path]:
    return chain.from_iterable(Path("/").glob(pattern.lstrip("/")) for pattern in patterns)


def limit_memory(memory_bytes: int) -> None:
    """Let this process and its children allocate no more than that; what they then ask for is refused at once.

    Without a limit a machine that runs out of memory first gives up its caches, and stands still for minutes.
    """
    _, most = resource.getrlimit(resource.RLIMIT_DATA)
    resource.setrlimit(resource.RLIMIT_DATA, (memory_bytes if most < 0 else min(memory_bytes, most), most))


OF_THE_SYSTEM = (
    *("/usr", "/lib", "/lib64", "/etc/ld.so.cache", "/etc/localtime"),
    *("/proc/self", "/proc/cpuinfo", "/proc/meminfo", "/sys/devices/system"),
    *("/dev/zero", "/dev/random", "/dev/urandom"),
)
"""What Python and its libraries may need and no user owns."""
_SINK = Path("/dev/null")
_LARGEST_LOG_BYTES = 1 << 24
_REFUSED_TO_RUNTIMES = (
    *seccomp.NETWORK,
    *seccomp.OTHER_PROCESSES,
    *seccomp.SHARED,
    *seccomp.KERNEL,
    *seccomp.NAMESPACES,
)
_REFUSED_TO_READERS = (
    *(*_REFUSED_TO_RUNTIMES, *seccomp.PROGRAMS, *seccomp.PROCESSES),
    *(*seccomp.OWNERSHIP, *seccomp.ATTRIBUTES),
)
_REFUSED_TO_SERVERS = (
    *(*seccomp.OF_SERVERS, *seccomp.OTHER_PROCESSES, *seccomp.SHARED, *seccomp.KERNEL, *seccomp.NAMESPACES),
    *(*seccomp.PROGRAMS, *seccomp.OWNERSHIP, *seccomp.ATTRIBUTES),
)
_REFUSED_WITH_ARGUMENTS = (
    *(seccomp.LIMITS_OF_OTHERS, seccomp.NEW_NAMESPACES, seccomp.ADOPTION),
    *seccomp.SET_USER_MODES,
)


@dataclass(frozen=True)
class Confinement:
    """What a confined process may still do.

    Attributes:
        readable: Files and folders that it may read besides Python, its packages and the system's libraries.
        writable: Those that it may also write; without any it writes no file at all.
        for_runtime: Whether it may also start processes, use devices, read what a runtime reads of the system, and
            change modes, owners, times and attributes of files.
        ports: Of any host, to which a server may connect, that listens already and may start threads; ``None`` for
            no network. Without Landlock 4 it reaches others as well.
    """

    readable: tuple[Path, ...] = ()
    writable: tuple[Path, ...] = ()
    for_runtime: bool = False
    ports: tuple[int, ...] | None = None


@dataclass(frozen=True)
class ConfinementSupport:
    """What the kernel offers this process.

    Attributes:
        landlock: Its version of Landlock; 0 where it has none, or a container forbids it.
        seccomp: Whether it takes filters of system calls.
    """

    landlock: int
    seccomp: bool


@cache
def confinement_support() -> ConfinementSupport:
    """Return what can hold a process here."""
    return ConfinementSupport(abi_version(), seccomp.can_filter())


def confine(allowed: Confinement) -> ConfinementSupport:
    """Confine this process for the rest of its life, as far as the kernel can, and return what holds it.

    Threads that run already stay free: call this while there is one, in a process that was just forked for example.

    Raises:
        OSError: The kernel takes no filter though it said so, or a runtime cannot be restricted.
    """
    support = confinement_support()
    drop_capabilities({READS_ALL_FILES})  # otherwise root may look into any process
    _limit(resource.RLIMIT_CORE, 0)
    is_server = allowed.ports is not None
    if not (allowed.for_runtime or is_server):
        _limit(resource.RLIMIT_NPROC, 0)  # no process or thread more; root is exempt, hence the filter besides
    if not allowed.writable:
        _limit(resource.RLIMIT_FSIZE, _LARGEST_LOG_BYTES)  # also where there is no Landlock
    if support.landlock:
        support = replace(support, landlock=_restrict(allowed, support.landlock))
    if support.seccomp:
        refused: tuple[str, ...] = _REFUSED_TO_RUNTIMES if allowed.for_runtime else _REFUSED_TO_READERS
        if is_server:
            refused = _REFUSED_TO_SERVERS
        cutting = () if support.landlock >= TRUNCATION_SINCE else seccomp.TRUNCATION
        sockets = (*seccomp.ONLY_TCP, *seccomp.CONNECTING_BY_SENDING, seccomp.ONLY_THREADS) if is_server else ()
        seccomp.refuse_calls((*refused, *cutting), (*_REFUSED_WITH_ARGUMENTS, *sockets))
    return support


def _restrict(allowed: Confinement, version: int) -> int:
    """Restrict files, and return the version of Landlock; 0 where a reader goes on without: sandboxes nest 16 deep."""
    of_runtime = runtime_paths() if allowed.for_runtime else ()
    devices = device_paths() if allowed.for_runtime else ()
    own = (*map(Path, OF_THE_SYSTEM), *_places_of_code(), *of_runtime, *allowed.readable)
    try:
        restrict_files(own, (_SINK, *devices, *allowed.writable), allowed.ports)
    except OSError:
        if allowed.for_runtime:
            raise
        return 0
    return version


def _places_of_code() -> tuple[Path, ...]:
    """Return where Python, and what it has imported or may import, lie."""
    places = dict.fromkeys((sys.base_prefix, sys.prefix, *filter(None, sys.path)))
    return tuple(Path(os.path.realpath(place)) for place in places)


def _limit(kind: int, most: int) -> None:
    _, hard = resource.getrlimit(kind)
    least = most if hard < 0 else min(most, hard)
    resource.setrlimit(kind, (least, least))  # the hard limit too: the soft one can be raised up to it
