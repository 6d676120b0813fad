"""The page of codes: what documents and tables say beside the figures."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

from documentation.markdown import GENERATED, code, prose, quoted, table
from irbench.cli import EXIT_CODES
from irbench.notices import Context, Mark, Note, Warn

PAGE = Path("docs/reference/codes.md")
EXIT_PAGE = Path("docs/reference/exit-codes.md")

_INTRODUCTION = """\
Documents hold a code and its facts, and tables the words made of them. The examples are printed with made-up facts.
[Reading the results](../reading-results.md) explains them at length, and [the timing protocol](../protocol.md#warnings)
has the rule behind each warning."""


def codes_page() -> str:
    """Return the page of warnings, notes and marks."""
    marks = ((kind.code, kind.says, kind.example().text()) for kind in Mark.known)
    notes = ((kind.code, kind.says, kind.example().text(Context())) for kind in Note.known)
    warnings = ((kind.code, kind.says, kind.example().whole(Context())) for kind in Warn.known)
    parts = [
        ("Warnings", "What speaks against the figures, and what to do about it; the most expensive first.", warnings),
        ("Notes", "What else a reader must know of a table.", notes),
        ("Marks", "What must be said of one row.", marks),
    ]
    text = f"# Warnings, notes and marks\n\n{GENERATED}\n\n{_INTRODUCTION}\n"
    for title, introduction, rows in parts:
        text += f"\n## {title}\n\n{introduction}\n\n{_codes(rows, linked=title == 'Warnings')}"
    return text


def _codes(rows: Iterable[tuple[str, str, str]], *, linked: bool) -> str:
    return table(
        ("code", "meaning", "for example"),
        (
            (f"[`{name}`](../reading-results.md#{name})" if linked else code(name), _linked(says), quoted(example))
            for name, says, example in rows
        ),
    )


def _linked(says: str) -> str:
    """Return what a code means, whose links are those of a page in docs, for a page in a folder below."""
    return re.sub(r"\]\((?=[\w-]+\.md)", "](../", says)


def exit_code_table() -> str:
    """Return the table of exit codes."""
    return table(("exit code", "meaning"), ((number, prose(meaning)) for number, meaning in EXIT_CODES.items()))
