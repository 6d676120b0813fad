"""The machine: which processors and how much memory are available, and what the results must say about it."""

from __future__ import annotations

import os
import platform
import re
import subprocess
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any, Literal

import msgspec
import psutil

from irbench.errors import IrbenchError
from irbench.system.programs import clean_environment, required_program

CGROUP = Path("/sys/fs/cgroup")
OWN_CGROUP = Path("/proc/self/cgroup")
CPUINFO = Path("/proc/cpuinfo")
_BINARY_UNITS = {"K": 10, "M": 20, "G": 30}
_ADDS_IN_32_BITS = re.compile(r"\b(avx512_vnni|avx_vnni|amx_int8)\b")


@dataclass(frozen=True)
class CpuAllowance:
    """What this process may use of the processors.

    Attributes:
        cpus: Logical processors in the affinity mask, ascending.
        physical_cores: Distinct physical cores among them.
        quota: Processors' worth of time that the tightest cgroup grants; ``None`` without a limit.
    """

    cpus: tuple[int, ...]
    physical_cores: int
    quota: float | None

    @property
    def threads(self) -> int:
        """How many threads can run at full speed: physical cores, less if the quota is smaller."""
        return self.physical_cores if self.quota is None else max(1, min(self.physical_cores, int(self.quota)))


def allowance(cpus: tuple[int, ...] | None = None) -> CpuAllowance:
    """Return what may be used, of ``cpus`` or of the whole affinity mask."""
    if cpus is None:
        cpus = tuple(sorted(os.sched_getaffinity(0)))
    return CpuAllowance(cpus, len(one_per_core(cpus)), _cpu_quota())


def one_per_core(cpus: Iterable[int]) -> tuple[int, ...]:
    """Return the first of ``cpus`` on each physical core, ascending."""
    first: dict[str, int] = {}
    for cpu in sorted(cpus):
        first.setdefault(core_of(cpu), cpu)
    return tuple(first.values())


def with_siblings(cpus: Iterable[int]) -> frozenset[int]:
    """Return ``cpus`` and the hardware threads that share a core with one of them."""
    cpus_with_siblings: set[int] = set()
    for cpu in cpus:
        try:
            cpus_with_siblings.update((cpu, *parse_cpu_list(read_text(topology_of(cpu) / "thread_siblings_list"))))
        except ValueError:
            cpus_with_siblings.add(cpu)  # the kernel does not list its siblings
    return frozenset(cpus_with_siblings)


def parse_cpu_list(text: str) -> tuple[int, ...]:
    """Return the processors of a list such as ``0-3,8``, ascending."""
    cpus: set[int] = set()
    for part in text.split(","):
        low, dash, high = part.strip().partition("-")
        if not low.isdigit() or (dash and not high.isdigit()):
            raise ValueError(text)
        last = int(high) if dash else int(low)
        if last < int(low):
            raise ValueError(text)
        cpus.update(range(int(low), last + 1))
    return tuple(sorted(cpus))


def available_memory_bytes() -> int:
    """Return what can still be allocated: the machine's available memory, or what the tightest cgroup leaves of it."""
    available = int(psutil.virtual_memory().available)
    for limit, usage in (("memory.max", "memory.current"), ("memory.limit_in_bytes", "memory.usage_in_bytes")):
        for folder in _cgroup_folders("memory"):
            limit_text, usage_text = read_text(folder / limit), read_text(folder / usage)
            if limit_text.isdigit() and usage_text.isdigit():
                left = int(limit_text) - int(usage_text) + _reclaimable_bytes(folder)
                available = min(available, max(0, left))
    return available


def throttled_ns() -> int:
    """Return how long CPU quotas have held us back in all, summed over our cgroup and those around it; 0 without any.

    Each of them counts its own quota alone, so only the sum grows whichever of them held us back.
    """
    return sum(_throttled_ns(folder) for folder in _cgroup_folders("cpu"))


def require_linux() -> None:
    """Refuse to measure where the kernel does not report what the protocol needs."""
    system = platform.system()
    if system != "Linux":
        raise IrbenchError(
            f"irbench measures on Linux only, and this is {system or 'an unknown system'}.",
            hint="Use Linux, a Linux virtual machine or a container. Stored results can be read on any system.",
        )


def read_text(path: Path) -> str:
    """Return a kernel file's text without surrounding space; empty where it is not there or may not be read."""
    try:
        return path.read_text().strip()
    except (OSError, UnicodeDecodeError):
        return ""


def describe(distributions: Iterable[str] = ()) -> Mapping[str, Any]:
    """Return what a reader of the results must know of this machine and its software. Nothing identifies a person."""
    allowed = allowance()
    return {
        "cpu": _lscpu(),
        "cpus_allowed": len(allowed.cpus),
        "physical_cores_allowed": allowed.physical_cores,
        "cpu_quota": allowed.quota,
        "memory_bytes": int(psutil.virtual_memory().total),
        "governor": read_text(Path("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor")) or None,
        "system": platform.system(),
        "kernel": platform.release(),
        "python": platform.python_version(),
        "distributions": _versions(distributions),
    }


@cache
def processor_name() -> str:
    """Return the model of the processors, as :func:`describe` has it where that is known."""
    return _lscpu().get("Model name") or platform.machine()


def _lscpu() -> Mapping[str, str]:
    """Return the facts of ``lscpu -J`` that decide speed; py-cpuinfo is slower and misreads caches."""
    names = {
        "Architecture", "Vendor ID", "Model name", "CPU family", "Model", "Thread(s) per core", "Core(s) per socket",
        "Socket(s)", "Hypervisor vendor", "L1d cache", "L2 cache", "L3 cache", "NUMA node(s)", "Flags",
    }  # fmt: skip
    try:
        entries = lscpu("-J")["lscpu"]
    except (OSError, subprocess.SubprocessError, msgspec.DecodeError, KeyError):
        return {"Model name": platform.processor() or platform.machine()}
    facts: dict[str, str] = {}
    pending = list(entries)
    while pending:
        entry = pending.pop()
        pending += entry.get("children", [])
        name = str(entry.get("field", "")).rstrip(":")
        if name in names and entry.get("data"):
            facts[name] = str(entry["data"])
    facts["Flags"] = " ".join(_speed_flags(facts.get("Flags", "")))
    return facts


def lscpu(*options: str) -> Any:
    """Return what lscpu tells as JSON.

    Raises:
        OSError: There is no lscpu.
        subprocess.SubprocessError: It failed, or took too long.
        msgspec.DecodeError: It tells no JSON.
    """
    command = [required_program("lscpu"), *options]
    told = subprocess.run(command, capture_output=True, check=True, timeout=10, env=clean_environment()).stdout
    return msgspec.json.decode(told)


def cpu_info() -> dict[str, str]:
    """Return what the kernel tells of the first processor, by the names that it uses; empty where it tells nothing."""
    first, *_ = read_text(CPUINFO).split("\n\n")
    pairs = (line.partition(":") for line in first.splitlines())
    return {key.strip(): value.strip() for key, _, value in pairs}


@cache
def int8_weight_bits() -> Literal[7, 8]:
    """Return how many bits of an int8 weight give right sums of products on this processor.

    x86 processors without VNNI add two products of bytes in 16 bits, and cut off what does not fit: 255 x 127 x 2. With
    weights of 7 bits everything fits. See ONNX Runtime's documentation of quantisation, under "reduce_range".
    """
    flags = cpu_info().get("flags", "")
    is_x86_without = bool(flags) and _ADDS_IN_32_BITS.search(flags) is None
    return 7 if is_x86_without else 8


def _speed_flags(flags: str) -> list[str]:
    return sorted(flag for flag in flags.split() if re.match(r"avx|amx|fma|vnni|bf16|f16c|sse4|asimd|sve", flag))


def _versions(distributions: Iterable[str]) -> Mapping[str, str]:
    versions: dict[str, str] = {}
    for name in distributions:
        try:
            versions[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return versions


def core_of(cpu: int) -> str:
    """Return what names the core of a processor: the list of the processors that share it."""
    siblings = read_text(topology_of(cpu) / "thread_siblings_list")
    return siblings or f"cpu{cpu}"


def topology_of(cpu: int) -> Path:
    """Return where the kernel tells which cores and packages a processor belongs to."""
    return Path(f"/sys/devices/system/cpu/cpu{cpu}/topology")


def last_level_cache_bytes(cpu: int) -> int | None:
    """Return the size of the largest cache that a processor reads through; ``None`` where the kernel lists none."""
    folder = Path(f"/sys/devices/system/cpu/cpu{cpu}/cache")
    texts = [read_text(each / "size") for each in folder.glob("index*")]
    sizes = [int(text[:-1]) << _BINARY_UNITS[text[-1]] for text in texts if text[-1:] in _BINARY_UNITS]
    return max(sizes, default=None)


def _cpu_quota() -> float | None:
    quotas: list[float] = []
    for folder in _cgroup_folders("cpu"):
        unified, _, unified_period = read_text(folder / "cpu.max").partition(" ")
        older, older_period = read_text(folder / "cpu.cfs_quota_us"), read_text(folder / "cpu.cfs_period_us")
        for quota, period in ((unified, unified_period), (older, older_period)):
            if quota.isdigit() and period.isdigit():
                quotas.append(int(quota) / int(period))
    return min(quotas, default=None)


def _throttled_ns(folder: Path) -> int:
    for line in read_text(folder / "cpu.stat").splitlines():
        name, _, value = line.partition(" ")
        if name == "throttled_usec":
            return int(value) * 1000
        if name == "throttled_time":
            return int(value)
    return 0


def _reclaimable_bytes(folder: Path) -> int:
    """Return the file cache that counts as used and is given back before an allocation fails."""
    lines = (line.partition(" ") for line in read_text(folder / "memory.stat").splitlines())
    facts = {name: value for name, _, value in lines}
    text = facts.get("total_inactive_file", facts.get("inactive_file", ""))  # v1 keeps the sum over children apart
    return int(text) if text.isdigit() else 0


def _cgroup_folders(controller: str) -> tuple[Path, ...]:
    """Return the folders of our cgroup and of all around it, unified (v2) and the controller's own hierarchy (v1).

    A container that sees its own cgroup as the root is named by a path that does not exist there: the root remains.
    """
    folders: dict[Path, Path] = {}  # by where links lead, so that none is counted twice
    for line in read_text(OWN_CGROUP).splitlines():
        _, controllers, path = line.split(":", 2)
        if controllers == "":
            hierarchies = (CGROUP, CGROUP / "unified")
        elif controller in controllers.split(","):
            hierarchies = (CGROUP / controllers, CGROUP / controller)
        else:
            continue
        parts = [part for part in path.split("/") if part]
        if ".." in parts:
            parts = []  # it lies outside what this namespace shows
        for hierarchy in hierarchies:
            for depth in range(len(parts), -1, -1):
                folder = hierarchy.joinpath(*parts[:depth])
                if folder.is_dir():
                    folders.setdefault(folder.resolve(), folder)
    return tuple(folders.values())
