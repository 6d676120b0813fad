"""How reports are laid out as text: a table with a title and sentences, or paragraphs, tables and code in turn."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal, Protocol, TypeAlias, runtime_checkable

from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.measure import Measurement
from rich.text import Text

from irbench.core.plain_text import plain
from irbench.render.line_wrapping import wrap, wrap_message
from irbench.render.table import ListingTable, TextTable
from irbench.render.text_formats import bullets, code_block, heading, markdown_text

_NARROWEST = 100
_INDENT = " "


@dataclass(frozen=True)
class Sentence:
    """A text of a view, whatever draws it.

    Attributes:
        text: What it says; may be empty.
        role: What it is for.
        whole: All that there is to say, where ``text`` is less; otherwise empty.
    """

    text: str
    role: Literal["title", "verdict", "heading", "text", "note", "warning"] = "text"
    whole: str = ""


class WrittenView(Protocol):
    """What rich shows, and what is written as Markdown, which ends with a line break."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult: ...

    def as_markdown(self) -> str:
        """Return it as Markdown."""
        ...


@dataclass(frozen=True)
class PlainView:
    """What a person sees of a table, in as much width as there is."""

    title: str
    headline: str
    table: TextTable
    notes: tuple[str, ...]
    warnings: tuple[str, ...] = ()

    def __rich_measure__(self, console: Console, options: ConsoleOptions) -> Measurement:
        """Return the width that shows every column; called by rich."""
        return width_of(self.table, console, options)

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Yield the lines; called by rich."""
        yield from self.as_lines(options.max_width)

    def as_lines(self, width: int) -> Iterator[Text]:
        """Yield the view as lines of at most ``width`` cells, as far as the table's columns allow."""
        yield from paragraph(self.title, width, "bold")
        yield from paragraph(self.headline, width, "")
        if self.table.rows:
            yield from table_lines(self.table, width)
        for note in self.notes:
            yield from paragraph(note, width, "dim")
        for warning in self.warnings:
            yield from paragraph(warning, width, "yellow")

    def blocks(self) -> Iterator[Block]:
        """Yield the parts, whatever draws them."""
        yield Sentence(self.title, "title")
        yield Sentence(self.headline, "verdict")
        yield self.table
        yield from (Sentence(note, "note") for note in self.notes)
        yield from (Sentence(warning, "warning") for warning in self.warnings)

    def as_markdown(self) -> str:
        """Return a heading, the table and a list of the sentences below it, as Markdown."""
        below = bullets((*self.notes, *self.warnings))
        table = self.table.as_markdown() if self.table.rows else ""
        parts = (heading(self.title, 3), markdown_text(self.headline), table, below)
        return "\n\n".join(filter(None, parts)) + "\n"

    def shortens(self, _width: int) -> bool:
        """Whether some sentence has more to say than is shown: none has."""
        return False

    @property
    def shortens_reasons(self) -> bool:
        """Whether the reason of some row has more to say than is shown: none has."""
        return False


def width_of(table: TextTable, console: Console, options: ConsoleOptions) -> Measurement:
    """Return the width of a view that shows every column of its table."""
    whole = Measurement.get(console, options, table).maximum + len(_INDENT)
    width = min(options.max_width, max(_NARROWEST, whole))
    return Measurement(width, width)


def table_lines(table: TextTable, width: int) -> Iterator[Text]:
    """Yield the lines of a table within a view, and the names of the columns for which there is no room."""
    for line in table.as_lines(width - len(_INDENT)):
        line.pad_left(len(_INDENT))
        yield line
    if hidden := hidden_columns(table, width):
        yield from paragraph(f"hidden, the terminal is too narrow: {', '.join(hidden)}", width, "dim")


def hidden_columns(table: TextTable, width: int) -> tuple[str, ...]:
    """Return the headings of the columns for which there is no room in a view."""
    return table.left_out(width - len(_INDENT))


def paragraph(text: str, width: int, style: str, hanging: str = "") -> Iterator[Text]:
    """Yield the lines of a text, as wide as they may be; all but the first begin with ``hanging``."""
    for number, line in enumerate(wrap(text, width - len(hanging)) if text else ()):
        yield Text(hanging * (number > 0) + line, style=style)


@dataclass(frozen=True)
class CodeBlock:
    """Code to copy: no line of it is wrapped by irbench."""

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

    def blocks(self) -> Iterator[Block]:
        """Yield the parts, whatever draws them."""
        for part in self.parts:
            if isinstance(part, str):
                yield Sentence(part)
            elif isinstance(part, ListingTable):
                yield from part.blocks()
            else:
                yield part

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


def document_of(blocks: Iterable[Block]) -> Document:
    """Return the parts of a view one below the other."""
    return Document(tuple(block.text if isinstance(block, Sentence) else block for block in blocks))


def _paragraph(text: str, width: int) -> Iterator[Text]:
    """Yield the lines of a paragraph; a command that it ends with is to be typed, and has no line break in it."""
    return (Text(line, no_wrap=True, overflow="ignore") for line in wrap_message(text, width))


Block: TypeAlias = Sentence | TextTable | CodeBlock
"""What views are made of."""


@runtime_checkable
class HasBlocks(Protocol):
    """A view that is made of blocks, with every column of its tables."""

    def blocks(self) -> Iterator[Block]:
        """Yield the parts, whatever draws them."""
        ...
