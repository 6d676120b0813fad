"""Documents of JSON with hostile values in valid places."""

from __future__ import annotations

import copy
import json
import random
from typing import Any

from .hostile_values import hostile, is_seldom, of_another_type

_MOST_CHANGES = 3
_DEEP = 100_000


def altered(document: Any, chance: random.Random) -> Any:
    """Return a copy of a document of JSON, changed in a few places: mostly within the types that it has there."""
    whole = [copy.deepcopy(document)]
    for _ in range(chance.randint(1, _MOST_CHANGES)):
        container, key = chance.choice(_places(whole))
        value = container[key]
        if is_seldom(chance, 8) and isinstance(container, dict):
            del container[key]
        else:
            container[key] = of_another_type(chance) if is_seldom(chance, 4) else hostile(value, chance)
    return whole[0]


def json_bytes(document: Any, chance: random.Random) -> bytes:
    """Return a document as JSON, seldom with a form that no encoder writes.

    Infinity and NaN are written as Python's ``json`` does, which the standard has not.
    """
    data = json.dumps(document).encode()
    form = chance.randrange(40)
    if form == 39:
        return data[:-1] + b', "x": ' + b"[" * _DEEP + b"]" * _DEEP + b"}"
    if form == 38:
        return b"\xef\xbb\xbf" + data
    if form == 37:  # every key twice
        return data[:-1] + b", " + data[1:]
    if form == 36:
        return data.decode().encode("utf-16")
    return data


def _places(container: Any) -> list[tuple[Any, Any]]:
    """Return every place of a document, as a container and the key in it."""
    found: list[tuple[Any, Any]] = []
    waiting = [container]
    while waiting:
        inner = waiting.pop()
        keys = range(len(inner)) if isinstance(inner, list) else list(inner)
        found.extend((inner, key) for key in keys)
        waiting.extend(inner[key] for key in keys if isinstance(inner[key], list | dict))
    return found
