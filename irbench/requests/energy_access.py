"""Whether the energy that was asked for can be measured on this machine."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from irbench.errors import IrbenchError
from irbench.measure.energy import EnergyAccess, find_energy_counters
from irbench.notices import Note
from irbench.notices.notes import AbsenceReason, EnergyIncomplete

_COUNTERS = "/sys/class/powercap/intel-rapl:*/energy_uj"
_GPU_HINTS: Mapping[AbsenceReason, str] = {
    "no-package": " Counters of the GPU need a Python package: pip install nvidia-ml-py",
    "not-visible": " CUDA_VISIBLE_DEVICES hides the GPUs.",
    "unknown-order": " For the GPUs that CUDA_VISIBLE_DEVICES numbers, set CUDA_DEVICE_ORDER=PCI_BUS_ID.",
    "unreadable": " The counters of the GPUs cannot be read: see nvidia-smi.",
}


@dataclass(frozen=True)
class _Refusal:
    """Why nothing can be measured, and what helps."""

    message: str
    hint: str


_NO_COUNTERS = _Refusal(
    "this machine has no counters (no intel-rapl in /sys/class/powercap)",
    "Virtual machines and containers rarely have any. On hardware load the kernel's module: sudo modprobe"
    " intel_rapl_msr. Or leave --energy out.",
)
_REFUSALS: Mapping[AbsenceReason, _Refusal] = {
    "not-permitted": _Refusal(
        f"only root may read {_COUNTERS} on this machine",
        f"Run irbench as root, or let everyone read them until the next boot: sudo chmod a+r {_COUNTERS}"
        " (or leave --energy out).",
    ),
    "not-counting": _Refusal(
        f"the counters of this machine stand still ({_COUNTERS})",
        "Some virtual machines show counters that count nothing: measure on the hardware, or leave --energy out.",
    ),
}


def energy_notes(asked: bool) -> tuple[Note, ...]:
    """Return what belongs below a table with energy: which part of the machine has counters that cannot be read.

    Args:
        asked: Whether energy is to be measured.

    Raises:
        IrbenchError: It is, and nothing can be read.
    """
    if not asked:
        return ()
    access = find_energy_counters()
    if not access.counters:
        raise _refused(access)
    return tuple(
        EnergyIncomplete(source=source, reason=reason)
        for source, reason in access.absent.items()
        if reason != "no-driver"  # a machine without a GPU lacks nothing
    )


def _refused(access: EnergyAccess) -> IrbenchError:
    refusal = _REFUSALS.get(access.absent.get("processors", "no-counters"), _NO_COUNTERS)
    also = _GPU_HINTS.get(access.absent.get("gpus", "no-driver"), "")
    return IrbenchError(f"Energy cannot be measured: {refusal.message}.", hint=f"{refusal.hint}{also}")
