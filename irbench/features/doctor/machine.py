"""What the kernel reports about the machine, and what goes on there for a moment; the rules judge nothing else."""

from __future__ import annotations

import math
import os
import platform
import re
import statistics
import subprocess
from collections import Counter
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec
import psutil

from irbench.features.doctor.gpus import GpuFacts
from irbench.measure import freeze
from irbench.measure.clock import Stopwatch, sleep
from irbench.measure.core_to_core import CoreLink
from irbench.measure.counter_support import counting_for
from irbench.measure.disturbances import MachineSnapshot, cpu_pressure, foreign_cpu_ns, snapshot
from irbench.measure.kernel_evidence import schedstat_ns
from irbench.perf_events.counter_plan import CounterPlan
from irbench.perf_events.event_names import GROUPS
from irbench.perf_events.obstacles import Obstacle
from irbench.stats.modes import near_and_far
from irbench.system import host
from irbench.system.confinement import ConfinementSupport, confinement_support
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
FEWEST_LOOKS = 6
"""Core-to-core latencies below which nobody can tell one regime from two: each needs three."""
LOOK_S = 1.5
_BETWEEN_LOOKS_S = 0.05
_NAMED = 4
"""Programs that are named, at most."""
_WORDS_OF_PROGRAM = 5
"""Of a command line: an interpreter, its flags, and the module."""
_WORTH_NAMING = 0.01
_INTERPRETER = re.compile(r"(python|pypy|node|ruby|perl|java|bash|sh)[0-9.]*")
_COMMAND = 40
"""Characters of a command line that are shown."""


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
        processors: Logical processors that are online, ascending.
        caches: Smallest level first.
        instructions: Instruction set extensions that inference profits from.
        available_memory_bytes: What can be allocated, the limit of the container included.
        huge_pages: Policy of transparent huge pages: ``always``, ``madvise`` or ``never``.
        cpus: Logical processors that irbench may use, ascending.
        cpu_per_core: The first of them on each physical core.
        foreign_siblings: Hardware threads on the cores of ``cpus`` that are not ours.
        quota: Processors' worth of time that a cgroup grants; ``None`` without a limit.
        threads: How many irbench uses unless told otherwise.
        governors: Frequency governors of ``cpus``, each once; empty where they are unknown.
        turbo: Whether the clock may rise above its nominal frequency.
        hypervisor: Who virtualises the machine, ``unknown`` if it does not say; ``None`` on bare metal.
        container: What contains us, such as ``docker``; ``None`` outside containers.
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
class RunningProgram:
    """A process outside our own tree, and the share of a processor that it used while we looked.

    Attributes:
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
class MachineActivity:
    """What went on while we looked for a moment. Shares are of one processor.

    Attributes:
        seconds: How long we looked.
        foreign_share: What programs outside our own tree used of the processors that irbench may use.
        programs: Those that used most, largest first.
        stolen_share: What the hypervisor gave to others.
        throttled_share: How long a quota held us back.
        pressure: Share of the last 10 s in which some task waited for a processor; ``None`` where it is unknown.
        core_to_core: ``None`` with one processor, or where no look was answered.
        unanswered_looks: Looks at core-to-core latency to which the other processor gave no answer in time.
    """

    seconds: float
    foreign_share: float
    programs: tuple[RunningProgram, ...]
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
        clock_ns: The least time between two readings of the clock, one right after the other.
        counters: What can be counted; ``None`` where nobody looked.
        gpus: What concerns NVIDIA GPUs.
    """

    machine: Machine
    activity: MachineActivity
    clock_ns: float
    counters: CounterFacts | None = None
    gpus: GpuFacts = field(default_factory=GpuFacts)


def describe_machine() -> Machine:
    """Return what can be told of this machine without measuring anything."""
    described = host.describe()
    reported: Mapping[str, str] = described["cpu"]
    allowed = host.allowance()
    info = host.cpu_info()
    flags = frozenset((info.get("flags") or info.get("Features") or "").split())
    governors = {read_text(_CPU / f"cpu{cpu}" / "cpufreq/scaling_governor") for cpu in allowed.cpus}
    turbo, turbo_file = _turbo()
    return Machine(
        processor=reported["Model name"],
        architecture=platform.machine(),
        sockets=_number(reported.get("Socket(s)")),
        cores_per_socket=_number(reported.get("Core(s) per socket")),
        threads_per_core=_number(reported.get("Thread(s) per core")),
        processors=_online(),
        caches=_caches(),
        instructions=tuple(instruction for instruction in _INSTRUCTIONS if instruction in flags),
        numa_nodes=_number(reported.get("NUMA node(s)")),
        memory_bytes=described["memory_bytes"],
        available_memory_bytes=host.available_memory_bytes(),
        swap_used_bytes=_swap_used_bytes(),
        huge_pages=next((word[1:-1] for word in read_text(_HUGE_PAGES).split() if word.startswith("[")), None),
        cpus=allowed.cpus,
        cpu_per_core=host.one_per_core(allowed.cpus),
        foreign_siblings=tuple(sorted(host.with_siblings(allowed.cpus) - set(allowed.cpus))),
        quota=allowed.quota,
        threads=allowed.threads,
        governors=tuple(sorted(governors - {""})),
        turbo=turbo,
        turbo_file=turbo_file,
        clock_source=read_text(_CLOCK_SOURCE) or None,
        hypervisor=reported.get("Hypervisor vendor") or ("unknown" if "hypervisor" in flags else None),
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


def _swap_used_bytes() -> int:
    """Return what lies in swap; psutil warns where a container hides how often pages go there."""
    sizes = dict(line.split(":", 1) for line in read_text(_MEMORY_INFO).splitlines() if ":" in line)
    total, free = (int((sizes.get(name) or "0").split()[0]) for name in ("SwapTotal", "SwapFree"))
    return max(0, total - free) * 1024


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


def watch(cpus: Sequence[int]) -> MachineActivity:
    """Return what goes on for a second and a half on these processors; irbench's own processes are left out."""
    # what we have just loaded must not count as pressure
    load_average, pressure = os.getloadavg()[0], cpu_pressure()
    latencies_ns: list[float | None] = []
    with CoreLink(tuple(cpus)) as link:
        before, elapsed = snapshot(cpus), Stopwatch()
        while elapsed.elapsed_s < LOOK_S:
            latencies_ns.append(link.core_to_core_ns())
            sleep(_BETWEEN_LOOKS_S)
        after = snapshot(cpus)
    wall_ns = after.at_ns - before.at_ns
    answered = tuple(latency_ns for latency_ns in latencies_ns if latency_ns is not None)
    return MachineActivity(
        seconds=wall_ns / 1e9,
        foreign_share=foreign_cpu_ns(before, after) / wall_ns,
        programs=_programs(before, after),
        stolen_share=(after.steal_ns - before.steal_ns) / wall_ns,
        throttled_share=(after.throttled_ns - before.throttled_ns) / wall_ns,
        pressure=pressure,
        load_average=load_average,
        core_to_core=CoreToCore(answered) if answered else None,
        unanswered_looks=len(latencies_ns) - len(answered) if len(cpus) > 1 else 0,
    )


def _programs(before: MachineSnapshot, after: MachineSnapshot) -> tuple[RunningProgram, ...]:
    used_ns: Counter[int] = Counter()
    near = None if before.near is None or after.near is None else before.near | after.near
    for thread, cpu_ns in after.foreign.items():
        if near is None or thread in near:
            used_ns[process_of(thread)] += max(0, cpu_ns - before.foreign.get(thread, 0))
    wall_ns = after.at_ns - before.at_ns
    above = {parent.pid for parent in psutil.Process().parents()}
    return tuple(
        program_of(process, cpu_ns / wall_ns, above)
        for process, cpu_ns in used_ns.most_common(_NAMED)
        if cpu_ns >= _WORTH_NAMING * wall_ns
    )


def process_of(thread: int) -> int:
    """Return the process that a thread belongs to; a process belongs to itself."""
    for line in read_text(Path("/proc") / str(thread) / "status").splitlines():
        if line.startswith("Tgid:"):
            return int(line.split()[1])
    return thread


def program_of(number: int, share: float, above: Container[int]) -> RunningProgram:
    """Return what can be told of a process; ``above`` are the processes that started irbench."""
    try:
        process = psutil.Process(number)
        words = process.cmdline()
        name, command = name_of(process.name(), words), _command(words)
        lives = bool(command) and process.status() not in (psutil.STATUS_ZOMBIE, psutil.STATUS_DEAD)
        ours = process.uids().effective == os.geteuid()
        leads = os.getsid(number) == number
    except (psutil.Error, OSError):
        return RunningProgram("a program that has ended", number, share)
    stoppable = lives and ours and not leads and number not in above and not is_of_irbench(words)
    return RunningProgram(name, number, share, command, stoppable=stoppable)


def is_of_irbench(words: Sequence[str]) -> bool:
    """Whether a process belongs to another call of irbench, whose measurement would stop with it."""
    return any(
        word.partition(".")[0] == "irbench" or Path(word).name == "irbench" for word in words[:_WORDS_OF_PROGRAM]
    )


def name_of(name: str, words: Sequence[str]) -> str:
    """Return what tells a program from others: of an interpreter also its script or module, not its thread's name."""
    if not words:
        return name
    program = Path(words[0]).name
    if _INTERPRETER.fullmatch(program) is None:
        return name if name != "MainThread" else program
    module = words[1:] if list(words[1:2]) != ["-m"] else words[2:]
    script = Path(module[0]).name if module and not module[0].startswith("-") else ""
    return f"{program} {script}".strip()


def _command(words: Sequence[str]) -> str:
    """Return the beginning of a command line, without the folder of its program: what follows tells more."""
    line = " ".join((Path(words[0]).name, *words[1:])).rstrip() if words else ""
    return line if len(line) <= _COMMAND else f"{line[: _COMMAND - 3]}..."
