"""Reading the inputs that a user gives as values of Python's: data, constants and what is fed back."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from os import PathLike
from pathlib import Path
from typing import Any, TypeAlias, Union

from irbench.options.asked_inputs import DataSource
from irbench.options.values import Constants, Feedback
from irbench.spec import Number

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
    return {_name(name): _elements(given) for name, given in value.items()}


def feedback(value: Mapping[str, str]) -> Feedback:
    """Return outputs by the inputs that they become: of ``{"h": "h0"}``, which has inputs by outputs."""
    if not isinstance(value, Mapping) or not all(isinstance(given, str) for given in value.values()):
        raise TypeError(f"{value!r} is not a mapping from outputs to inputs")
    found = {given: _name(made) for made, given in value.items()}
    if len(found) < len(value):
        raise ValueError("two outputs become the same input")
    return found


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
