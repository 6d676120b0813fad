"""Names of runs that sort by time: ULIDs, as github.com/ulid/spec defines them."""

from __future__ import annotations

import secrets
from datetime import datetime

_ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
_LENGTH = 26
_RANDOM_BITS = 80


def new_ulid(moment: datetime) -> str:
    """Return a fresh ULID: 48 bits of Unix milliseconds and 80 random ones, in Crockford's base 32."""
    value = int(moment.timestamp() * 1000) << _RANDOM_BITS | secrets.randbits(_RANDOM_BITS)
    return "".join(_ALPHABET[value >> shift & 31] for shift in range((_LENGTH - 1) * 5, -1, -5))


def is_ulid(text: str) -> bool:
    """Return whether ``text`` has the form of a ULID, in capitals."""
    return len(text) == _LENGTH and set(text) <= set(_ALPHABET)


def seconds_of(ulid: str) -> int:
    """Return the whole seconds of the Unix time at which a ULID was made."""
    value = 0
    for character in ulid[: _LENGTH - _RANDOM_BITS // 5]:
        value = value << 5 | _ALPHABET.index(character)
    return value // 1000
