"""The files of a part of a graph: a model, and what it is given."""

from __future__ import annotations

import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from irbench.spi import Array

if TYPE_CHECKING:
    import onnx

MODEL_FILE = "reduced.onnx"
INPUTS_FILE = "inputs.npz"
EXPECTED_FILE = "expected.npz"
REPORT_FILE = "report.md"
"""What the reference answers; not written where an output is of a type that NumPy cannot store."""
_LARGEST_MESSAGE_BYTES = 2**31 - 2**20
"""What one protobuf message holds at most, with room for the graph's structure."""


def save_model(model: onnx.ModelProto, path: Path) -> None:
    """Write a model; large weights go to a file beside it."""
    import onnx

    weights = sum(map(size_of_weights, model.graph.initializer))
    beside = f"{path.name}.data" if weights > _LARGEST_MESSAGE_BYTES else None
    (path.parent / f"{path.name}.data").unlink(missing_ok=True)
    onnx.save_model(model, path, save_as_external_data=beside is not None, location=beside)


def write_arrays(path: Path, arrays: Mapping[str, Array]) -> None:
    """Write an archive as ``numpy.savez`` does, which takes no array called ``file``."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED, allowZip64=True) as archive:
        for name, array in arrays.items():
            with archive.open(f"{name}.npy", "w", force_zip64=True) as file:
                np.lib.format.write_array(file, np.ascontiguousarray(array), allow_pickle=False)


def size_of_weights(tensor: onnx.TensorProto) -> int:
    """Return how many bytes an initializer takes in a file."""
    return len(tensor.raw_data) or tensor.ByteSize()
