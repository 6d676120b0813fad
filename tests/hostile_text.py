"""One hostile text in every place of a value that takes any text, and what no output may make of it."""

from __future__ import annotations

import contextlib
import csv
import io
import re
from collections.abc import Collection
from html.parser import HTMLParser
from typing import Any, TypeVar

import msgspec
from markdown_it import MarkdownIt

from irbench.render.html import sorting_script

_Value = TypeVar("_Value")

HOSTILE = (
    "=cmd()\x1b]0;title\x07\x9b31m\u202e\u2066[bold]{0}%s|`a`</pre><script>alert(1)</script>"
    "![i](http://x)[l](http://x)*e*\r\t\x00\x7f\nFORGED\n# FORGED\n[l]: http://x\n"
)
"""Escape sequences, marks of direction, line breaks, and markup of rich, Markdown, HTML and spreadsheets."""

_NUMBER = re.compile(r"[+-]?(\d[\w.,]*(e[+-]\d+)?( ?%)?)?", re.ASCII)


def poisoned(value: _Value, kept: Collection[str] = (), hostile: str = HOSTILE, *, keys: bool = False) -> _Value:
    """Return a value with a hostile text in front of every text within it.

    The same text becomes the same one everywhere, so that what belongs together still does. A text stays where its
    type allows a few words only, where it is the name of a field, or where it is to be kept.

    Args:
        value: It.
        kept: Texts that stay.
        hostile: What stands in front of others.
        keys: Whether keys of mappings are changed too, so that facts are not found by their names.
    """
    kind = type(value)
    data = _normal(msgspec.json.encode(value), kind)
    for text in sorted(_texts(msgspec.json.decode(data)) - set(kept)):
        found = re.escape(msgspec.json.encode(text)) + (b"" if keys else b"(?!:)")
        poison = msgspec.json.encode(hostile + text)
        changed = re.sub(found, lambda _, poison=poison: poison, data)
        with contextlib.suppress(msgspec.ValidationError):
            data = changed if _normal(changed, kind) == changed else data  # a field of an unknown name is lost
    return msgspec.json.decode(data, type=kind)


def _normal(data: bytes, kind: type[object]) -> bytes:
    return msgspec.json.encode(msgspec.json.decode(data, type=kind))


def _texts(value: Any) -> set[str]:
    if isinstance(value, dict):
        return {text for pair in value.items() for part in pair for text in _texts(part)}
    if isinstance(value, list):
        return {text for inner in value for text in _texts(inner)}
    return {value} if isinstance(value, str) else set()


def harmless_on_a_terminal(text: str) -> bool:
    """Whether text has no character that does not print but line feeds."""
    odd = {character for character in text if not character.isprintable()} - {"\n"}
    assert not odd, odd
    return True


def harmless_in_markdown(text: str) -> bool:
    """Whether a reader of Markdown finds no link, image, HTML or heading of a name in it."""
    assert harmless_on_a_terminal(text)
    tokens = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"]).parse(text)
    found = [inner for token in tokens for inner in (token, *(token.children or ()))]
    active = {token.type for token in found} & {
        "link_open", "image", "html_inline", "html_block", "em_open", "strong_open", "s_open", "code_inline",
    }  # fmt: skip
    assert not active, active
    return True


_TAGS = {
    "div", "p", "strong", "table", "thead", "tbody", "tr", "th", "td", "bdi", "br", "ul", "li", "details", "summary",
    "pre", "code", "style", "figure", "figcaption", "svg", "g", "path", "line", "rect", "text",
}  # fmt: skip


class _Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.found: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.add(tag)


def harmless_in_html(text: str) -> bool:
    """Whether HTML has no tags but those that irbench writes, and no script but the one that sorts tables."""
    text = text.replace(f"<script>{sorting_script()}</script>", "", 1)
    assert harmless_on_a_terminal(text)
    tags = _Tags()
    tags.feed(text)
    assert tags.found <= _TAGS, tags.found
    return True


def harmless_in_spreadsheets(text: str) -> bool:
    """Whether no cell of comma-separated values is a formula."""
    assert harmless_on_a_terminal(text)
    cells = [cell for row in csv.reader(io.StringIO(text)) for cell in row]
    formulas = [cell for cell in cells if cell.lstrip()[:1] in {*"=+-@"} - {""} and not _NUMBER.fullmatch(cell)]
    assert not formulas, formulas
    return True
