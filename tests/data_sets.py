"""Data sets of the ONNX convention, written for tests."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from onnx import numpy_helper

from irbench.spi import Array


def write_set(folder: Path, number: int, inputs: Sequence[Array], outputs: Sequence[Array]) -> Path:
    """Write ``test_data_set_<number>`` into ``folder`` and return its path."""
    place = folder / f"test_data_set_{number}"
    place.mkdir(parents=True)
    for role, arrays in (("input", inputs), ("output", outputs)):
        for position, array in enumerate(arrays):
            message = numpy_helper.from_array(np.asarray(array))
            (place / f"{role}_{position}.pb").write_bytes(message.SerializeToString())
    return place
