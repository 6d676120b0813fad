"""What a user asks of the inputs: data, constants and what is fed back."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import Any, TypeAlias, Union

from irbench.options.values import Constants, Feedback
from irbench.spec import Number
from irbench.spi import Array

DataSource: TypeAlias = Path | tuple[Mapping[str, Array], ...]
"""Files, or arrays in memory: one mapping from input names for each sample."""


@dataclass(frozen=True)
class InputRequest:
    """What a user wants the inputs to be.

    Attributes:
        data: Samples; ``None`` without.
        values: Constants by input name.
        feedback: Outputs by the names of the inputs that they become in the next call.
    """

    data: DataSource | None = None
    values: Mapping[str, tuple[Number, ...]] = field(default_factory=dict[str, tuple[Number, ...]])
    feedback: Mapping[str, str] = field(default_factory=dict[str, str])

    @property
    def source(self) -> str:
        """What the user called the data; empty for arrays in memory and without data."""
        return str(self.data) if isinstance(self.data, Path) else ""

    def as_plan(self) -> dict[str, object]:
        """Return what was asked for as the run document records it."""
        in_memory = len(self.data) if isinstance(self.data, tuple) else None
        return {
            "data": self.source or None,
            "data_in_memory": in_memory,
            "values": {name: list(values) for name, values in self.values.items()},
            "feedback": dict(self.feedback),
        }


Arrays: TypeAlias = Mapping[str, Any]
Data: TypeAlias = Union[str, "PathLike[str]", Arrays, Iterable[Arrays]]


def data(value: Data) -> DataSource:
    """Return samples: the path of files, or arrays by input, one mapping for each sample."""
    if isinstance(value, str | PathLike):
        return Path(value)
    if not isinstance(value, Iterable):
        raise TypeError(f"{value!r} is neither a path nor arrays by input")
    mappings: list[Any] = [value] if isinstance(value, Mapping) else list(value)
    return tuple(_arrays(mapping) for mapping in mappings)


def constants(value: Mapping[str, Any]) -> Constants:
    """Return the elements of constants by input: of ``{"sr": 16000}`` or ``{"size": [480, 640]}``."""
    if not isinstance(value, Mapping):
        raise TypeError(f"{value!r} is not a mapping from inputs to constants")
    return {_name(name): _elements(elements) for name, elements in value.items()}


def feedback(value: Mapping[str, str]) -> Feedback:
    """Return outputs by the inputs that they become: of ``{"h": "h0"}``, which has inputs by outputs."""
    if not isinstance(value, Mapping) or not all(isinstance(name, str) for name in value.values()):
        raise TypeError(f"{value!r} is not a mapping from outputs to inputs")
    outputs = {name: _name(output) for output, name in value.items()}
    if len(outputs) < len(value):
        raise ValueError("two outputs become the same input")
    return outputs


def _arrays(mapping: Arrays) -> dict[str, Any]:
    if not isinstance(mapping, Mapping):
        raise TypeError(f"a sample of type {type(mapping).__name__} is not a mapping from inputs to arrays")
    import numpy as np  # options are read before anything needs arrays

    return {_name(name): np.asarray(array) for name, array in mapping.items()}


def _name(name: object) -> str:
    if not isinstance(name, str):
        raise TypeError(f"{name!r} is not the name of an input or output")
    return name


def _elements(value: Any) -> tuple[Number, ...]:
    import numpy as np

    array = np.asarray(value)
    if array.dtype.kind not in "biufUS" or array.size == 0:
        raise ValueError(f"{value!r} is neither a number nor a list of numbers")
    return tuple(array.ravel().tolist())
