"""Stopwatches over time that passes only when a test says so."""

from __future__ import annotations

from irbench.measure.clock import Stopwatch


class VirtualTime:
    """Time in seconds, which stands still unless a test adds to it."""

    def __init__(self) -> None:
        self.s = 0.0

    def watch(self) -> Stopwatch:
        """Return a stopwatch that begins now."""
        return _Watch(self)


class _Watch(Stopwatch):
    def __init__(self, time: VirtualTime) -> None:
        self._time, self._began_s = time, time.s

    @property
    def elapsed_s(self) -> float:
        return self._time.s - self._began_s
