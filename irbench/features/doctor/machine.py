"""Read what the kernel reports about the machine: lscpu, ``/proc``, ``/sys`` and cgroups."""

from __future__ import annotations

import os
import platform
import subprocess
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import msgspec
import psutil

from irbench.counters.counter_plan import CounterPlan
from irbench.counters.event_names import GROUPS
from irbench.features.doctor.facts import Cache, CounterFacts, Machine
from irbench.measure import freeze
from irbench.measure.counter_support import counting_for
from irbench.measure.evidence import schedstat_ns
from irbench.system import host
from irbench.system.confinement import confinement_support
from irbench.system.host import read_text

_CPU = Path("/sys/devices/system/cpu")
_CLOCK_SOURCE = Path("/sys/devices/system/clocksource/clocksource0/current_clocksource")
_HUGE_PAGES = Path("/sys/kernel/mm/transparent_hugepage/enabled")
_MEMORY_INFO = Path("/proc/meminfo")
_OWN_PROCESS = Path("/proc/self")
CONTAINERS = {"docker": Path("/.dockerenv"), "podman": Path("/run/.containerenv")}
_SYSTEMD_CONTAINER = Path("/run/systemd/container")
_TURBO = (("intel_pstate/no_turbo", "0"), ("cpufreq/boost", "1"))
"""The kernel's switches, and what each holds while turbo is on."""
_INSTRUCTIONS = (
    "fma", "avx2", "avx512f", "avx_vnni", "avx512_vnni", "avx512_bf16", "avx512_fp16", "amx_bf16", "amx_fp16",
    "amx_int8", "asimd", "asimddp", "i8mm", "bf16", "sve", "sve2",
)  # fmt: skip
"""Those that matrix products of some precision profit from, in ``/proc/cpuinfo``'s words."""


def describe_machine() -> Machine:
    """Return what can be told of this machine without measuring anything."""
    described = host.describe()
    reported: Mapping[str, str] = described["cpu"]
    allowed = host.allowance()
    turbo, turbo_file = _turbo()
    return Machine(
        processor=reported["Model name"],
        architecture=platform.machine(),
        sockets=_number(reported.get("Socket(s)")),
        cores_per_socket=_number(reported.get("Core(s) per socket")),
        threads_per_core=_number(reported.get("Thread(s) per core")),
        processors=_online(),
        caches=_caches(),
        instructions=_instructions(),
        numa_nodes=_number(reported.get("NUMA node(s)")),
        memory_bytes=described["memory_bytes"],
        available_memory_bytes=host.available_memory_bytes(),
        swap_used_bytes=_swap_used_bytes(),
        huge_pages=_bracketed(read_text(_HUGE_PAGES)),
        cpus=allowed.cpus,
        cpu_per_core=host.one_per_core(allowed.cpus),
        foreign_siblings=tuple(sorted(host.with_siblings(allowed.cpus) - set(allowed.cpus))),
        quota=allowed.quota,
        threads=allowed.threads,
        governors=_governors(allowed.cpus),
        turbo=turbo,
        turbo_file=turbo_file,
        clock_source=read_text(_CLOCK_SOURCE) or None,
        hypervisor=reported.get("Hypervisor vendor") or ("unknown" if "hypervisor" in _flags() else None),
        container=_container(),
        kernel=described["kernel"],
        distribution=_distribution(),
        python=described["python"],
        freezes=freeze.SUPPORTED,
        schedstat=_tells_schedstat(),
        confinement=confinement_support(),
    )


def _number(text: str | None) -> int | None:
    return int(text) if text is not None and text.isdigit() else None


def _online() -> tuple[int, ...]:
    try:
        return host.parse_cpu_list(read_text(_CPU / "online"))
    except ValueError:
        return tuple(range(psutil.cpu_count() or 1))


def _caches() -> tuple[Cache, ...]:
    """Return the caches for data as lscpu tells them; none where it is missing or too old to."""
    try:
        levels: list[dict[str, Any]] = host.lscpu("--json", "--bytes", "--caches=NAME,ONE-SIZE,ALL-SIZE,TYPE")["caches"]
        return tuple(
            Cache(level["name"], int(level["one-size"]), int(level["all-size"]) // int(level["one-size"]))
            for level in levels
            if level["type"] != "Instruction"
        )
    except (OSError, subprocess.SubprocessError, msgspec.DecodeError, KeyError, ValueError, ZeroDivisionError):
        return ()


def _flags() -> frozenset[str]:
    info = host.cpu_info()
    return frozenset((info.get("flags") or info.get("Features") or "").split())


def _instructions() -> tuple[str, ...]:
    flags = _flags()
    return tuple(instruction for instruction in _INSTRUCTIONS if instruction in flags)


def _swap_used_bytes() -> int:
    """Return what lies in swap; psutil warns where a container hides how often pages go there."""
    sizes = dict(line.split(":", 1) for line in read_text(_MEMORY_INFO).splitlines() if ":" in line)
    total, free = (int((sizes.get(name) or "0").split()[0]) for name in ("SwapTotal", "SwapFree"))
    return max(0, total - free) * 1024


def _bracketed(text: str) -> str | None:
    """Return the choice that stands in square brackets among its alternatives."""
    return next((word[1:-1] for word in text.split() if word.startswith("[")), None)


def _governors(cpus: Iterable[int]) -> tuple[str, ...]:
    reported = {read_text(_CPU / f"cpu{cpu}" / "cpufreq/scaling_governor") for cpu in cpus}
    return tuple(sorted(reported - {""}))


def _turbo() -> tuple[bool | None, str | None]:
    for name, on in _TURBO:
        reported = read_text(_CPU / name)
        if reported:
            return reported == on, str(_CPU / name)
    return None, None


def _container() -> str | None:
    if "KUBERNETES_SERVICE_HOST" in os.environ:
        return "kubernetes"
    named = next((name for name, mark in CONTAINERS.items() if mark.exists()), None)
    return named or read_text(_SYSTEMD_CONTAINER) or None


def _distribution() -> str:
    try:
        return platform.freedesktop_os_release()["PRETTY_NAME"]
    except (OSError, KeyError):
        return platform.system()


def _tells_schedstat() -> bool:
    try:
        cpu_ns, _ = schedstat_ns(_OWN_PROCESS)
    except (OSError, IndexError, ValueError):
        return False
    return cpu_ns > 0


def describe_counters() -> CounterFacts:
    """Return which groups of counters are available, and why others are not; perf counts a short program for that."""
    counting = counting_for(CounterPlan(tuple(GROUPS)))
    return CounterFacts(
        version=counting.version or None,
        available=tuple(name for name in GROUPS if name not in counting.unavailable),
        unavailable={name: counting.unavailable[name] for name in GROUPS if name in counting.unavailable},
    )
