"""Bounds of JSON from elsewhere, checked on its bytes: as objects, empty lists take twenty times their bytes."""

from __future__ import annotations

import re

_DEEPEST, _LARGEST = 100, 1 << 63
_MOST_DIGITS = len(str(_LARGEST))
_STRING = re.compile(rb'"(?:[^"\\]++|\\.)*+"', re.DOTALL)
_STRING_OF_MARKS = re.compile(rb'"[^"]*+"')
_LONG_NUMBER = re.compile(rb"[-+.\deE]{%d,}" % _MOST_DIGITS)
_ALIKE = bytes.maketrans(b"{}", b"[]")
_NO_MARKS = bytes(set(range(256)) - set(b'{}[]"'))
_DIGITS = bytes.maketrans(b"123456789", b"0" * 9)
_LONG = b"0" * _MOST_DIGITS


def require_bounded(data: bytes) -> None:
    """Refuse nesting and figures that no document of ours has, and that what reads one would fail on.

    Args:
        data: JSON that was found to be well-formed.

    Raises:
        ValueError: Lists or objects are nested too deeply, or an integer does not fit into 64 bits.
    """
    brackets = _brackets(data)
    for _ in range(_DEEPEST):
        brackets = brackets.replace(b"[]", b"")
        if not brackets:
            break
    else:
        raise ValueError(f"it is nested more than {_DEEPEST} levels deep")
    # digits behind a point are no integer, and most documents have no others of such a length
    if _LONG not in data.translate(_DIGITS).replace(b"." + _LONG, b"."):
        return
    for number in _LONG_NUMBER.finditer(_STRING.sub(b"", data)):
        if _is_too_large(number[0]):
            raise ValueError("it contains an integer of more than 64 bits")


def _brackets(data: bytes) -> bytes:
    """Return the brackets of lists and objects, in their order, as those of lists."""
    if b"\\" in data:
        data = data.replace(rb"\\", b"").replace(rb"\"", b"")
    marks = data.translate(_ALIKE, _NO_MARKS)
    brackets = marks.replace(b'""', b"")
    # the first string with a bracket in it keeps its opening quote, and all strings before it are gone
    return _STRING_OF_MARKS.sub(b"", marks) if b'"' in brackets else brackets


def _is_too_large(number: bytes) -> bool:
    digits = number.removeprefix(b"-")
    return digits.isdigit() and (len(digits) > _MOST_DIGITS or not -_LARGEST <= int(number) < _LARGEST)
