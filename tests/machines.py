"""Made-up machines: one on which nothing disturbs measurement, to be changed by a field at a time."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from irbench.features.doctor.machine import Cache, CoreToCore, Facts, Machine, MachineActivity
from irbench.measure.overhead import Overhead, Repeats
from irbench.system.confinement import ConfinementSupport

QUIET = Machine(
    processor="A Processor 9000",
    architecture="x86_64",
    sockets=1,
    cores_per_socket=4,
    threads_per_core=1,
    processors=(0, 1, 2, 3),
    caches=(Cache("L1d", 49152, 4), Cache("L2", 2 << 20, 4), Cache("L3", 36 << 20, 1)),
    instructions=("fma", "avx2", "avx512f"),
    numa_nodes=1,
    memory_bytes=32_000_000_000,
    available_memory_bytes=30_000_000_000,
    swap_used_bytes=0,
    huge_pages="madvise",
    cpus=(0, 1, 2, 3),
    cpu_per_core=(0, 1, 2, 3),
    foreign_siblings=(),
    quota=None,
    threads=4,
    governors=("performance",),
    turbo=False,
    turbo_file="/sys/devices/system/cpu/intel_pstate/no_turbo",
    clock_source="tsc",
    hypervisor=None,
    container=None,
    kernel="6.12.1",
    distribution="A Distribution 12",
    python="3.11.9",
    freezes=True,
    schedstat=True,
    confinement=ConfinementSupport(landlock=7, seccomp=True),
)
IDLE = MachineActivity(
    seconds=1.5,
    foreign_share=0.01,
    programs=(),
    stolen_share=0.0,
    throttled_share=0.0,
    pressure=0.0,
    load_average=0.1,
    core_to_core=CoreToCore((60.0,) * 12),
)
OVERHEAD = Overhead(
    bare=Repeats((40.0, 41.0, 42.0)), calls=Repeats((130.0,) * 3), driver=Repeats((180.0, 181.0, 192.0))
)


def facts(clock_ns: float = 41.0, **changes: Any) -> Facts:
    """Return the quiet machine with some attributes of the machine or of its activity changed."""
    of_activity = {name: changes.pop(name) for name in list(changes) if hasattr(IDLE, name)}
    return Facts(replace(QUIET, **changes), replace(IDLE, **of_activity), clock_ns)
