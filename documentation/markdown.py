"""Markdown of generated pages: tables, code, and the parts of a page that are written again."""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Sequence

GENERATED = "<!-- Written by make generated; change the declarations instead. -->"


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table; cells are Markdown already."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(cell or ' ' for cell in line)} |" for line in lines) + "\n"


def code(text: str) -> str:
    """Return text as code within a line, also in a cell of a table, where dialects differ in how a bar is written."""
    if "|" in text:
        return f"<code>{html.escape(text, quote=False).replace('|', '&#124;')}</code>"
    return f"`{text}`" if text else ""


def prose(text: str) -> str:
    """Return words for a cell of a table: on one line, with options as code, and nothing read as HTML."""
    return "".join(
        part if part.startswith("`") else re.sub(r"(?<![\w`-])(--[a-z][a-z0-9-]*)", r"`\1`", part)
        for part in re.split(r"(`[^`]*`)", quoted(text))
    )


def quoted(text: str) -> str:
    """Return words for a cell of a table as they are printed, with nothing read as HTML or as Markdown but code."""
    parts = re.split(r"(`[^`]*`)", " ".join(text.split()).replace("|", r"\|"))
    return "".join(part if part.startswith("`") else _escaped(part) for part in parts)


def _escaped(text: str) -> str:
    return re.sub(r"([*\[_])", r"\\\1", text.replace("<", "&lt;"))


def block(text: str) -> str:
    """Return lines as a block of code."""
    return "".join(f"    {line}".rstrip() + "\n" for line in text.splitlines())


def with_part(document: str, name: str, text: str) -> str:
    """Return a document with ``text`` between the marks of a part.

    Raises:
        ValueError: The document has no such part.
    """
    begin, end = f"<!-- {name}: written by make generated -->", f"<!-- end of {name} -->"
    before, found, rest = document.partition(begin)
    _, closed, after = rest.partition(end)
    if not (found and closed):
        raise ValueError(f"the document has no part {name}")
    return f"{before}{begin}\n\n{text.strip()}\n\n{end}{after}"
