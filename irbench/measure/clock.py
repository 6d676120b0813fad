"""The one clock: monotonic nanoseconds for durations, UTC for the calendar."""

from __future__ import annotations

import sys
import time
from datetime import UTC, datetime

now_ns = time.perf_counter_ns  # noqa: TID251 - the one clock everything else must use
"""Monotonic nanoseconds from an arbitrary zero that all processes of one boot share."""

sleep = time.sleep  # noqa: TID251 - waiting lives beside the clock
"""Suspend the calling thread for some seconds."""

thread_cpu_ns = time.thread_time_ns  # noqa: TID251 - beside the clock
"""CPU time of the calling thread, in nanoseconds."""

_SCHEDULED = 2
"""Of a process's clocks, the one that counts what the scheduler gave it."""


def utc_now() -> datetime:
    """Return the calendar time, timezone-aware, in UTC."""
    return datetime.now(UTC)  # noqa: TID251 - the one calendar


def process_cpu_ns(process: int) -> int:
    """Return the CPU time of a process's threads, living and ended, in nanoseconds.

    Raises:
        OSError: The process is gone, or the kernel keeps no clock of another's CPU time.
    """
    clock = ~process << 3 | _SCHEDULED  # as clock_getcpuclockid(3) makes it, which Python has not
    return time.clock_gettime_ns(clock)  # noqa: TID251 - the one place that reads clocks


def reading_ns(readings: int = 200) -> int:
    """Return the least time between two successive readings, in nanoseconds: what one costs, or the clock's step.

    Nothing lies between the two but the call itself, and the least of many is an undisturbed one. Pairs that a coarse
    clock cannot tell apart say nothing and are not counted.
    """
    least_ns = sys.maxsize
    while readings:
        first_ns = now_ns()
        second_ns = now_ns()
        if second_ns > first_ns:
            least_ns = min(least_ns, second_ns - first_ns)
            readings -= 1
    return least_ns


class Stopwatch:
    """Counts from its creation."""

    def __init__(self, already_s: float = 0.0) -> None:
        self._start_ns = now_ns() - round(already_s * 1e9)

    @property
    def elapsed_ns(self) -> int:
        """Nanoseconds counted."""
        return now_ns() - self._start_ns

    @property
    def elapsed_s(self) -> float:
        """Seconds counted."""
        return self.elapsed_ns / 1e9
