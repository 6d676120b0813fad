"""One generic table, from which every text format is made: every row that goes in comes out."""

from __future__ import annotations

import csv
import io
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass

from rich.text import Text

__all__ = ["Row", "TextTable"]

_GAP = "  "
_NARROWEST_SENTENCE = 40


@dataclass(frozen=True)
class Row:
    """Cells as text; a row that has no figures ends in a sentence instead.

    Attributes:
        cells: One for each column, or the first few where there is a sentence.
        sentence: Takes the place of the columns that are left, in words.
        style: Of the whole row, on a terminal.
    """

    cells: tuple[str, ...]
    sentence: str = ""
    style: str = ""


@dataclass(frozen=True)
class TextTable:
    """Headings and rows.

    Attributes:
        headings: One for each column.
        rows: In the order in which they are shown.
        left: Headings of the columns that stand to the left; the others hold numbers and stand to the right.
        words: Heading of the column that takes the sentence in formats whose rows must be complete.
    """

    headings: tuple[str, ...]
    rows: tuple[Row, ...]
    left: frozenset[str] = frozenset()
    words: str = ""

    def as_lines(self, width: int) -> list[Text]:
        """Return the table for a terminal; sentences are wrapped to ``width`` columns, figures never."""
        widths = self._widths()
        lines = [Text(self._line(self.headings, widths), style="bold")]
        for row in self.rows:
            start = self._line(row.cells, widths)
            if not row.sentence:
                lines.append(Text(start.rstrip(), style=row.style))
                continue
            indent = sum(widths[: len(row.cells)]) + len(_GAP) * len(row.cells)
            wrapped = textwrap.wrap(row.sentence, max(_NARROWEST_SENTENCE, width - indent)) or [""]
            first = f"{start.ljust(indent - len(_GAP))}{_GAP}{wrapped[0]}"
            lines += [Text(line, style=row.style) for line in (first, *(" " * indent + rest for rest in wrapped[1:]))]
        return lines

    def as_markdown(self) -> str:
        """Return a GitHub-flavoured Markdown table."""
        rule = tuple("---" if heading in self.left else "---:" for heading in self.headings)
        return "\n".join(_markdown_row(row) for row in (self.headings, rule, *self.complete_rows()))

    def as_csv(self) -> str:
        """Return RFC 4180 lines, the headings first."""
        buffer = io.StringIO()
        csv.writer(buffer, lineterminator="\n").writerows((self.headings, *self.complete_rows()))
        return buffer.getvalue()

    def complete_rows(self) -> tuple[tuple[str, ...], ...]:
        """Return every row with one cell for each column; a sentence stands in its own column."""
        return tuple(self._complete(row) for row in self.rows)

    def _complete(self, row: Row) -> tuple[str, ...]:
        missing = self.headings[len(row.cells) :]
        return (*row.cells, *(row.sentence if heading == self.words else "-" for heading in missing))

    def _widths(self) -> list[int]:
        widths = [len(heading) for heading in self.headings]
        for row in self.rows:
            for index, cell in enumerate(row.cells):
                widths[index] = max(widths[index], len(cell))
        return widths

    def _line(self, cells: Sequence[str], widths: Sequence[int]) -> str:
        padded = (
            cell.ljust(width) if heading in self.left else cell.rjust(width)
            for cell, width, heading in zip(cells, widths, self.headings, strict=False)
        )
        return _GAP.join(padded)


def _markdown_row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|").replace("\n", " ") for cell in cells) + " |"
