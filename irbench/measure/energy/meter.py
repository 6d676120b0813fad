"""Add up what counters of energy count while something runs."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Protocol, TypeVar

from irbench.core.record import EnergyReading
from irbench.measure.clock import now_ns

T = TypeVar("T")

EVERY_S = 1.0
"""How often counters are read meanwhile: far less than any takes to wrap around."""
_SAMPLED_EVERY_S = 0.1
"""The same where a device tells its power only, which is added up."""


class EnergyCounter(Protocol):
    """Counts the energy of one part of the machine."""

    @property
    def domain(self) -> str:
        """What it is of: ``package-0``, ``dram-0`` or ``gpu-0`` for example."""
        ...

    @property
    def is_sampled(self) -> bool:
        """Whether energy is made from power at the moments at which it is read."""
        ...

    def advance(self) -> int:
        """Return the energy that was used since this was last called, in microjoules; 0 at first."""
        ...


class EnergyMeter:
    """Reads counters before and after, and now and then in between, so that none wraps around twice unseen."""

    def __init__(self, counters: Sequence[EnergyCounter]) -> None:
        self._counters = tuple(counters)
        sampled = any(counter.is_sampled for counter in counters)
        self._every_s = _SAMPLED_EVERY_S if sampled else EVERY_S

    def during(self, action: Callable[[], T]) -> tuple[T, EnergyReading]:
        """Run something, and return what it returned, with the energy that the whole machine used meanwhile.

        A counter that cannot be read to the end is left out.
        """
        used = _Used(self._counters)
        used.begin()
        start_ns = now_ns()
        with self._reading_meanwhile(used):
            result = action()
        used.add()
        return result, EnergyReading(now_ns() - start_ns, dict(used.microjoules))

    @contextmanager
    def _reading_meanwhile(self, used: _Used) -> Iterator[None]:
        ended = threading.Event()

        def read() -> None:
            while not ended.wait(self._every_s):
                used.add()

        reader = threading.Thread(target=read, name="irbench-energy", daemon=True)
        reader.start()
        try:
            yield
        finally:
            ended.set()
            reader.join()


class _Used:
    """What counters have counted so far, in microjoules by domain."""

    def __init__(self, counters: Sequence[EnergyCounter]) -> None:
        self._readable = list(counters)
        self.microjoules: dict[str, int] = {}

    def begin(self) -> None:
        self.add()
        self.microjoules = {counter.domain: 0 for counter in self._readable}

    def add(self) -> None:
        for counter in tuple(self._readable):
            try:
                self.microjoules[counter.domain] = self.microjoules.get(counter.domain, 0) + counter.advance()
            except OSError:
                self._readable.remove(counter)
                self.microjoules.pop(counter.domain, None)
