"""Energy counters of NVIDIA GPUs, through NVML."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeAlias

from irbench.measure.clock import now_ns
from irbench.measure.nvml import Gpu

NVIDIA_GPU = "gpu-"
"""How the domains of these GPUs begin."""

_UJ_PER_MJ = 1_000


@dataclass
class GpuEnergyCounter:
    """A GPU that counts its energy, from the generation of Volta on."""

    gpu: Gpu
    is_sampled: bool = field(default=False, init=False)
    _last_mj: int | None = field(default=None, init=False)

    @property
    def domain(self) -> str:
        """``gpu-0`` for the first one."""
        return f"{NVIDIA_GPU}{self.gpu.number}"

    def advance(self) -> int:
        """Return the microjoules since this was last called; see :class:`irbench.measure.energy.EnergyCounter`."""
        present_mj = int(self.gpu.ask("nvmlDeviceGetTotalEnergyConsumption"))
        last_mj, self._last_mj = self._last_mj, present_mj
        return 0 if last_mj is None else _UJ_PER_MJ * (present_mj - last_mj)


@dataclass
class GpuPowerCounter:
    """An older GPU, which tells its power: energy is the mean of two readings times the time between them."""

    gpu: Gpu
    is_sampled: bool = field(default=True, init=False)
    _last: tuple[int, int] | None = field(default=None, init=False)

    @property
    def domain(self) -> str:
        """``gpu-0`` for the first one."""
        return f"{NVIDIA_GPU}{self.gpu.number}"

    def advance(self) -> int:
        """Return the microjoules since this was last called; see :class:`irbench.measure.energy.EnergyCounter`."""
        present_mw, at_ns = int(self.gpu.ask("nvmlDeviceGetPowerUsage")), now_ns()
        last, self._last = self._last, (present_mw, at_ns)
        if last is None:
            return 0
        last_mw, last_ns = last
        return round((present_mw + last_mw) / 2 * (at_ns - last_ns) / 1e6)


GpuCounter: TypeAlias = GpuEnergyCounter | GpuPowerCounter


def counter_of(gpu: Gpu) -> GpuCounter | None:
    """Return what counts the energy of a GPU; ``None`` where nothing does."""
    for kind in (GpuEnergyCounter, GpuPowerCounter):
        counter = kind(gpu)
        try:
            counter.advance()
        except OSError:
            continue
        return counter
    return None
