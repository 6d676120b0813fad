"""Whether this machine can measure energy, before anything is measured."""

from __future__ import annotations

from collections.abc import Mapping

from irbench.errors import IrbenchError
from irbench.measure.energy import EnergyAccess, find_energy_counters
from irbench.notices import Note
from irbench.notices.absent_readings import AbsenceReason
from irbench.notices.notes import EnergyIncomplete
from irbench.system.installation import install_command

_COUNTERS = "/sys/class/powercap/intel-rapl:*/energy_uj"


_GPU_HINTS: Mapping[AbsenceReason, str] = {
    "no-package": " Counters of the GPU need a Python package: {install}",
    "not-visible": " CUDA_VISIBLE_DEVICES hides the GPUs.",
    "unknown-order": " For the GPUs that CUDA_VISIBLE_DEVICES numbers, set CUDA_DEVICE_ORDER=PCI_BUS_ID.",
    "unreadable": " The counters of the GPUs cannot be read: see nvidia-smi.",
}


_NO_COUNTERS = (
    "this machine has no counters (no intel-rapl in /sys/class/powercap)",
    (
        "Virtual machines and containers rarely have any. On hardware load the kernel's module: sudo modprobe"
        " intel_rapl_msr. Or leave --energy out."
    ),
)


_REFUSALS: Mapping[AbsenceReason, tuple[str, str]] = {
    "not-permitted": (
        f"only root may read {_COUNTERS} on this machine",
        (
            f"Run irbench as root, or let everyone read them until the next boot: sudo chmod a+r {_COUNTERS}"
            " (or leave --energy out)."
        ),
    ),
    "not-counting": (
        f"the counters of this machine stand still ({_COUNTERS})",
        "Some virtual machines show counters that count nothing: measure on the hardware, or leave --energy out.",
    ),
}


def energy_notes(measures_energy: bool) -> tuple[Note, ...]:
    """Return what belongs below a table with energy: which part of the machine has counters that cannot be read."""
    if not measures_energy:
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
    message, hint = _REFUSALS.get(access.absent.get("processors", "no-counters"), _NO_COUNTERS)
    also = _GPU_HINTS.get(access.absent.get("gpus", "no-driver"), "").format(install=install_command("nvidia-ml-py"))
    return IrbenchError(f"Energy cannot be measured: {message}.", hint=f"{hint}{also}")
