"""What GPUs tell of themselves around a round: their clock, what limits it, their power, and who else computes."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import get_args

from irbench.core.record import GpuLimit, GpuReading
from irbench.measure.nvml import Gpu, processes_on

_LIMITS: tuple[GpuLimit, ...] = get_args(GpuLimit)
"""The lowest bit of NVML's first."""


def read_gpus(gpus: Sequence[Gpu], ours: Collection[int]) -> GpuReading:
    """Return what GPUs tell at this moment; ``ours`` are the ids of irbench's processes."""
    clocks = [gpu.ask_or_none("nvmlDeviceGetClockInfo", gpu.nvml.NVML_CLOCK_SM) for gpu in gpus]
    powers = [gpu.ask_or_none("nvmlDeviceGetPowerUsage") for gpu in gpus]
    limits: dict[GpuLimit, None] = {limit: None for gpu in gpus for limit in limits_of(gpu)}
    computing = {process.pid for gpu in gpus for process in processes_on(gpu)}
    foreign = len(computing.difference(ours))
    return GpuReading(
        sm_mhz=min((int(clock) for clock in clocks if clock is not None), default=None),
        power_mw=None if None in powers else sum(map(int, powers)),
        limits=tuple(limits),
        others=None if foreign and not computing.intersection(ours) else foreign,
    )


def limits_of(gpu: Gpu) -> tuple[GpuLimit, ...]:
    """Return why the clock of a GPU is not higher."""
    bits = gpu.ask_or_none("nvmlDeviceGetCurrentClocksEventReasons")
    if bits is None:  # drivers and bindings before 535 call it otherwise
        bits = gpu.ask_or_none("nvmlDeviceGetCurrentClocksThrottleReasons") or 0
    return tuple(limit for place, limit in enumerate(_LIMITS) if int(bits) >> place & 1)
