"""Data sets as the ONNX convention has them: ``test_data_set_*/input_*.pb`` and ``output_*.pb``.

They may come from anywhere: read them in a worker.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from irbench.errors import IrbenchError, first_line
from irbench.onnx.reading.tensor_file import tensor_of_file
from irbench.system.file_access import open_regular
from irbench.system.file_states import is_file

if TYPE_CHECKING:
    import onnx

_CONVENTION = "A folder of data holds test_data_set_0/input_0.pb, output_0.pb and so on."
_NUMBER = re.compile(r"\d+")


@dataclass(frozen=True)
class DataSet:
    """Inputs and the outputs that they must lead to.

    Attributes:
        inputs: One array for each input of the model, in the model's order.
        outputs: One array for each output, likewise; a list of arrays where the output is a sequence.
    """

    name: str
    inputs: tuple[Any, ...]
    outputs: tuple[Any, ...]


def read_for_model(folder: Path, inputs: int, outputs: int, most_bytes: int) -> tuple[DataSet, ...]:
    """Read every data set of a model whose inputs and outputs are tensors."""
    files = (file for place in _sets_in(folder) for file in place.glob("*put_*.pb"))
    size_bytes = sum(file.stat().st_size for file in files if is_file(file))
    if size_bytes > most_bytes:
        raise IrbenchError(
            f"The data sets in {folder} have {size_bytes / 1e9:.1f} GB, and {most_bytes / 1e9:.1f} GB of memory are "
            "left for data.",
            hint="Give fewer of them.",
        )
    return read_sets(folder, ("tensor_type",) * inputs, ("tensor_type",) * outputs)


def read_sets(folder: Path, inputs: Sequence[str], outputs: Sequence[str]) -> tuple[DataSet, ...]:
    """Read every data set in a folder, which may be one itself, in the order of their numbers.

    ``inputs`` and ``outputs`` are what those of the model hold: ``tensor_type`` or ``sequence_type``.
    """
    return tuple(
        DataSet(place.name, _values(place, "input", inputs), _values(place, "output", outputs))
        for place in _sets_in(folder)
    )


def _sets_in(folder: Path) -> list[Path]:
    folders = [folder] if any(folder.glob("output_*.pb")) else _numbered(folder, "test_data_set_*")
    if not folders:
        raise IrbenchError(f"{folder} contains no data set.", hint=_CONVENTION)
    return folders


def kind_of(value: onnx.ValueInfoProto) -> str:
    """Return what a value holds, ``tensor_type`` for example; of an optional, what is in it."""
    value_type = value.type.optional_type.elem_type if value.type.HasField("optional_type") else value.type
    return str(value_type.WhichOneof("value"))


def _values(folder: Path, role: str, kinds: Sequence[str]) -> tuple[Any, ...]:
    files = _numbered(folder, f"{role}_*.pb")
    if len(files) != len(kinds):
        raise IrbenchError(
            f"{folder} contains {len(files)} {role}s, and the model has {len(kinds)}.",
            hint=f"{_CONVENTION} Every {role} of the model needs one, in the model's order.",
        )
    pairs = zip(files, kinds, strict=True)
    return tuple(_sequence(file) if kind == "sequence_type" else tensor_of_file(file) for file, kind in pairs)


def _sequence(file: Path) -> list[Any]:
    import onnx
    from onnx import numpy_helper

    message = onnx.SequenceProto()
    try:
        with open_regular(file) as stored:
            message.ParseFromString(stored.read())
        return numpy_helper.to_list(message)
    except Exception as error:
        raise IrbenchError(
            f"{file} contains no readable tensor: {first_line(error)}", hint="Download or create it again."
        ) from error


def _numbered(folder: Path, pattern: str) -> list[Path]:
    """Return files sorted by number: 10 comes after 9."""
    return sorted(folder.glob(pattern), key=lambda path: [int(number) for number in _NUMBER.findall(path.name)])


def write_set(folder: Path, inputs: Sequence[Any], outputs: Sequence[Any]) -> None:
    """Write a data set into a new folder."""
    folder.mkdir(parents=True)
    for role, values in (("input", inputs), ("output", outputs)):
        for number, message in enumerate(_messages(values)):
            (folder / f"{role}_{number}.pb").write_bytes(message.SerializeToString())


def _messages(values: Sequence[Any]) -> Iterator[onnx.TensorProto | onnx.SequenceProto]:
    import numpy as np
    import onnx
    from onnx import numpy_helper

    for value in values:
        if isinstance(value, onnx.TensorProto):  # of a type that NumPy lacks
            yield value
        elif isinstance(value, list | tuple):
            yield numpy_helper.from_list([np.asarray(element) for element in value])
        else:
            yield numpy_helper.from_array(np.asarray(value))
