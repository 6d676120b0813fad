"""Observations of a machine, as values; the rules read nothing else."""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping
from dataclasses import dataclass, field

from irbench.counters.obstacles import Obstacle
from irbench.stats.modes import near_and_far
from irbench.system.confinement import ConfinementSupport

FEWEST_LOOKS = 6
"""Core-to-core latencies below which nobody can tell one regime from two: each needs three."""


@dataclass(frozen=True)
class Cache:
    """One level of cache: its name such as ``L1d``, the size of each one in bytes, and how many there are."""

    name: str
    size_bytes: int
    count: int


@dataclass(frozen=True)
class Machine:
    """What does not change while we look. ``None`` is what the kernel or the hypervisor does not tell.

    Attributes:
        processor: Its model.
        architecture: Such as ``x86_64``.
        sockets: Sockets.
        cores_per_socket: Physical cores of each.
        threads_per_core: Hardware threads of each core.
        processors: Logical processors that are online, ascending.
        caches: Smallest level first.
        instructions: Instruction set extensions that inference profits from.
        numa_nodes: Memory nodes.
        memory_bytes: Memory of the machine.
        available_memory_bytes: What can be allocated, the limit of the container included.
        swap_used_bytes: What lies in swap.
        huge_pages: Policy of transparent huge pages: ``always``, ``madvise`` or ``never``.
        cpus: Logical processors that irbench may use, ascending.
        cpu_per_core: The first of them on each physical core.
        foreign_siblings: Hardware threads on the cores of ``cpus`` that are not ours.
        quota: Processors' worth of time that a cgroup grants; ``None`` without a limit.
        threads: How many irbench uses unless told otherwise.
        governors: Frequency governors of ``cpus``, each once; empty where they are unknown.
        turbo: Whether the clock may rise above its nominal frequency.
        turbo_file: The kernel's switch for it.
        clock_source: What the kernel reads the time from.
        hypervisor: Who virtualises the machine, ``unknown`` if it does not say; ``None`` on bare metal.
        container: What contains us, such as ``docker``; ``None`` outside containers.
        kernel: Its release.
        distribution: The operating system's name and version.
        python: Version of the interpreter.
        freezes: Whether idle workers can be stopped here.
        schedstat: Whether the kernel tells how long threads waited for a processor.
        confinement: What holds the processes that read files of unknown origin.
    """

    processor: str
    architecture: str
    sockets: int | None
    cores_per_socket: int | None
    threads_per_core: int | None
    processors: tuple[int, ...]
    caches: tuple[Cache, ...]
    instructions: tuple[str, ...]
    numa_nodes: int | None
    memory_bytes: int
    available_memory_bytes: int
    swap_used_bytes: int
    huge_pages: str | None
    cpus: tuple[int, ...]
    cpu_per_core: tuple[int, ...]
    foreign_siblings: tuple[int, ...]
    quota: float | None
    threads: int
    governors: tuple[str, ...]
    turbo: bool | None
    turbo_file: str | None
    clock_source: str | None
    hypervisor: str | None
    container: str | None
    kernel: str
    distribution: str
    python: str
    freezes: bool
    schedstat: bool
    confinement: ConfinementSupport


@dataclass(frozen=True)
class Program:
    """A process outside our own tree, and the share of a processor that it used while we looked.

    Attributes:
        name: Of its program.
        process_id: Its number.
        share: Of one processor.
        command: The beginning of its command line; empty where that is unknown.
        stoppable: Whether stopping it for a while stops nothing else: it lives, is our user's, leads no session, and
            did not start us, not even over others.
    """

    name: str
    process_id: int
    share: float
    command: str = ""
    stoppable: bool = False


@dataclass(frozen=True)
class CoreToCore:
    """Latencies between the first two processors that irbench may use.

    Attributes:
        samples_ns: Half a round trip each, in the order in which they were taken; at least one.
    """

    samples_ns: tuple[float, ...]

    @property
    def median_ns(self) -> float:
        """The median over the samples."""
        return statistics.median(self.samples_ns)

    @property
    def regimes_ns(self) -> tuple[float, ...]:
        """The medians of the near and the far regime, or of the only one; empty where there are too few to tell."""
        if len(self.samples_ns) < FEWEST_LOOKS:
            return ()
        split = near_and_far([math.log(sample_ns) for sample_ns in self.samples_ns])
        parts = (range(len(self.samples_ns)),) if split is None else (split.lower, split.upper)
        return tuple(statistics.median(self.samples_ns[index] for index in part) for part in parts)


@dataclass(frozen=True)
class Activity:
    """What went on while we looked for a moment. Shares are of one processor.

    Attributes:
        seconds: How long we looked.
        foreign_share: What programs outside our own tree used of the processors that irbench may use.
        programs: Those that used most, largest first.
        stolen_share: What the hypervisor gave to others.
        throttled_share: How long a quota held us back.
        pressure: Share of the last 10 s in which some task waited for a processor; ``None`` where it is unknown.
        load_average: Over the last minute.
        core_to_core: ``None`` with one processor, or where no look was answered.
        unanswered_looks: Looks at core-to-core latency to which the other processor gave no answer in time.
    """

    seconds: float
    foreign_share: float
    programs: tuple[Program, ...]
    stolen_share: float
    throttled_share: float
    pressure: float | None
    load_average: float
    core_to_core: CoreToCore | None
    unanswered_looks: int = 0


@dataclass(frozen=True)
class CounterFacts:
    """What ``irbench run --counters`` can count.

    Attributes:
        version: Of perf; ``None`` without it.
        available: Groups that can be counted, at least in part.
        unavailable: Why others cannot.
    """

    version: str | None
    available: tuple[str, ...]
    unavailable: Mapping[str, Obstacle] = field(default_factory=dict[str, Obstacle])

    @property
    def fixable(self) -> Mapping[str, Obstacle]:
        """Those of ``unavailable`` that something done on the machine makes available."""
        return {name: obstacle for name, obstacle in self.unavailable.items() if obstacle.is_fixable}

    @property
    def lacking(self) -> Mapping[str, Obstacle]:
        """Those that the machine does not have, or its hypervisor does not pass on."""
        return {name: obstacle for name, obstacle in self.unavailable.items() if not obstacle.is_fixable}


@dataclass(frozen=True)
class Facts:
    """All that the rules judge.

    Attributes:
        machine: What stays.
        activity: What went on.
        clock_ns: The least time between two readings of the clock, one right after the other.
        counters: What can be counted; ``None`` where nobody looked.
    """

    machine: Machine
    activity: Activity
    clock_ns: float
    counters: CounterFacts | None = None
