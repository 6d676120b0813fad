"""What is wrong with a plan, in lines that name the place: ``matrix[2].batch[0]: 0 is not a whole number from 1``."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any, TypeAlias

from irbench.core.suggestions import did_you_mean
from irbench.errors import IrbenchError

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

Place: TypeAlias = Sequence[str | int]
"""Keys and places in lists, from the top of a plan."""

_MOST_LINES = 50
_TABLES = ("model_type", "model_attributes_type", "dict_type")


def plan_error(name: str, problems: Iterable[str]) -> IrbenchError:
    """Return the error that lists all problems of a plan, a line for each."""
    lines = tuple(dict.fromkeys(problems))
    said = "a problem" if len(lines) == 1 else f"{len(lines)} problems" if len(lines) < _MOST_LINES else "many problems"
    hint = "Fix every line above; irbench plan schema prints all keys with their forms."
    return IrbenchError(f"{name} has {said}.", hint=hint, details=lines)


def structural_problems(
    errors: Iterable[ErrorDetails], document: Mapping[str, Any], keys: Callable[[Place], Sequence[str]]
) -> list[str]:
    """Return a line for each of the first keys and values that a plan cannot have, in the order of the plan.

    Args:
        errors: What pydantic found.
        document: What it read.
        keys: Returns the keys that the table in a place may have.
    """
    # a file from elsewhere may have any number of them
    ordered = sorted(islice(errors, _MOST_LINES), key=lambda error: _position(error["loc"], document))
    return [_line(error, document, keys) for error in ordered]


def place_text(place: Place) -> str:
    """Return a place as a user would look for it: ``matrix[2].batch[0]``."""
    text = ""
    for part in place:
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else part
    return text


def _line(error: ErrorDetails, document: Mapping[str, Any], keys: Callable[[Place], Sequence[str]]) -> str:
    place = _place(error["loc"], document)
    if error["type"] == "extra_forbidden":
        near = did_you_mean(str(place[-1]), keys(place[:-1]))
        return f"{place_text(place)}: there is no such key. {near}".rstrip()
    return f"{place_text(place)}: {_reason(error)}"


def _place(found: Place, document: Mapping[str, Any]) -> list[str | int]:
    """Return the place without numbers in lists that the user did not write: a single value stands for a list."""
    place: list[str | int] = []
    value: Any = document
    for part in found:
        if isinstance(part, int) and not isinstance(value, list | tuple):
            continue
        place.append(part)
        value = _inner(value, part)
    return place


def _position(place: Place, document: Mapping[str, Any]) -> list[int]:
    """Return where a place is in the document: what number its key has in each table around it."""
    position: list[int] = []
    value: Any = document
    for part in place:
        keys = list(value) if isinstance(value, Mapping) else []
        position.append(part if isinstance(part, int) else keys.index(part) if part in keys else len(keys))
        value = _inner(value, part)
    return position


def _inner(value: Any, part: str | int) -> Any:
    try:
        return value[part]
    except (KeyError, IndexError, TypeError):
        return None


def _reason(error: ErrorDetails) -> str:
    kind, facts = error["type"], error.get("ctx", {})
    given = json.dumps(error["input"], default=str)
    if kind == "value_error":
        return str(facts["error"])
    if kind in _TABLES:
        return f"{given} is not a table of keys and values"
    if kind == "string_too_short":
        return "it is empty"
    if kind == "literal_error":
        known = [word.strip(" '") for word in str(facts["expected"]).replace(" or ", ",").split(",")]
        return f"{given} is not one of {', '.join(known)}. {did_you_mean(str(error['input']), known)}".rstrip()
    if kind == "bool_type":
        return f"{given} is neither true nor false"
    if kind == "string_type":
        return f"{given} is not a text"
    return f"{given} is not valid: {error['msg']}"
