"""Tensors in files of their own: one ``TensorProto`` each, as ONNX's data sets have them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from irbench.errors import IrbenchError, first_line
from irbench.spi import Array
from irbench.system.file_access import open_regular

if TYPE_CHECKING:
    import onnx


def tensor_of_file(file: Path) -> Array:
    """Return the tensor of a ``.pb`` file in C order."""
    import numpy as np
    import onnx
    from onnx import numpy_helper

    message = onnx.TensorProto()
    try:
        with open_regular(file) as stored:
            message.ParseFromString(stored.read())
        _refuse_external(message)
        return np.array(numpy_helper.to_array(message), order="C")
    except Exception as error:
        raise IrbenchError(
            f"{file} contains no readable tensor: {first_line(error)}", hint="Download or create it again."
        ) from error


def _refuse_external(tensor: onnx.TensorProto) -> None:
    """Refuse values that lie in another file, whose name the author of this one chose."""
    if tensor.data_location == tensor.EXTERNAL:
        raise ValueError("its values lie in another file")
