"""A generic table, the source of every text format."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import zip_longest

from rich.console import Console, ConsoleOptions, RenderResult
from rich.measure import Measurement
from rich.segment import Segment
from rich.text import Text

from irbench.core.plain_text import plain
from irbench.render.line_wrapping import cell_count, fold, is_prose, parts_of, pieces_of, wrap
from irbench.render.text_formats import csv_cells, markdown_cell

_GAP = "  "
_NARROWEST_SENTENCE = 30
_NARROWEST_COLUMN = 10
_LONGEST_WORD = 30
"""Longer ones are names of files or what others wrote, and may be cut."""


@dataclass(frozen=True)
class TableColumn:
    """How a column is shown.

    Attributes:
        drops: Columns are left out where the table is too wide, that with the largest number first; 0 never.
        least: Columns are left out before this one is folded to fewer cells.
        folds_at: What cells are folded behind: a space, or what stands between parts that belong on one line.
        breaks_at: What parts are broken behind that are longer than a line; may be empty.
        longest: Words of more cells may be broken where the table is too wide.
        shortens_to: Cells are cut to so many characters where the table is too wide, before anything else gives way,
            because their beginnings say as much; 0 never.
    """

    heading: str
    words: bool = False
    folds: bool = False
    drops: int = 0
    least: int = _NARROWEST_COLUMN
    folds_at: str = " "
    breaks_at: str = ""
    longest: int = _LONGEST_WORD
    shortens_to: int = 0


@dataclass(frozen=True)
class Row:
    """Cells as text; a row that lacks figures ends in a sentence instead.

    Attributes:
        sentence: Takes the place of the columns that are left, in words.
    """

    cells: tuple[str, ...]
    sentence: str = ""
    style: str = ""


@dataclass(frozen=True)
class TextTable:
    """Columns and rows; a rich renderable without borders, whose columns survive every width."""

    columns: tuple[TableColumn, ...]
    rows: tuple[Row, ...]

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Yield the lines; called by rich, which would look for places to break each ``Text`` at."""
        for text, style in self._lines(options.max_width):
            yield Segment(text, console.get_style(style) if style else None)
            yield Segment.line()

    def __rich_measure__(self, console: Console, options: ConsoleOptions) -> Measurement:
        """Return the width at which nothing is folded or left out; called by rich."""
        width = min(self._width(range(len(self.columns)), self._natural), options.max_width)
        return Measurement(width, width)

    def as_lines(self, width: int) -> list[Text]:
        """Return the table as lines of at most ``width`` cells, as far as its columns allow."""
        # a line is cut into columns already: folding it again would destroy them
        return [Text(text, style=style, no_wrap=True, overflow="ignore") for text, style in self._lines(width)]

    def left_out(self, width: int) -> tuple[str, ...]:
        """Return the headings of the columns that have no room in ``width`` cells."""
        if self._is_whole_in(width):
            return ()
        shortened = self._shortened()
        if shortened is not None:  # which a table does that is too wide, so that more columns have room
            return shortened.left_out(width)
        shown, _ = self._fit(width)
        return tuple(column.heading for index, column in enumerate(self.columns) if index not in shown)

    def without(self, heading: str) -> TextTable:
        """Return the table without a column; rows that end in a sentence before it stay as they are."""
        place = [column.heading for column in self.columns].index(heading)
        rows = (replace(row, cells=(*row.cells[:place], *row.cells[place + 1 :])) for row in self.rows)
        return TextTable((*self.columns[:place], *self.columns[place + 1 :]), tuple(rows))

    def parts(self, width: int, leading: int) -> tuple[TextTable, ...]:
        """Return tables that have all columns between them and fit into ``width`` cells, as far as folding allows."""
        parts: list[list[int]] = []
        for index in range(leading, len(self.columns)):
            if parts and self._width([*range(leading), *parts[-1], index], self._folded) <= width:
                parts[-1].append(index)
            else:
                parts.append([index])
        return tuple(self._part((*range(leading), *part), leading, width) for part in parts)

    def _part(self, shown: Sequence[int], leading: int, width: int) -> TextTable:
        """Return some columns as a table; words of the leading ones are broken where others have no room otherwise."""
        limits = [
            _NARROWEST_COLUMN if column.folds and index < leading else folded
            for index, (column, folded) in enumerate(zip(self.columns, self._folded, strict=True))
        ]
        widths = self._narrowed(self._folded, limits, shown, width)
        columns = tuple(
            replace(self.columns[index], drops=0, longest=min(self.columns[index].longest, widths[index]))
            for index in shown
        )
        rows = (replace(row, cells=tuple(row.cells[at] for at in shown if at < len(row.cells))) for row in self.rows)
        return TextTable(columns, tuple(rows))

    def _shortened(self) -> TextTable | None:
        """Return the table with the beginnings of cells that are enough; ``None`` where no column has such."""
        longest = [column.shortens_to or None for column in self.columns]
        if not any(longest):
            return None
        return TextTable(
            tuple(replace(column, shortens_to=0) for column in self.columns),
            tuple(
                replace(row, cells=tuple(cell[:most] for cell, most in zip(row.cells, longest, strict=False)))
                for row in self.rows
            ),
        )

    @property
    def narrowest(self) -> int:
        """The width below which columns fold that otherwise do not, however much is folded and left out."""
        return self._needed(self._folded)

    def fits(self, width: int) -> bool:
        """Return whether no line is wider, however much is folded and left out."""
        if self._is_whole_in(width):
            return True
        shortened = self._shortened()
        return self._needed(self._whole_prose) <= width if shortened is None else shortened.fits(width)

    def _is_whole_in(self, width: int) -> bool:
        """Whether nothing is folded, left out or shortened, which saves looking at each word of each cell."""
        return self._width(range(len(self.columns)), self._natural) <= width

    def _needed(self, widths: Sequence[int]) -> int:
        return self._width([index for index, column in enumerate(self.columns) if not column.drops], widths)

    def as_markdown(self) -> str:
        """Return a GitHub-flavoured Markdown table with every column."""
        headings = tuple(column.heading for column in self.columns)
        rule = "|" + "|".join(" --- " if column.words else " ---: " for column in self.columns) + "|"
        first, *rest = (_markdown_row(row) for row in (headings, *self.complete_rows()))
        return "\n".join((first, rule, *rest))

    def as_csv(self) -> str:
        """Return comma-separated lines with every column, the headings first."""
        buffer = io.StringIO()
        headings = tuple(column.heading for column in self.columns)
        csv.writer(buffer, lineterminator="\n").writerows(map(csv_cells, (headings, *self.complete_rows())))
        return buffer.getvalue()

    def complete_rows(self) -> tuple[tuple[str, ...], ...]:
        """Return every row with one cell for each column; a sentence stands in its first one."""
        return tuple(
            (*row.cells, row.sentence, *["-"] * (len(self.columns) - len(row.cells) - 1)) if row.sentence else row.cells
            for row in self.rows
        )

    def _lines(self, width: int) -> Iterator[tuple[str, str]]:
        shortened = None if self._is_whole_in(width) else self._shortened()
        if shortened is not None:
            yield from ((line.plain, str(line.style)) for line in shortened.as_lines(width))
            return
        shown, widths = self._fit(width)
        headings = Row(tuple(column.heading for column in self.columns), style="bold")
        for row in (headings, *self.rows):
            drawn = self._sentence_row(row, shown, widths, width) if row.sentence else self._row(row, shown, widths)
            yield from ((text.rstrip(), row.style) for text in drawn)

    @cached_property
    def _natural(self) -> tuple[int, ...]:
        widths = [cell_count(column.heading) for column in self.columns]
        for row in self.rows:
            for index, cell in enumerate(row.cells):
                widths[index] = max(widths[index], cell_count(plain(cell)))
        return tuple(widths)

    def _width(self, shown: Sequence[int], widths: Sequence[int]) -> int:
        return sum(widths[index] for index in shown) + len(_GAP) * (len(shown) - 1)

    def _fit(self, width: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Return the columns that are shown and every column's width: columns go where folding does not suffice."""
        shown = list(range(len(self.columns)))
        if self._is_whole_in(width):
            return tuple(shown), self._natural
        for index in sorted(shown, key=lambda index: -self.columns[index].drops):
            if self.columns[index].drops and self._width(shown, self._folded) > width:
                shown.remove(index)
        widths = self._natural
        for limits in (self._folded, self._whole_pieces, self._whole_prose):
            widths = self._narrowed(self._natural, limits, shown, width)
            if self._width(shown, widths) <= width:
                break
        return tuple(shown), widths

    def _narrowed(
        self, widths: Sequence[int], limits: Sequence[int], shown: Sequence[int], width: int
    ) -> tuple[int, ...]:
        """Return widths with which columns fit into ``width``, as far as the limit of each allows."""
        narrowed = list(widths)
        for _ in range(self._width(shown, narrowed) - width):  # the widest column gives way, whichever that is by then
            able = [index for index in shown if narrowed[index] > limits[index]]
            if not able:
                break
            narrowed[max(able, key=narrowed.__getitem__)] -= 1
        return tuple(narrowed)

    @cached_property
    def _folded(self) -> tuple[int, ...]:
        """The least width of each column: one that folds keeps its words whole, as far as they have a usual length."""
        return tuple(
            min(natural, max(column.least, self._longest_word(index))) if column.folds else natural
            for index, (column, natural) in enumerate(zip(self.columns, self._natural, strict=True))
        )

    @cached_property
    def _whole_pieces(self) -> tuple[int, ...]:
        """The least widths where columns fold that otherwise do not: words, intervals and quantities stay whole."""
        return tuple(
            folded if column.folds_at.strip() else min(folded, max(map(cell_count, self._pieces(index)), default=0))
            for index, (column, folded) in enumerate(zip(self.columns, self._folded, strict=True))
        )

    @cached_property
    def _whole_prose(self) -> tuple[int, ...]:
        """The least widths where names are broken, too, and only words of a language stay whole."""
        return tuple(
            least if column.folds_at.strip() else min(least, max(_NARROWEST_COLUMN, *self._unbroken(index)))
            for index, (column, least) in enumerate(zip(self.columns, self._whole_pieces, strict=True))
        )

    def _pieces(self, index: int) -> Iterator[str]:
        return (piece for cell in self._cells(index) for piece in pieces_of(plain(cell)))

    def _unbroken(self, index: int) -> Iterator[int]:
        """Yield the widths of words of a language, and of a column's figures."""
        _, *cells = self._cells(index)
        figures = [] if self.columns[index].words else cells
        yield from (cell_count(piece) for piece in self._pieces(index) if is_prose(piece))
        yield from (cell_count(piece) for cell in figures for piece in pieces_of(plain(cell)))
        yield 0

    def _longest_word(self, index: int) -> int:
        words = (word for cell in self._cells(index) for word in parts_of(plain(cell), self.columns[index].folds_at))
        return min(self.columns[index].longest, max(map(cell_count, words), default=0))

    def _cells(self, index: int) -> Iterator[str]:
        yield self.columns[index].heading
        yield from (row.cells[index] for row in self.rows if index < len(row.cells))

    def _row(self, row: Row, shown: Sequence[int], widths: Sequence[int]) -> Iterator[str]:
        folded = [self._fold(index, row.cells[index], widths[index]) for index in shown]
        for level in range(max(map(len, folded))):
            cells = (lines[level] if level < len(lines) else "" for lines in folded)
            yield self._padded(tuple(cells), shown, widths)

    def _fold(self, index: int, cell: str, width: int) -> list[str]:
        column = self.columns[index]
        if cell_count(plain(cell)) <= width:
            return [cell]
        return fold(cell, width, folds_at=column.folds_at, breaks_at=column.breaks_at)

    def _sentence_row(self, row: Row, shown: Sequence[int], widths: Sequence[int], width: int) -> Iterator[str]:
        """Yield the cells with the sentence in its column, or further left where there is no room for words."""
        before = [index for index in shown if index < len(row.cells)]
        while len(before) > 1 and width - self._width(before, widths) - len(_GAP) < _NARROWEST_SENTENCE:
            before.pop()
        indent = self._width(before, widths) + len(_GAP)
        sentence = wrap(row.sentence, max(_NARROWEST_SENTENCE, width - indent))
        for cells, line in zip_longest(self._row(row, before, widths), sentence, fillvalue=""):
            yield f"{cells or ' ' * (indent - len(_GAP))}{_GAP}{line}"

    def _padded(self, cells: Sequence[str], shown: Sequence[int], widths: Sequence[int]) -> str:
        columns = zip(cells, shown, strict=True)
        return _GAP.join(_pad(plain(cell), widths[index], left=self.columns[index].words) for cell, index in columns)


@dataclass(frozen=True)
class ListingTable:
    """A table with a line below it that names the columns for which there was no room, or says that lines are cut.

    Attributes:
        elsewhere: What has these columns: ``see --format csv``; may be empty.
        repeated: Columns without room follow in tables of their own behind so many of the first ones, which say what
            a row is of; with 0 they are hidden.
    """

    table: TextTable
    elsewhere: str = ""
    repeated: int = 0

    def blocks(self) -> Iterator[TextTable]:
        """Yield the table, with every column."""
        yield self.table

    def as_markdown(self) -> str:
        """Return a GitHub-flavoured Markdown table with every column."""
        return self.table.as_markdown()

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Yield the lines; called by rich."""
        width = options.max_width
        first, *others = self.table.parts(width, self.repeated) if self.repeated else (self.table,)
        yield first
        for other in others:
            yield Text()
            yield other
        left_out = first.left_out(width)
        more = f"; {self.elsewhere}" if self.elsewhere else ""
        if left_out:
            yield Text(f"hidden, the terminal is too narrow: {', '.join(left_out)}{more}", style="dim")
        if not all(part.fits(width) for part in (first, *others)):
            yield Text(f"lines are wider than the terminal, which has {width} columns{more}", style="dim")

    def __rich_measure__(self, console: Console, options: ConsoleOptions) -> Measurement:
        """Return the width of the table; called by rich."""
        return Measurement.get(console, options, self.table)


def _pad(text: str, width: int, *, left: bool) -> str:
    filler = " " * (width - cell_count(text))
    return text + filler if left else filler + text


def _markdown_row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(map(markdown_cell, cells))} |"
