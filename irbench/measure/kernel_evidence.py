"""What the kernel saw of a process and its phases: processor time, waiting, switches, faults and memory.

Linux tells through ``/proc``; elsewhere ``getrusage`` gives what it can, and the run-queue
wait is not known.
"""

from __future__ import annotations

import contextlib
import os
import resource
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from irbench.core.record import Evidence
from irbench.measure.clock import now_ns, process_cpu_ns

PROC_SELF = Path("/proc/self")


@dataclass(frozen=True)
class KernelCounters:
    """Running totals of the calling process at one moment; times in nanoseconds, ``None`` where not known."""

    at_ns: int
    cpu_ns: int
    run_queue_wait_ns: int | None
    voluntary_switches: int
    involuntary_switches: int
    minor_faults: int
    major_faults: int


def schedstat_ns(process: Path) -> tuple[int, int]:
    """Return (CPU time, run-queue wait) summed over a process's living threads, in nanoseconds.

    Args:
        process: Its folder, such as ``/proc/self``. The ``schedstat`` of the folder itself
            covers the main thread alone, hence the walk over its tasks.

    Raises:
        OSError: The process is gone, or the kernel keeps no such statistics.
    """
    cpu_ns = wait_ns = 0
    for task in (process / "task").iterdir():
        try:
            fields = (task / "schedstat").read_bytes().split()
        except (FileNotFoundError, ProcessLookupError):
            continue  # the thread ended while the folder was being read
        cpu_ns += int(fields[0])
        wait_ns += int(fields[1])
    return cpu_ns, wait_ns


def read_counters() -> KernelCounters:
    """Read the calling process's totals."""
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return KernelCounters(
        at_ns=now_ns(),
        cpu_ns=round((usage.ru_utime + usage.ru_stime) * 1e9),
        run_queue_wait_ns=wait_in_run_queue_ns(),
        voluntary_switches=usage.ru_nvcsw,
        involuntary_switches=usage.ru_nivcsw,
        minor_faults=usage.ru_minflt,
        major_faults=usage.ru_majflt,
    )


def evidence_between(before: KernelCounters, after: KernelCounters) -> Evidence:
    """Return what happened between two readings."""
    return Evidence(
        wall_ns=after.at_ns - before.at_ns,
        cpu_ns=after.cpu_ns - before.cpu_ns,
        run_queue_wait_ns=_growth(before.run_queue_wait_ns, after.run_queue_wait_ns),
        voluntary_switches=after.voluntary_switches - before.voluntary_switches,
        involuntary_switches=after.involuntary_switches - before.involuntary_switches,
        minor_faults=after.minor_faults - before.minor_faults,
        major_faults=after.major_faults - before.major_faults,
    )


def wait_in_run_queue_ns() -> int | None:
    """Return how long threads of this process were runnable and not run; ``None`` where the kernel keeps no account."""
    try:
        cpu_ns, wait_ns = schedstat_ns(PROC_SELF)
    except (OSError, IndexError, ValueError):
        return None
    return wait_ns if cpu_ns else None  # whoever asks has run: a kernel that keeps no account writes zeros


def _growth(before: int | None, after: int | None) -> int | None:
    """Return the difference, at least 0: the wait of a thread that ended is no longer in the sum."""
    return None if before is None or after is None else max(0, after - before)


def _own_folder() -> tuple[Path, ...]:
    return (PROC_SELF,)


_RESIDENT = 1
"""The field of ``/proc/PID/statm`` that counts resident pages; see proc(5)."""


def resident_bytes(process: Path = PROC_SELF) -> int | None:
    """Return a process's resident memory in bytes; ``None`` where the kernel does not report it."""
    try:
        return int((process / "statm").read_text().split()[_RESIDENT]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, IndexError, ValueError):
        return None


def private_memory_bytes(folders: Iterable[Path] = (PROC_SELF,)) -> int | None:
    """Return the memory that no other process shares (USS), of several processes together; ``None`` where unknown.

    The kernel walks through all pages of a process for it, which takes about a millisecond for 100 MB: not to be
    read where time counts.

    Args:
        folders: Those in ``/proc`` of the processes that are meant; that of the calling one unless given.
    """
    sizes = [_private_bytes(folder) for folder in folders]
    known = [private for private in sizes if private is not None]
    return sum(known) if known else None


def _private_bytes(folder: Path) -> int | None:
    try:
        lines = (folder / "smaps_rollup").read_text().splitlines()
    except OSError:
        return None
    private = [int(line.split()[1]) * 1024 for line in lines if line.startswith("Private_")]
    return sum(private) if private else None


class PeakMemory:
    """Resident peak of a process since the last reset.

    ``ru_maxrss`` is inherited over exec and never falls, so it would show the largest
    ancestor; ``VmHWM`` can be reset through ``clear_refs`` and then tells one phase's own peak.

    Args:
        folders: Returns the folders in ``/proc`` of the processes that are meant; that of the calling one unless given.
    """

    def __init__(self, folders: Callable[[], Iterable[Path]] = _own_folder) -> None:
        self._folders = folders

    def reset(self) -> None:
        """Start a new peak at the present size, where the kernel allows it."""
        for folder in self._folders():
            with contextlib.suppress(OSError):  # without the reset the peak is that of the whole process
                (folder / "clear_refs").write_text("5")

    def read_bytes(self) -> int | None:
        """Return the peak since the last reset, the largest of several processes; ``None`` where it is unknown."""
        return max((peak for peak in map(_peak_bytes, self._folders()) if peak is not None), default=None)


def _peak_bytes(folder: Path) -> int | None:
    try:
        status = (folder / "status").read_text()
    except OSError:
        return None
    for line in status.splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) * 1024
    return None


_PROC = Path("/proc")
_MINOR_FAULTS, _MAJOR_FAULTS = 7, 9  # fields 10 and 12 of proc(5), counted from the one after the name


def descendant_folders(process: int | None = None) -> Iterator[Path]:
    """Yield the folders in ``/proc`` of all living processes that descend from one, this one unless given."""
    folder = _PROC / str(process or os.getpid())
    with contextlib.suppress(OSError):  # it ended, or this kernel does not list children
        for thread in (folder / "task").iterdir():
            for child in (thread / "children").read_text().split():
                yield _PROC / child
                yield from descendant_folders(int(child))


def with_descendants(own: KernelCounters) -> KernelCounters:
    """Return this process's totals with those of all that it has started, ended ones included where it waited for them.

    The run-queue wait of a process that has ended is not known any more.
    """
    ended = resource.getrusage(resource.RUSAGE_CHILDREN)
    total = KernelCounters(
        at_ns=own.at_ns,
        cpu_ns=own.cpu_ns + round((ended.ru_utime + ended.ru_stime) * 1e9),
        run_queue_wait_ns=own.run_queue_wait_ns,
        voluntary_switches=own.voluntary_switches + ended.ru_nvcsw,
        involuntary_switches=own.involuntary_switches + ended.ru_nivcsw,
        minor_faults=own.minor_faults + ended.ru_minflt,
        major_faults=own.major_faults + ended.ru_majflt,
    )
    for folder in descendant_folders():
        with contextlib.suppress(OSError, IndexError, ValueError):  # it has just ended
            total = _sum(total, _read(folder))
    return total


def _read(folder: Path) -> KernelCounters:
    voluntary, involuntary = _switches(folder)
    fields = (folder / "stat").read_text(errors="replace").rpartition(")")[2].split()
    return KernelCounters(
        at_ns=0,
        cpu_ns=process_cpu_ns(int(folder.name)),
        run_queue_wait_ns=schedstat_ns(folder)[1],
        voluntary_switches=voluntary,
        involuntary_switches=involuntary,
        minor_faults=int(fields[_MINOR_FAULTS]),
        major_faults=int(fields[_MAJOR_FAULTS]),
    )


def _switches(folder: Path) -> tuple[int, int]:
    voluntary = involuntary = 0
    for task in (folder / "task").iterdir():
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):  # the thread ended
            for line in (task / "status").read_text().splitlines():
                name, _, count = line.partition(":")
                voluntary += int(count) if name == "voluntary_ctxt_switches" else 0
                involuntary += int(count) if name == "nonvoluntary_ctxt_switches" else 0
    return voluntary, involuntary


def _sum(first: KernelCounters, second: KernelCounters) -> KernelCounters:
    waits = (first.run_queue_wait_ns, second.run_queue_wait_ns)
    return KernelCounters(
        at_ns=first.at_ns,
        cpu_ns=first.cpu_ns + second.cpu_ns,
        run_queue_wait_ns=None if None in waits else sum(wait or 0 for wait in waits),
        voluntary_switches=first.voluntary_switches + second.voluntary_switches,
        involuntary_switches=first.involuntary_switches + second.involuntary_switches,
        minor_faults=first.minor_faults + second.minor_faults,
        major_faults=first.major_faults + second.major_faults,
    )


class PhaseLog:
    """Collects phases by name. Opening the same name twice adds up.

    Args:
        memory: Whose peak is that of a phase; this process's unless given.
        read_private: Returns the private memory at a phase's end, in bytes; it is not read without one.
    """

    def __init__(self, memory: PeakMemory | None = None, read_private: Callable[[], int | None] | None = None) -> None:
        self.durations_ns: dict[str, int] = {}
        self.peaks_bytes: dict[str, int] = {}
        self.private_bytes: dict[str, int] = {}
        self._read_private = read_private
        self._memory = memory or PeakMemory()

    @contextmanager
    def __call__(self, name: str) -> Iterator[None]:
        """Open the evidence around one phase, kept also when the phase fails."""
        self._memory.reset()
        start_ns = now_ns()
        try:
            yield
        finally:
            self.durations_ns[name] = self.durations_ns.get(name, 0) + now_ns() - start_ns
            peak = self._memory.read_bytes()
            if peak is not None:
                self.peaks_bytes[name] = max(peak, self.peaks_bytes.get(name, 0))
            private = self._read_private() if self._read_private is not None else None
            if private is not None:
                self.private_bytes[name] = private
