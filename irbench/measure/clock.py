"""The one clock: monotonic nanoseconds for durations, UTC for the calendar."""

from __future__ import annotations

import time
from datetime import UTC, datetime

__all__ = ["Stopwatch", "now_ns", "sleep", "utc_now"]

now_ns = time.perf_counter_ns  # noqa: TID251 - the one clock everything else must use
"""Monotonic nanoseconds from an arbitrary zero that all processes of one boot share."""

sleep = time.sleep  # noqa: TID251 - waiting lives beside the clock
"""Suspend the calling thread for some seconds."""


def utc_now() -> datetime:
    """Return the calendar time, timezone-aware, in UTC."""
    return datetime.now(UTC)  # noqa: TID251 - the one calendar


class Stopwatch:
    """Counts from its creation."""

    def __init__(self) -> None:
        self._start_ns = now_ns()

    @property
    def elapsed_ns(self) -> int:
        """Nanoseconds since creation."""
        return now_ns() - self._start_ns

    @property
    def elapsed_s(self) -> float:
        """Seconds since creation."""
        return self.elapsed_ns / 1e9
