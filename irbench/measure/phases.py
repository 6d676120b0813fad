"""Evidence for the phases before the first timed call: duration and peak memory of each."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from irbench.measure.clock import now_ns
from irbench.measure.evidence import PeakMemory


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
