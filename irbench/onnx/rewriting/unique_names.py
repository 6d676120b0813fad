"""Names for new values of a graph."""

from __future__ import annotations


def take_name(wanted: str, taken: set[str]) -> str:
    """Return a name that is not taken, ``wanted`` or with a number behind it, and take it."""
    name, count = wanted, 0
    while name in taken:
        count += 1
        name = f"{wanted}{count}"
    taken.add(name)
    return name
