"""Reading how fine a timeline of counters is to be."""

from __future__ import annotations

from datetime import timedelta

from irbench.api.values import pace_s

__all__ = ["timeline_s"]

_SHORTEST_S, _LONGEST_S = 0.01, 60.0
"""perf reads counters at most every 10 ms."""


def timeline_s(value: str | float | timedelta) -> float:
    """Return the seconds of a step: of ``"100ms"``, ``"1s"``, a number of seconds or a ``timedelta``.

    Raises:
        ValueError: It is none, or perf cannot read counters that often.
    """
    seconds = pace_s(value)
    if not _SHORTEST_S <= seconds <= _LONGEST_S:
        raise ValueError(f"{value!r} is not a step from 10ms to 60s")
    return seconds
