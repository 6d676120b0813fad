"""Paragraphs, tables and blocks of code, one below the other, in every text format."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.text import Text

from irbench.core.plain_text import plain
from irbench.render.line_wrapping import wrap_message
from irbench.render.markdown import code_block, markdown_text
from irbench.render.table import ListingTable, TextTable


@dataclass(frozen=True)
class CodeBlock:
    """Code to copy: no line of it is wrapped by irbench.

    Attributes:
        code: It.
        language: What Markdown calls its language.
    """

    code: str
    language: str

    def as_markdown(self) -> str:
        """Return it between fences."""
        return code_block(self.code, self.language)

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Text]:
        """Yield its lines, each indented; called by rich."""
        for line in self.code.splitlines():
            yield Text(f"  {plain(line)}", no_wrap=True, overflow="ignore")


@dataclass(frozen=True)
class Document:
    """Paragraphs and tables, one below the other, in every text format."""

    parts: tuple[str | TextTable | ListingTable | CodeBlock, ...]

    def as_markdown(self) -> str:
        """Return the paragraphs and tables as Markdown."""
        parts = (markdown_text(part) if isinstance(part, str) else part.as_markdown() for part in self.parts)
        return "\n\n".join(parts) + "\n"

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Yield the parts with an empty line between them; called by rich."""
        lines: list[RenderableType] = []
        for part in self.parts:
            shown = ListingTable(part) if isinstance(part, TextTable) else part
            lines += ["", *(_paragraph(shown, options.max_width) if isinstance(shown, str) else (shown,))]
        yield Group(*lines[1:])


def _paragraph(text: str, width: int) -> Iterator[Text]:
    """Yield the lines of a paragraph; a command that it ends with is to be typed, and has no line break in it."""
    return (Text(line, no_wrap=True, overflow="ignore") for line in wrap_message(text, width))
