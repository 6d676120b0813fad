"""Options of backends that have several values: a row for each combination (``--vary``)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import product
from typing import TypeAlias

from irbench.options import values

Varied: TypeAlias = Mapping[str, Mapping[str, tuple[str, ...]]]
"""Values by backend, then by key."""

AS_IT_IS = "default"
"""The value of an option that is not set."""


def varied(value: Mapping[str, Mapping[str, object]]) -> Varied:
    """Return values of options by backend: of ``{"ort": {"intra_op.allow_spinning": [0, 1]}}``."""
    if not isinstance(value, Mapping) or not all(isinstance(options, Mapping) for options in value.values()):
        raise ValueError(f"{value!r} is not a mapping from backends to their options")
    return {
        values.text(backend): {values.text(key): _values(listed) for key, listed in options.items()}
        for backend, options in value.items()
    }


def varied_of_text(text: str) -> tuple[str, str, tuple[str, ...]]:
    """Return backend, key and values of ``backend.KEY=VALUE,VALUE``."""
    backend, key, listed = values.setting_of_text(text)
    return backend, key, _values(listed.split(","))


def alternatives(asked: Varied) -> dict[str, tuple[dict[str, str], ...]]:
    """Return the sets of options that rows of each backend have: every combination of their values."""
    return {
        backend: tuple(
            {key: value for key, value in zip(options, chosen, strict=True) if value != AS_IT_IS}
            for chosen in product(*options.values())
        )
        for backend, options in asked.items()
    }


def _values(listed: object) -> tuple[str, ...]:
    if isinstance(listed, str) or not isinstance(listed, Iterable):
        raise TypeError(f"{listed!r} is no list of values")
    found = tuple(dict.fromkeys(_text(value) for value in listed))
    if len(found) < 2 or "" in found:
        raise ValueError("at least two different values are needed")
    return found


def _text(value: object) -> str:
    """Return a value as the command line would give it; runtimes write truth as 1 and 0."""
    return (str(int(value)) if isinstance(value, bool) else str(value)).strip()


def varied_in(sets: Mapping[str, Sequence[Mapping[str, str]]]) -> Varied:
    """Return the values that options have in all sets of :func:`alternatives`, in the order of the largest set.

    An option that a set lacks is not set there.
    """
    return {
        backend: {
            key: tuple(dict.fromkeys(each.get(key, AS_IT_IS) for each in found))
            for key in dict.fromkeys(key for each in sorted(found, key=len, reverse=True) for key in each)
        }
        for backend, found in sets.items()
    }
