"""The energy that a machine uses, as its processors and GPUs count it."""

from irbench.measure.energy.access import EnergyAccess, find_energy_counters
from irbench.measure.energy.meter import EnergyCounter, EnergyMeter
from irbench.measure.energy.nvml import NVIDIA_GPU

__all__ = [
    "NVIDIA_GPU",
    "EnergyAccess",
    "EnergyCounter",
    "EnergyMeter",
    "find_energy_counters",
]
