"""Which counters of energy this machine has, and why others are missing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias

from irbench.measure.clock import sleep
from irbench.measure.energy import nvml, powercap
from irbench.measure.energy.meter import EnergyCounter

EnergySource: TypeAlias = Literal["processors", "gpus"]
AbsenceReason: TypeAlias = Literal["not-permitted", "not-counting", "no-package", "no-driver"] | nvml.GpuAbsence
"""``not-counting`` is a counter that stands still, as in some virtual machines; ``no-package`` is a missing Python
package beside GPUs that are here."""

NVIDIA_DRIVER = Path("/proc/driver/nvidia/version")
_LONG_ENOUGH_S = 0.05
"""Counters of processors are brought up to date about every millisecond."""


@dataclass(frozen=True)
class EnergyAccess:
    """What can be read.

    Attributes:
        counters: Each of another part of the machine; none where nothing can be read.
        absent: Why a source has no counters, or why some of its counters are missing.
    """

    counters: tuple[EnergyCounter, ...]
    absent: Mapping[EnergySource, AbsenceReason]


def find_energy_counters() -> EnergyAccess:
    """Return what this machine counts, of that which the calling user may read. It takes about 50 ms."""
    absent: dict[EnergySource, AbsenceReason] = {}
    processors = _of_processors()
    gpus, missing = _of_gpus()
    if isinstance(processors, str):
        absent["processors"] = processors
        processors = ()
    if missing is not None:
        absent["gpus"] = missing
    return EnergyAccess((*processors, *gpus), absent)


def _of_processors() -> tuple[EnergyCounter, ...] | AbsenceReason:
    found = powercap.powercap_counters()
    if not found:
        return "no-counters"
    try:
        for counter in found:
            counter.advance()
        sleep(_LONG_ENOUGH_S)
        counting = tuple(counter for counter in found if counter.advance() > 0)
    except PermissionError:
        return "not-permitted"
    except OSError:
        return "no-counters"
    return counting or "not-counting"


def _of_gpus() -> tuple[tuple[EnergyCounter, ...], AbsenceReason | None]:
    try:
        return nvml.gpu_counters(nvml.load_nvml())
    except ModuleNotFoundError:
        return (), "no-package" if NVIDIA_DRIVER.exists() else "no-driver"
    except nvml.NvmlUnavailable:
        return (), "no-driver"
