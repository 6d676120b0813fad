"""Bounds of JSON from elsewhere, checked on its bytes: as objects, empty lists take twenty times their bytes."""

from __future__ import annotations

import re

__all__ = ["require_bounded"]

_DEEPEST, _LARGEST = 100, 1 << 63
_MOST_DIGITS = len(str(_LARGEST))
_STRING = re.compile(rb'"(?:[^"\\]++|\\.)*+"', re.DOTALL)
_LONG_NUMBER = re.compile(rb"[-+.\deE]{%d,}" % _MOST_DIGITS)
_ALIKE = bytes.maketrans(b"{}", b"[]")
_NO_BRACKETS = bytes(set(range(256)) - set(b"{}[]"))


def require_bounded(data: bytes) -> None:
    """Refuse nesting and figures that no document of ours has, and that what reads one would fail on.

    Args:
        data: JSON that was found to be well-formed.

    Raises:
        ValueError: Lists or objects are nested too deeply, or an integer does not fit into 64 bits.
    """
    bare = _STRING.sub(b"", data)
    brackets = bare.translate(_ALIKE, _NO_BRACKETS)
    for _ in range(_DEEPEST):
        brackets = brackets.replace(b"[]", b"")
        if not brackets:
            break
    else:
        raise ValueError(f"it is nested more than {_DEEPEST} levels deep")
    for number in _LONG_NUMBER.finditer(bare):
        if _is_too_large(number[0]):
            raise ValueError("it contains an integer of more than 64 bits")


def _is_too_large(number: bytes) -> bool:
    digits = number.removeprefix(b"-")
    return digits.isdigit() and (len(digits) > _MOST_DIGITS or not -_LARGEST <= int(number) < _LARGEST)
