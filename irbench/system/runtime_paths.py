"""What runtimes need of the machine besides libraries: its configuration, processors, memory and devices, no data."""

from __future__ import annotations

import os
from collections.abc import Iterator
from itertools import chain
from pathlib import Path

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
