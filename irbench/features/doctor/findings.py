"""What disturbs measurement on a machine: one class a finding, with its rule, its facts and its words.

The classes stand in the order of what they usually cost: from half of the speed down to what concerns only some runs;
last what nothing fixes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal, Self

from irbench.core.quantities import gigabytes, listing, percent, plural
from irbench.core.record import GpuLimit
from irbench.features.doctor.gpus import ComputeMode, GpuState
from irbench.features.doctor.machine import Facts, RunningProgram
from irbench.notices.base import Notice
from irbench.options.values import cpu_list
from irbench.perf_events.obstacles import NotPermitted, Obstacle, not_counted
from irbench.spec import Timing
from irbench.stats.blocks import BRAKES
from irbench.system.installation import install_command, pip_command

_BUSY = Timing().dirty_foreign_share
"""Of the processors in use: where a block of a measurement counts as disturbed, so does a moment of looking."""
_UNSEEN = 0.01
"""Of a processor: what programs must have used that are not named, to be told of."""
_PRESSURE = 0.10
_LOAD = 0.5
_STOLEN = 0.02
_FAR_NS = 250.0
_LITTLE_MEMORY_BYTES = 4_000_000_000
_MUCH_SWAP_BYTES = 100_000_000
_LITTLE_GPU_MEMORY_BYTES = 2_000_000_000
_SLOW_CLOCK_NS = 250.0
_GOOD_CLOCKS = ("tsc", "kvm-clock", "hyperv_clocksource_tsc_page", "arch_sys_counter", "timebase")
"""Clock sources that are read without entering the kernel."""
_HIDDEN = {"governor": "the frequency governor", "turbo": "turbo"}
_WAITING_EFFECT = "Calls wait for a processor: latencies increase, and blocks are excluded."
_WAIT, _CHECK_AGAIN = "Wait until it is over, then check again.", "sleep 60; irbench doctor"
_EXCHANGE = "Threads take longer to exchange data: a model of 40 µs becomes up to 1.6 times slower."
_UPDATABLE = ("docker", "podman")
"""Containers whose own command changes their limits while they run."""


@dataclass(frozen=True)
class FindingWords:
    """A finding in words; ``found`` is what was seen, with its figure, the others are as in :class:`Finding`."""

    found: str
    effect: str
    remedy: str
    command: str | None = None


class Finding(Notice):
    """One thing that disturbs measurement; its facts are what was seen.

    Attributes:
        lasting: Whether nothing done on the machine fixes it.
        effect: What it does to the numbers.
        remedy: What fixes it, or what to do where nothing can.
        command: The command that does it; ``None`` where there is none to give.
    """

    known: ClassVar[list[type[Finding]]] = []
    lasting: ClassVar[bool] = False
    effect: ClassVar[str]
    remedy: ClassVar[str]
    command: ClassVar[str | None] = None

    @classmethod
    def seen_in(cls, facts: Facts) -> Self | None:
        """Return the finding where observations show it; ``None`` where they do not."""
        raise NotImplementedError

    def found(self) -> str:
        """Return what was seen, with its figure."""
        raise NotImplementedError

    def words(self) -> FindingWords:
        """Return it in words; a class whose effect or remedy depends on facts has its own."""
        return FindingWords(self.found(), self.effect, self.remedy, self.command)

    def words_after_comparison(self) -> FindingWords:
        """Return it in words for a report in which a backend was compared with itself."""
        return self.words()


def find(facts: Facts) -> tuple[Finding, ...]:
    """Return what disturbs measurement, in the order of what it usually costs."""
    findings = (kind.seen_in(facts) for kind in Finding.known)
    return tuple(finding for finding in findings if finding is not None)


def findings_summary(findings: Sequence[Finding]) -> str:
    """Return the number of all findings, and of those that nothing done on the machine fixes."""
    lasting = sum(finding.lasting for finding in findings)
    if not findings:
        return "Nothing found that disturbs measurement."
    if lasting == len(findings):
        return f"{plural(lasting, 'finding')}: nothing that can be fixed here disturbs measurement."
    order = ", in the order of what they usually cost" if len(findings) > 1 else ""
    fixed = f"; {lasting} of them cannot be fixed here" if lasting else ""
    return f"{plural(len(findings), 'finding')}{order}{fixed}."


class BusyMachineFinding(Finding):
    """Other programs use the processors; with what else the same cause brings about.

    Attributes:
        programs: Those that use most.
        unnamed_share: What others use; ``None`` where that is little, or nothing is named.
        stoppable: The one that may be paused, which must be the largest.
    """

    code = "busy-machine"
    effect = _WAITING_EFFECT
    foreign_share: float
    programs: tuple[RunningProgram, ...]
    unnamed_share: float | None
    stoppable: RunningProgram | None
    pressure: float | None = None
    load_average: float | None = None

    @classmethod
    def seen_in(cls, facts: Facts) -> Self | None:
        activity, machine = facts.activity, facts.machine
        limit = _BUSY * min(machine.threads, len(machine.cpus))
        if activity.foreign_share <= limit:
            return None
        unseen = activity.foreign_share - sum(program.share for program in activity.programs)
        largest = max(activity.programs, key=lambda program: program.share, default=None)
        return cls(
            foreign_share=activity.foreign_share,
            programs=activity.programs,
            unnamed_share=unseen if activity.programs and unseen > _UNSEEN else None,
            stoppable=largest if largest is not None and largest.stoppable and largest.share > limit else None,
            pressure=_pressure(facts),
            load_average=_load_average(facts),
        )

    def words(self) -> FindingWords:
        remedy, command = "Close them, or use idle processors with --cpus.", "top -o %CPU"
        if self.stoppable is not None:
            number = self.stoppable.process_id
            remedy += (
                f" Or, if nothing depends on it, pause process {number} ({self.stoppable.command}) while you measure;"
                f" kill -CONT {number} resumes it."
            )
            command = f"kill -STOP {number}"
        names = [f"{each.name} {percent(each.share, 0)} (process {each.process_id})" for each in self.programs]
        if self.unnamed_share is not None:
            names.append(f"others {percent(self.unnamed_share, 0)}")
        named = f": {listing(names)}" if names else ""
        used = f"Other programs use {percent(self.foreign_share, 0)} of a processor{named}."
        found = f"{used} {_waiting(self.pressure, self.load_average)}".rstrip()
        return FindingWords(found, self.effect, remedy, command)


class CpuPressure(Finding):
    """Processes waited for processors, and no program is seen to use them now."""

    code = "cpu-pressure"
    effect, remedy, command = _WAITING_EFFECT, _WAIT, _CHECK_AGAIN
    pressure: float
    load_average: float | None = None

    @classmethod
    def seen_in(cls, facts: Facts) -> Self | None:
        pressure = _pressure(facts)
        if pressure is None or BusyMachineFinding.seen_in(facts):
            return None
        return cls(pressure=pressure, load_average=_load_average(facts))

    def found(self) -> str:
        return _waiting(self.pressure, self.load_average)


class RecentLoad(Finding):
    """The machine was busy a moment ago."""

    code = "recent-load"
    effect, remedy, command = _WAITING_EFFECT, _WAIT, _CHECK_AGAIN
    load_average: float

    @classmethod
    def seen_in(cls, facts: Facts) -> Self | None:
        load = _load_average(facts)
        return None if load is None or _pressure(facts) or BusyMachineFinding.seen_in(facts) else cls(load_average=load)

    def found(self) -> str:
        return _waiting(None, self.load_average)


def _waiting(pressure: float | None, load_average: float | None) -> str:
    waited = (
        "" if pressure is None else f"In {percent(pressure, 0)} of the last 10 s some process waited for a processor."
    )
    load = "" if load_average is None else f"The load average of the last minute is {load_average:.1f}."
    return f"{waited} {load}".strip()


def _pressure(facts: Facts) -> float | None:
    pressure = facts.activity.pressure
    return pressure if pressure is not None and pressure > _PRESSURE else None


def _load_average(facts: Facts) -> float | None:
    load_average = facts.activity.load_average
    return load_average if load_average > _LOAD * len(facts.machine.cpus) else None


class NotFreezing(Finding):
    """Idle workers cannot be stopped."""

    code = "not-freezing"
    effect = (
        "Runtimes spin for about 40 ms after a call, so the first calls of the next row are 1.5 to 1.9 times slower."
    )
    remedy = "Measure on Linux, with IRBENCH_NO_FREEZE unset:"
    command = "unset IRBENCH_NO_FREEZE"

    @classmethod
    def seen_in(cls, facts: Facts) -> Self | None:
        return None if facts.machine.freezes else cls()

    def found(self) -> str:
        return "Idle workers cannot be frozen here."


class CpuQuotaFinding(Finding):
    """A cgroup grants less time than the processors have: a ``quota`` of so many processors' time."""

    code = "cpu-quota"
    quota: float
    processors: int
    threads: int
    throttled_share: float
    container: str | None

    @classmethod
    def seen_in(cls, facts: Facts) -> Self | None:
        machine = facts.machine
        if machine.quota is None or machine.quota >= len(machine.cpus):
            return None
        return cls(
            quota=machine.quota,
            processors=len(machine.cpus),
            threads=machine.threads,
            throttled_share=facts.activity.throttled_share,
            container=machine.container,
        )

    def words(self) -> FindingWords:
        throttled = percent(self.throttled_share, 0)
        throttling = f" It throttled irbench for {throttled} of this check." if self.throttled_share > 0 else ""
        return FindingWords(
            f"A CPU quota allows the time of {self.quota:g} of {self.processors} processors.{throttling}",
            "Processes that exceed it are stopped for the rest of each period of 100 ms, so irbench uses"
            f" {plural(self.threads, 'thread')} by default.",
            f"Raise it to the number of processors{_outside(self.container) or ' (group: /proc/self/cgroup)'}.",
            _granting_time(self.container, self.processors),
        )


class StolenTimeFinding(Finding):
    """The hypervisor gave a share of a processor to others."""

    code = "stolen-time"
    effect = "Calls are interrupted for milliseconds each time."
    remedy = (
        "This cannot be fixed from inside the virtual machine: measure at another time, or on a machine with"
        " dedicated processors."
    )
    share: float

    @classmethod
    def seen_in(cls, facts: Facts) -> Self | None:
        share = facts.activity.stolen_share
        return cls(share=share) if share > _STOLEN else None

    def found(self) -> str:
        return f"The hypervisor gave {percent(self.share, 0)} of a processor's time to other virtual machines."


class CoresMoved(Finding):
    """The first two processors were near each other at times, and far apart at others."""

    code = "cores-moved"
    effect = _EXCHANGE
    remedy = (
        "This cannot be fixed from inside the virtual machine: quote the figures of each state (irbench reports"
        " both), measure with one thread, or use dedicated hardware."
    )
    command = "irbench run --threads 1"
    cpus: tuple[int, ...]
    near_ns: float
    far_ns: float

    @classmethod
    def seen_in(cls, facts: Facts) -> Self | None:
        link = facts.activity.core_to_core
        if link is None or len(link.regimes_ns) < 2:
            return None
        near_ns, far_ns = link.regimes_ns
        return cls(cpus=facts.machine.cpus[:2], near_ns=near_ns, far_ns=far_ns)

    def found(self) -> str:
        return (
            f"vCPUs {listing(map(str, self.cpus))} did not share a cache all the time (between {self.near_ns:.0f} ns"
            f" and {self.far_ns:.0f} ns apart)."
        )


class CoresFar(Finding):
    """The first two processors share no cache."""

    code = "cores-far"
    effect = _EXCHANGE
    remedy = (
        "Choose processors that share a cache (lscpu -e lists them) with --cpus. A virtual machine may not have"
        " any; then also measure with one thread."
    )
    command = "lscpu --extended"
    cpus: tuple[int, ...]
    median_ns: float

    @classmethod
    def seen_in(cls, facts: Facts) -> Self | None:
        link = facts.activity.core_to_core
        if link is None or len(link.regimes_ns) > 1 or link.median_ns <= _FAR_NS:
            return None
        return cls(cpus=facts.machine.cpus[:2], median_ns=link.median_ns)

    def found(self) -> str:
        return (
            f"Processors {listing(map(str, self.cpus))} do not share a cache ({self.median_ns:.0f} ns apart; 50 to 100"
            " ns is usual with one)."
        )


class Governor(Finding):
    """Frequency governors lower the clock of idle processors."""

    code = "governor"
    effect = (
        "The clock frequency rises only after work has started: short calls, and the first of each round, run slower."
    )
    remedy = "Set it to performance while you measure:"
    command = "echo performance | sudo tee /sys/devices/system/cpu/cpu*/cpufreq/scaling_governor"
    governors: tuple[str, ...]

    @classmethod
    def seen_in(cls, facts: Facts) -> Self | None:
        slow = tuple(governor for governor in facts.machine.governors if governor != "performance")
        return cls(governors=slow) if slow else None

    def found(self) -> str:
        return f"The frequency governor is {listing(self.governors)}."


class Turbo(Finding):
    """The clock rises as long as heat allows; ``file`` is the kernel's switch for it."""

    code = "turbo"
    file: str

    @classmethod
    def seen_in(cls, facts: Facts) -> Self | None:
        machine = facts.machine
        return cls(file=machine.turbo_file) if machine.turbo and machine.turbo_file is not None else None

    def words(self) -> FindingWords:
        off = 1 if self.file.endswith("no_turbo") else 0
        return FindingWords(
            "Turbo is on.",
            "The clock frequency depends on temperature and on the number of busy cores, so speed depends on what ran"
            " before.",
            "Turn it off while you measure; speeds are lower then, and comparisons more stable:",
            f"echo {off} | sudo tee {self.file}",
        )


class SharedCores(Finding):
    """Hardware threads of our cores are not ours."""

    code = "shared-cores"
    cpus: tuple[int, ...]
    foreign_siblings: tuple[int, ...]
    container: str | None

    @classmethod
    def seen_in(cls, facts: Facts) -> Self | None:
        machine = facts.machine
        if not machine.foreign_siblings:
            return None
        return cls(cpus=machine.cpus, foreign_siblings=machine.foreign_siblings, container=machine.container)

    def words(self) -> FindingWords:
        return FindingWords(
            f"Some hardware threads of the available cores are not available: {cpu_list(self.foreign_siblings)}.",
            "A program that runs there takes up to half of a core's speed.",
            f"Make both hardware threads of each core available{_outside(self.container)}.",
            _granting_cpus(self.container, (*self.cpus, *self.foreign_siblings)),
        )


class Smt(Finding):
    """Some of our hardware threads share a core; ``cpu_per_core`` has one of each core."""

    code = "smt"
    cpus: tuple[int, ...]
    cpu_per_core: tuple[int, ...]

    @classmethod
    def seen_in(cls, facts: Facts) -> Self | None:
        machine = facts.machine
        if machine.foreign_siblings or len(machine.cpus) <= len(machine.cpu_per_core):
            return None
        return cls(cpus=machine.cpus, cpu_per_core=machine.cpu_per_core)

    def words(self) -> FindingWords:
        return FindingWords(
            f"{plural(len(self.cpus), 'processor')} share {plural(len(self.cpu_per_core), 'core')} (SMT).",
            "The kernel may run two threads of a runtime on one core, where each is up to half as fast.",
            "Use one hardware thread of each core:",
            f"irbench run --cpus {cpu_list(self.cpu_per_core)}",
        )


class NoSchedstat(Finding):
    """The kernel does not account for waiting and for other processes."""

    code = "no-schedstat"
    effect = "Disturbed blocks cannot be detected, so they are not excluded."
    remedy = "Enable the accounting, or make sure yourself that nothing else runs:"
    command = "sudo sysctl kernel.task_delayacct=1"

    @classmethod
    def seen_in(cls, facts: Facts) -> Self | None:
        return None if facts.machine.schedstat else cls()

    def found(self) -> str:
        return "The kernel does not report the processor time and waiting time of processes (/proc/*/schedstat)."


class LittleMemory(Finding):
    """Memory may not suffice for several runtimes side by side."""

    code = "little-memory"
    effect = "Models that do not fit into memory together are measured in several tables, and large ones fail."
    remedy = "Close programs that use much memory, or raise the container's limit. The largest are listed by:"
    command = "ps -eo pid,rss,comm --sort=-rss | head"
    available_bytes: int

    @classmethod
    def seen_in(cls, facts: Facts) -> Self | None:
        available_bytes = facts.machine.available_memory_bytes
        return cls(available_bytes=available_bytes) if available_bytes < _LITTLE_MEMORY_BYTES else None

    def found(self) -> str:
        return f"{gigabytes(self.available_bytes)} GB of memory are available."


class Swap(Finding):
    """Memory lies on a disk."""

    code = "swap"
    effect = "A call that uses a swapped page waits for the disk, a thousand times longer than for memory."
    remedy = "Move it back into memory, if it fits:"
    command = "sudo swapoff -a && sudo swapon -a"
    used_bytes: int

    @classmethod
    def seen_in(cls, facts: Facts) -> Self | None:
        used_bytes = facts.machine.swap_used_bytes
        return cls(used_bytes=used_bytes) if used_bytes > _MUCH_SWAP_BYTES else None

    def found(self) -> str:
        return f"{gigabytes(self.used_bytes)} GB of swap are used."


class SlowClock(Finding):
    """The clock is slow to read, or moves in large steps."""

    code = "slow-clock"
    source: str | None
    reading_ns: float

    @classmethod
    def seen_in(cls, facts: Facts) -> Self | None:
        source, reading_ns = facts.machine.clock_source, facts.clock_ns
        return cls(source=source, reading_ns=reading_ns) if reading_ns > _SLOW_CLOCK_NS else None

    def words(self) -> FindingWords:
        name = "" if self.source is None else f" ({self.source})"
        intercepted = self.source in _GOOD_CLOCKS
        switch = "echo tsc | sudo tee /sys/devices/system/clocksource/clocksource0/current_clocksource"
        return FindingWords(
            f"Two consecutive readings of the clock{name} are at least {self.reading_ns:.0f} ns apart.",
            "Every timed call includes one reading, so models of a few microseconds look slower than they are.",
            "This clock source is usually fast: look for a sandbox or a tracer that intercepts it."
            if intercepted
            else "Let the kernel use the processor's counter; it refuses if the counter is not reliable:",
            None if intercepted else switch,
        )


class GpuUnreadable(Finding):
    """There is a driver, and NVML cannot be asked."""

    code = "gpu-unreadable"
    effect = "The clocks, memory and energy of GPUs are unknown, and blocks that a slow GPU disturbed are not excluded."
    missing: Literal["no-package", "unreadable"]

    @classmethod
    def seen_in(cls, facts: Facts) -> Self | None:
        return None if facts.gpus.missing is None else cls(missing=facts.gpus.missing)

    def words(self) -> FindingWords:
        if self.missing == "no-package":
            found = "There is an NVIDIA driver, and the Python package that asks it is not installed."
            return FindingWords(found, self.effect, "Install it:", install_command("nvidia-ml-py"))
        found = "There is an NVIDIA driver, and NVML, its library, cannot read all GPUs."
        return FindingWords(found, self.effect, "See what the driver says:", "nvidia-smi")


class NoUnifiedMemory(Finding):
    """The device file is missing without which CUDA does not start."""

    code = "gpu-no-uvm"
    effect = "CUDA finds no GPU, though nvidia-smi shows one: rows on GPUs fail."
    container: str | None

    @classmethod
    def seen_in(cls, facts: Facts) -> Self | None:
        gpus = facts.gpus
        return None if gpus.driver is None or gpus.unified_memory else cls(container=facts.machine.container)

    def words(self) -> FindingWords:
        found = "The device /dev/nvidia-uvm is missing."
        if self.container is None:
            return FindingWords(found, self.effect, "Load the module that makes it:", "sudo nvidia-modprobe -u -c=0")
        if self.container not in _UPDATABLE:
            return FindingWords(found, self.effect, f"Give the container its GPUs from outside ({self.container}).")
        remedy = "Start the container with its GPUs, from outside:"
        return FindingWords(found, self.effect, remedy, f"{self.container} run --gpus all ...")


class GpuBusy(Finding):
    """Other programs compute on the GPU of rows."""

    code = "gpu-busy"
    effect = "Calls on the GPU wait for other programs, its clock and its free memory change, and no block is excluded."
    remedy = "Stop them, or use another GPU with CUDA_VISIBLE_DEVICES. They are listed by:"
    command = "nvidia-smi"
    others: tuple[str, ...]

    @classmethod
    def seen_in(cls, facts: Facts) -> Self | None:
        others = tuple(other for gpu in _for_rows(facts) for other in gpu.others)
        return cls(others=others) if others else None

    def found(self) -> str:
        return f"Other programs compute on the GPU: {listing(self.others)}."


class GpuSlowed(Finding):
    """Heat or a lack of power slows a GPU down."""

    code = "gpu-slowed"
    effect = "The GPU runs below its clock, and blocks in which it does are excluded."
    remedy = "Cool it or give it more power, wait until it is over, and see what limits it:"
    command = "nvidia-smi -q -d PERFORMANCE,TEMPERATURE,POWER"
    limits: tuple[GpuLimit, ...]

    @classmethod
    def seen_in(cls, facts: Facts) -> Self | None:
        limits: dict[GpuLimit, None] = {
            limit: None for gpu in _for_rows(facts) for limit in gpu.limits if limit in BRAKES
        }
        return cls(limits=tuple(limits)) if limits else None

    def found(self) -> str:
        return f"The GPU is slowed down: {listing([limit.replace('-', ' ') for limit in self.limits])}."


class GpuShared(Finding):
    """MPS shares GPUs among processes."""

    code = "gpu-shared"
    effect = "Programs run on the GPU at the same time, and each may get a part of it only."
    remedy = "End MPS while you measure:"
    command = "echo quit | nvidia-cuda-mps-control"

    @classmethod
    def seen_in(cls, facts: Facts) -> Self | None:
        return cls() if facts.gpus.driver is not None and facts.gpus.shared else None

    def found(self) -> str:
        return "NVIDIA's Multi-Process Service (MPS) runs."


class GpuDivided(Finding):
    """Rows get a part of a GPU."""

    code = "gpu-divided"
    effect = "Rows get one part of the GPU, with some of its multiprocessors and memory, and other parts slow it down."
    remedy = "If that is not intended, make the GPU whole again while nobody uses it:"
    number: int

    @classmethod
    def seen_in(cls, facts: Facts) -> Self | None:
        # where CUDA_VISIBLE_DEVICES names parts, NVML cannot tell of which GPU they are
        gpus = tuple(_for_rows(facts)) or facts.gpus.gpus
        return next((cls(number=gpu.number) for gpu in gpus if gpu.is_divided), None)

    def words(self) -> FindingWords:
        found = f"GPU {self.number} is divided into parts (MIG)."
        return FindingWords(found, self.effect, self.remedy, f"sudo nvidia-smi -i {self.number} -mig 0")


class GpuComputeMode(Finding):
    """Not every process may compute on the GPU."""

    code = "gpu-compute-mode"
    effect = "The rows of a table are processes that live side by side, and at most one of them can use the GPU."
    remedy = "Let every process use it:"
    number: int
    mode: ComputeMode

    @classmethod
    def seen_in(cls, facts: Facts) -> Self | None:
        for gpu in _for_rows(facts):
            if gpu.compute_mode is not None and gpu.compute_mode != "default":
                return cls(number=gpu.number, mode=gpu.compute_mode)
        return None

    def words(self) -> FindingWords:
        found = f"The compute mode of GPU {self.number} is {self.mode.replace('-', ' ')}."
        return FindingWords(found, self.effect, self.remedy, f"sudo nvidia-smi -i {self.number} -c DEFAULT")


class LittleGpuMemory(Finding):
    """The memory of a GPU is used up."""

    code = "gpu-little-memory"
    effect = "Models that do not fit into the GPU together are launched in parts, and large ones fail."
    remedy = "Stop programs that hold its memory; they are listed by:"
    command = "nvidia-smi"
    number: int
    free_bytes: int

    @classmethod
    def seen_in(cls, facts: Facts) -> Self | None:
        for gpu in _for_rows(facts):
            if gpu.free_bytes is not None and gpu.free_bytes < _LITTLE_GPU_MEMORY_BYTES:
                return cls(number=gpu.number, free_bytes=gpu.free_bytes)
        return None

    def found(self) -> str:
        return f"{gigabytes(self.free_bytes)} GB of the memory of GPU {self.number} are free."


class NoPersistence(Finding):
    """The driver unloads while nobody uses the GPU."""

    code = "gpu-no-persistence"
    effect = "The first process on the GPU waits a second or more for the driver, so cold starts are too long."
    remedy = "Keep the driver loaded:"
    command = "sudo nvidia-smi -pm 1"

    @classmethod
    def seen_in(cls, facts: Facts) -> Self | None:
        return cls() if any(gpu.persistence is False for gpu in _for_rows(facts)) else None

    def found(self) -> str:
        return "The driver of the GPU is unloaded while nobody uses it (persistence mode is off)."


class SeveralRuntimes(Finding):
    """Several packages bring the same module."""

    code = "several-runtimes"
    effect = "They install the same files, so which one runs, and whether it has CUDA, depends on their order."
    remedy = "Remove all, and install the one that you need, for example:"
    packages: tuple[str, ...]

    @classmethod
    def seen_in(cls, facts: Facts) -> Self | None:
        packages = facts.gpus.runtimes
        return cls(packages=packages) if len(packages) > 1 else None

    def words(self) -> FindingWords:
        names = [package.split()[0] for package in self.packages]
        found = f"Several packages of one runtime are installed: {listing(self.packages)}."
        command = f"{pip_command('uninstall', '-y', *names)} && {install_command(names[-1])}"
        return FindingWords(found, self.effect, self.remedy, command)


class SeveralCudnns(Finding):
    """Several packages bring the same library."""

    code = "several-cudnns"
    effect = "They install the same files for different CUDAs, so one of the runtimes fails."
    remedy = "Keep that for the CUDA of your runtimes, as follows for example; others belong in a second environment:"
    packages: tuple[str, ...]

    @classmethod
    def seen_in(cls, facts: Facts) -> Self | None:
        packages = facts.gpus.cudnn
        return cls(packages=packages) if len(packages) > 1 else None

    def words(self) -> FindingWords:
        names = [package.split()[0] for package in self.packages]
        found = f"Several packages of cuDNN are installed: {listing(self.packages)}."
        command = f"{pip_command('uninstall', '-y', *names)} && {install_command(names[0])}"
        return FindingWords(found, self.effect, self.remedy, command)


def _for_rows(facts: Facts) -> Iterator[GpuState]:
    return (gpu for gpu in facts.gpus.gpus if gpu.is_for_rows)


class Affinity(Finding):
    """Processors of the machine may not be used."""

    code = "affinity"
    cpus: tuple[int, ...]
    processors: tuple[int, ...]
    container: str | None

    @classmethod
    def seen_in(cls, facts: Facts) -> Self | None:
        machine = facts.machine
        if set(machine.processors) <= set(machine.cpus):
            return None
        return cls(cpus=machine.cpus, processors=machine.processors, container=machine.container)

    def words(self) -> FindingWords:
        effect = "The figures are for these processors, not for the whole machine."
        if len(self.cpus) == 1:
            effect = "irbench and the backends share one processor, and no model uses more than one thread."
        return FindingWords(
            f"{len(self.cpus)} of {plural(len(self.processors), 'processor')} are available ({cpu_list(self.cpus)}).",
            effect,
            f"If that is not intended, allow more{_outside(self.container) or ' for this shell'}.",
            _granting_cpus(self.container, self.processors),
        )


class VirtualMachine(Finding):
    """A host decides over what cannot be seen inside.

    Attributes:
        hypervisor: Who virtualises the machine; ``None`` where it does not say.
        hidden: What it does not show, besides other virtual machines.
    """

    code = "virtual-machine"
    lasting = True
    hypervisor: str | None
    hidden: tuple[str, ...]

    @classmethod
    def seen_in(cls, facts: Facts) -> Self | None:
        machine = facts.machine
        if machine.hypervisor is None:
            return None
        shown = {"governor": bool(machine.governors), "turbo": machine.turbo is not None}
        name = None if machine.hypervisor == "unknown" else machine.hypervisor
        return cls(hypervisor=name, hidden=tuple(fact for fact, is_shown in shown.items() if not is_shown))

    def words(self) -> FindingWords:
        return self._words("Check how small a difference can be detected here, measure", "irbench doctor --aa")

    def words_after_comparison(self) -> FindingWords:
        return self._words("Measure", None)

    def _words(self, check: str, command: str | None) -> FindingWords:
        by = "" if self.hypervisor is None else f" ({self.hypervisor})"
        hidden = listing([*(_HIDDEN[name] for name in self.hidden), "other virtual machines"])
        return FindingWords(
            f"This is a virtual machine{by}; it cannot see {hidden}.",
            "Other virtual machines on the same host change its speed for seconds to minutes, and no counter shows it.",
            f"This cannot be fixed from inside. {check} longer with --thorough, or use dedicated hardware.",
            command,
        )


class CountersMissing(Finding):
    """Groups of counters would be available if something were done on the machine.

    What the machine does not have is described, and no finding: most virtual machines have no hardware counters.
    """

    code = "counters-missing"
    version: str | None
    available: tuple[str, ...]
    unavailable: Mapping[str, Obstacle]

    @classmethod
    def seen_in(cls, facts: Facts) -> Self | None:
        counters = facts.counters
        if counters is None or not counters.fixable:
            return None
        return cls(version=counters.version, available=counters.available, unavailable=counters.fixable)

    def words(self) -> FindingWords:
        (names, obstacle), *others = not_counted(tuple(self.unavailable), self.unavailable)
        also = "".join(f"; {name}: {reason.why()}" for name, reason in others)
        return FindingWords(
            f"perf cannot count {names}: {obstacle.why()}{also}.",
            f"irbench run --counters shows {listing(self.available or ['none of them'])}; speeds are not affected.",
            obstacle.remedy(),
            "sudo sysctl kernel.perf_event_paranoid=1" if isinstance(obstacle, NotPermitted) else None,
        )


def _outside(container: str | None) -> str:
    return "" if container is None else f" from outside the container ({container})"


def _granting_cpus(container: str | None, cpus: tuple[int, ...]) -> str | None:
    """Return the command that lets us use these processors; ``None`` where it is not known."""
    if container is None:
        return f"taskset -pc {cpu_list(cpus)} $$"
    return f"{container} update --cpuset-cpus {cpu_list(cpus)} CONTAINER" if container in _UPDATABLE else None


def _granting_time(container: str | None, processors: int) -> str | None:
    """Return the command that grants so many processors' time; ``None`` where it is not known."""
    if container == "kubernetes":
        return f"kubectl set resources deployment NAME --limits=cpu={processors}"
    return f"{container} update --cpus {processors} CONTAINER" if container in _UPDATABLE else None
