"""Whether a table fits a terminal with its words whole."""

from __future__ import annotations

from rich.cells import cell_len

from irbench.core.plain_text import plain
from irbench.render.line_wrapping import is_prose
from irbench.render.table import TextTable


def require_whole_words(table: TextTable, width: int) -> None:
    """Require of a table that no line is wider than a terminal, and that no word of a language is cut.

    Names of files, nodes and settings may be broken where they are too long.
    """
    lines = [line.plain for line in table.as_lines(width)]
    wide = [line for line in lines if cell_len(line) > width]
    assert not wide, f"wider than {width}:\n" + "\n".join(wide)
    cells = (cell for row in table.rows for cell in (*row.cells, row.sentence))
    words = {word for cell in (*(column.heading for column in table.columns), *cells) for word in plain(cell).split()}
    whole = {part for word in words for part in (word, *word.split("-"))}
    cut = [word for word in " ".join(lines).split() if is_prose(word) and not _is_whole(word, whole)]
    assert not cut, f"cut at {width}: {cut}\n" + "\n".join(lines)


def _is_whole(word: str, whole: set[str]) -> bool:
    """Whether a word stands in the table, or is a part of a name that is no word of a language."""
    return word in whole or any(word in longer for longer in whole if not is_prose(longer))
