"""The processes that this one has started, and what the kernel tells of them."""

from __future__ import annotations

import contextlib
import os
import resource
from collections.abc import Iterator
from pathlib import Path

from irbench.measure.clock import process_cpu_ns
from irbench.measure.evidence import Counters, schedstat_ns

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


def with_descendants(own: Counters) -> Counters:
    """Return this process's totals with those of all that it has started, ended ones included where it waited for them.

    The run-queue wait of a process that has ended is not known any more.
    """
    ended = resource.getrusage(resource.RUSAGE_CHILDREN)
    total = Counters(
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


def _read(folder: Path) -> Counters:
    voluntary, involuntary = _switches(folder)
    fields = (folder / "stat").read_text(errors="replace").rpartition(")")[2].split()
    return Counters(
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


def _sum(first: Counters, second: Counters) -> Counters:
    waits = (first.run_queue_wait_ns, second.run_queue_wait_ns)
    return Counters(
        at_ns=first.at_ns,
        cpu_ns=first.cpu_ns + second.cpu_ns,
        run_queue_wait_ns=None if None in waits else sum(wait or 0 for wait in waits),
        voluntary_switches=first.voluntary_switches + second.voluntary_switches,
        involuntary_switches=first.involuntary_switches + second.involuntary_switches,
        minor_faults=first.minor_faults + second.minor_faults,
        major_faults=first.major_faults + second.major_faults,
    )
