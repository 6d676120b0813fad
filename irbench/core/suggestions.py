"""What a mistyped name was meant to be."""

from __future__ import annotations

from collections.abc import Iterable

_CUTOFF = 0.65
"""How alike two names must be, from 0 to 1: of three letters, two in the same order."""


def nearest(name: str, known: Iterable[str]) -> str | None:
    """Return the known name that is most like ``name``, whatever its case; ``None`` where none is near."""
    import difflib

    by_folded = {name.casefold(): name for name in known}
    near = difflib.get_close_matches(name.casefold(), by_folded, n=1, cutoff=_CUTOFF)
    return by_folded[near[0]] if near else None


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return the question whether the nearest known name was meant and a space; empty where none is near."""
    near = nearest(name, known)
    return f"Did you mean {near}? " if near else ""
