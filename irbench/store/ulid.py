"""Names of runs that sort by time: ULIDs (github.com/ulid/spec), 48 bits of milliseconds and 80 random ones."""

from __future__ import annotations

import secrets
from datetime import datetime

__all__ = ["is_ulid", "new_ulid"]

_ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
_LENGTH = 26


def new_ulid(moment: datetime) -> str:
    """Return a fresh ULID for a moment, as 26 characters of Crockford's base 32."""
    value = int(moment.timestamp() * 1000) << 80 | secrets.randbits(80)
    return "".join(_ALPHABET[value >> shift & 31] for shift in range((_LENGTH - 1) * 5, -1, -5))


def is_ulid(text: str) -> bool:
    """Whether text has the form of a ULID."""
    return len(text) == _LENGTH and set(text) <= set(_ALPHABET)
