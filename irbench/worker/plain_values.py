"""Unpickling values of a process that nobody trusts: plain data, arrays and our own value classes, and no other code.

A pickle can name any function of any module to be called where it is read. A process that a file has taken over
would write such a one, and so leave its confinement through us.
"""

from __future__ import annotations

import io
import pickle
from collections.abc import Mapping
from dataclasses import is_dataclass
from enum import Enum
from importlib import import_module
from typing import Any

import numpy as np

from irbench.worker import wire

__all__ = ["load_plain"]

_OF_PYTHON: Mapping[str, frozenset[str]] = {
    "builtins": frozenset({"bytearray", "complex", "frozenset", "range", "set"}),
    "collections": frozenset({"Counter", "OrderedDict"}),
    "fractions": frozenset({"Fraction"}),
    wire.__name__: frozenset({"path_of"}),
    "numpy": frozenset({"dtype", "ndarray"}),
    "numpy.core.multiarray": frozenset({"_reconstruct", "scalar"}),
    "numpy._core.multiarray": frozenset({"_reconstruct", "scalar"}),
}
"""Callables without effects, by module."""
_OF_NARROW_NUMBERS = "ml_dtypes"
_OWN_PACKAGE = "irbench."


def load_plain(data: bytes) -> Any:
    """Return the value of a pickle of plain types, arrays, and dataclasses and enumerations of irbench.

    Raises:
        pickle.UnpicklingError: It names anything else, or is damaged.
    """
    try:
        return _Unpickler(io.BytesIO(data)).load()
    except pickle.UnpicklingError:
        raise
    except Exception as error:  # damaged pickles raise nearly everything
        raise pickle.UnpicklingError(f"{type(error).__name__}: {error}") from error


class _Unpickler(pickle.Unpickler):
    def find_class(self, module: str, name: str, /) -> Any:
        if name in _OF_PYTHON.get(module, ()):
            return getattr(import_module(module), name)
        if module.startswith(_OWN_PACKAGE) or module == _OF_NARROW_NUMBERS:
            found = vars(import_module(module)).get(name)  # a name with dots would lead to any attribute
            if isinstance(found, type) and (is_dataclass(found) or issubclass(found, (Enum, np.generic))):
                return found
        raise pickle.UnpicklingError(f"{module}.{name} is no plain value.")
