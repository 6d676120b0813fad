"""Text that other programs read: cells of comma-separated values that no spreadsheet runs, JSON, and Markdown."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable
from functools import lru_cache
from typing import Any

import msgspec

from irbench.core.plain_text import plain, plain_lines, unmarked

_FORMULA = re.compile(r"\s*[=+\-@]")
_QUANTITY = re.compile(r"\s*[+-]?(\d[\w.,]*(e[+-]\d+)?( ?%)?)?\s*", re.ASCII)
_ACTIVE = re.compile(
    r"[\\`*|<~]"
    r"|(?<!\w)_|_(?!\w)"  # within words it has no meaning in Markdown
    r"|\](?=[(\[:])"  # of a link or image, or of the definition of one; an interval is not one of these
    r"|&(?=#?\w+;)"
    r"|(?<=:)/(?=/)|(?<=(?i:www))\."
)
_REFERENCE = re.compile(r"(?<!\w)@(?=\w)|@(?=[\w\\-]+\.)|#(?=\d)|(?i:\bGH-)(?=\d)")
"""What GitHub looks for in the text that Markdown shows, without its escapes: a user, an address of mail, an issue."""
_INVISIBLE = "&#8203;"
"""A blank without width."""
_OPENING = re.compile(r"(?P<number>\d*)(?=[#>]|[-+=](?:\s|$|[-=])|(?<=\d)[.)]\s)")
"""What makes a line a heading, a list or a rule where it begins like this."""
_DELETE = "\x7f"
"""The one control character of ASCII that JSON does not escape."""
_LAST_OF_ONE_UNIT = 0xFFFF


def csv_cell(value: Any) -> Any:
    """Return a value as a cell: numbers as they are, text on one line.

    A text that a spreadsheet would take for a formula (see OWASP, CSV Injection) gets an apostrophe in front. Digits
    with a sign and a unit are not a formula, and neither is a lone sign.
    """
    return _text_cell(value) if isinstance(value, str) else value


@lru_cache(maxsize=1024)
def _text_cell(value: str) -> str:
    """Return a text as a cell; raw samples have the same few texts in every row."""
    text = plain(value)
    is_formula = _FORMULA.match(text) is not None and _QUANTITY.fullmatch(text) is None
    return f"'{text}" if is_formula else text


def csv_cells(values: Iterable[Any]) -> tuple[Any, ...]:
    """Return values as cells."""
    return tuple(map(csv_cell, values))


def markdown_cell(text: str) -> str:
    """Return text that Markdown shows as it is where it does not begin a line."""
    return _REFERENCE.sub(rf"\g<0>{_INVISIBLE}", _ACTIVE.sub(r"\\\g<0>", plain(unmarked(text))))


def markdown_text(text: str) -> str:
    """Return text that Markdown shows as it is, as a paragraph of its own."""
    escaped = markdown_cell(text).lstrip()
    opening = _OPENING.match(escaped)
    return escaped if opening is None else f"{opening['number']}\\{escaped[opening.end() :]}"


def heading(text: str, level: int) -> str:
    """Return text as a heading."""
    return f"{'#' * level} {markdown_cell(text)}"


def bullets(lines: Iterable[str]) -> str:
    """Return lines of text as a list."""
    return "\n".join(f"- {markdown_text(line)}" for line in lines)


def code_block(code: str, language: str) -> str:
    """Return code between fences that are longer than any within it."""
    longest = max(map(len, re.findall(r"`+", code)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{language}\n{plain_lines(code)}\n{fence}"


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


def _escaped(match: re.Match[str]) -> str:
    character = match[0]
    if character.isprintable():
        return character
    code = ord(character)
    if code <= _LAST_OF_ONE_UNIT:
        return f"\\u{code:04x}"
    high, low = divmod(code - 0x10000, 0x400)
    return f"\\u{0xD800 + high:04x}\\u{0xDC00 + low:04x}"
