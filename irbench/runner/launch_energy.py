"""The energy that the machine uses in a launch: while one cell runs alone, and while none does."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TypeVar

from irbench.measure.clock import sleep
from irbench.measure.energy import EnergyMeter, find_energy_counters
from irbench.record import EnergyReading
from irbench.spec import Timing

__all__ = ["LaunchEnergy"]

T = TypeVar("T")


class LaunchEnergy:
    """Reads energy where the protocol asks for it, and nothing otherwise.

    Args:
        timing: The protocol's numbers.
    """

    def __init__(self, timing: Timing) -> None:
        self._idle_s = timing.idle
        self._meter = EnergyMeter(find_energy_counters().counters) if timing.energy else None

    def while_idle(self) -> EnergyReading | None:
        """Return the energy of the protocol's idle time, in which all workers are frozen; ``None`` where not asked."""
        return self.during(partial(sleep, self._idle_s))[1] if self._meter is not None else None

    def during(self, action: Callable[[], T]) -> tuple[T, EnergyReading | None]:
        """Run something, and return what it returned, with the energy that the machine used meanwhile."""
        return self._meter.during(action) if self._meter is not None else (action(), None)
