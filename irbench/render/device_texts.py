"""The texts of what runs elsewhere than asked, and of energy that cannot be read."""

from __future__ import annotations

from collections.abc import Mapping

from irbench.measure.energy import AbsenceReason
from irbench.notices import Facts, NoteCode
from irbench.render.context import Context
from irbench.render.text_types import Text

_SOURCES = {"processors": "of the processors", "gpus": "of the GPUs"}
_REASONS: Mapping[AbsenceReason, str] = {
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
    "unreadable": "NVML, the driver's library, cannot read them; see nvidia-smi",
}


def _incomplete(facts: Facts, _: Context) -> str:
    return f"energy without that {_SOURCES[facts['source']]}: {_REASONS[facts['reason']]}"


ENERGY_NOTES: Mapping[NoteCode, Text] = {
    "energy-incomplete": Text(
        "with `--energy`, a part of the machine whose counters cannot be read ([energy.md](energy.md))",
        _incomplete,
        {"source": "processors", "reason": "not-permitted"},
    ),
}
