"""JSON as text: exact, and harmless where it is printed."""

from __future__ import annotations

import json
import math
import re
from typing import Any

import msgspec

_DELETE = "\x7f"
"""The one control character of ASCII that JSON does not escape."""
_LAST_OF_ONE_UNIT = 0xFFFF


def json_text(value: Any, indent: int = 1) -> str:
    """Return a value as indented JSON."""
    try:
        text = msgspec.json.format(msgspec.json.encode(value), indent=indent).decode()
    except UnicodeEncodeError:
        text = json.dumps(_plain(value), indent=indent)
    return without_control_characters(text)


def json_line(value: Any) -> str:
    """Return a value as JSON on one line."""
    try:
        text = msgspec.json.encode(value).decode()
    except UnicodeEncodeError:
        text = json.dumps(_plain(value))
    return without_control_characters(text)


def _plain(value: Any) -> Any:
    """Return what the standard library writes as msgspec does, paths too whose bytes are not UTF-8."""
    return _without_infinities(msgspec.to_builtins(value))


def _without_infinities(value: Any) -> Any:
    """Return a value with null in place of numbers that JSON does not have."""
    if isinstance(value, dict):
        return {key: _without_infinities(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_without_infinities(inner) for inner in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def without_control_characters(text: str) -> str:
    r"""Return the same JSON with ``\u`` in place of characters that do not print, which stand in strings only.

    JSON allows most of them as they are, also those by which a terminal is steered or the direction of text is turned.
    """
    return text if text.isascii() and _DELETE not in text else re.sub(r"[^\n -~]", _escaped, text)


def _escaped(found: re.Match[str]) -> str:
    character = found[0]
    if character.isprintable():
        return character
    code = ord(character)
    if code <= _LAST_OF_ONE_UNIT:
        return f"\\u{code:04x}"
    high, low = divmod(code - 0x10000, 0x400)
    return f"\\u{0xD800 + high:04x}\\u{0xDC00 + low:04x}"
