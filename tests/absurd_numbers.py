"""Numbers that no machine measures, in each place of a value that has a number."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

ABSURD = (sys.float_info.max, -sys.float_info.max, 5e-324, -1e18, 2**63 - 1, -(2**63), 0, -1)
"""The largest double stands for infinity in documents."""

Path = tuple[str | int, ...]


def number_paths(value: Any) -> dict[tuple[str, ...], Path]:
    """Return the way to one number for each kind of place, which is the way without numbers of items."""
    return {tuple(step for step in path if isinstance(step, str)): path for path in _paths(value, ())}


def _paths(value: Any, path: Path) -> Iterator[Path]:
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _paths(inner, (*path, key))
    elif isinstance(value, list | tuple):
        for place, inner in enumerate(value):
            yield from _paths(inner, (*path, place))
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield path


def with_number(value: Any, path: Path, number: float) -> Any:
    """Return a value of JSON with another number at one place."""
    if not path:
        return number
    step, *rest = path
    if isinstance(value, dict):
        return {**value, step: with_number(value[step], tuple(rest), number)}
    return [with_number(inner, tuple(rest), number) if place == step else inner for place, inner in enumerate(value)]
