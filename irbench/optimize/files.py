"""Model files of the optimiser."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import onnx_ir

__all__ = ["load", "write"]

_MOST_BYTES = 1 << 31
"""What one protobuf message can hold."""


def load(path: Path) -> onnx_ir.Model:
    """Return the model of a file, its weights still there."""
    import onnx_ir

    return onnx_ir.load(path)


def write(model: onnx_ir.Model, path: Path) -> None:
    """Write the model; weights go to a file beside it where a protobuf message could not hold them."""
    import onnx_ir

    constants = (value.const_value for value in model.graph.initializers.values())
    size = sum(one.nbytes for one in constants if one is not None)
    onnx_ir.save(model, path, external_data=f"{path.name}.data" if size >= _MOST_BYTES else None)
