"""The energy that the machine uses in a launch: while one cell runs alone, and while none does."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import TypeVar

from irbench import registry
from irbench.measure.clock import sleep
from irbench.measure.energy import NVIDIA_GPU, EnergyMeter, find_energy_counters
from irbench.record import EnergyReading
from irbench.spec import Cell, Timing

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
        return self._meter.during(partial(sleep, self._idle_s))[1] if self._meter is not None else None

    def while_alone(self, cell: Cell, action: Callable[[], T]) -> tuple[T, EnergyReading | None]:
        """Let a cell run alone, and return what it returned, with the energy that its parts of the machine used."""
        if self._meter is None:
            return action(), None
        result, reading = self._meter.during(action)
        return result, reading if _is_on_nvidia_gpu(cell) else _without_nvidia_gpus(reading)


def _is_on_nvidia_gpu(cell: Cell) -> bool:
    if cell.device == "cpu" or cell.program is not None:
        return False
    return cell.device in registry.describe(registry.BACKENDS, cell.backend).nvidia_devices


def _without_nvidia_gpus(reading: EnergyReading) -> EnergyReading:
    kept = {domain: used for domain, used in reading.microjoules.items() if not domain.startswith(NVIDIA_GPU)}
    return replace(reading, microjoules=kept)
