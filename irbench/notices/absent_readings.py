"""Why energy, clocks and memory of processors and GPUs are not read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, TypeAlias

AbsenceReason: TypeAlias = Literal[
    "no-counters",
    "not-permitted",
    "not-counting",
    "no-package",
    "no-driver",
    "not-visible",
    "unknown-order",
    "divided",
    "unreadable",
]
"""Why processors or GPUs are not read: ``not-counting`` is one that stands still, as in some virtual machines;
``no-package`` is a missing Python package beside GPUs that are here; those from ``not-visible`` on are of GPUs, see
:data:`irbench.measure.nvml.GpuAbsence`."""

ABSENCE_TEXTS: Mapping[AbsenceReason, str] = {
    "no-counters": "they have no counters",
    "not-permitted": "only root may read /sys/class/powercap",
    "not-counting": "the counters stand still",
    "no-package": "pip install nvidia-ml-py",
    "no-driver": "there is no driver",
    "not-visible": "CUDA_VISIBLE_DEVICES hides them",
    "unknown-order": (
        "CUDA_VISIBLE_DEVICES uses CUDA's own numbering, or names parts of a GPU, which NVML cannot match; name GPUs by"
        " UUID (nvidia-smi -L), or set"
        " CUDA_DEVICE_ORDER=PCI_BUS_ID"
    ),
    "divided": "the GPU is divided (MIG), and NVML counts the whole card",
    "unreadable": "NVML, the driver's library, cannot read them; see nvidia-smi",
}
