"""Views as HTML for notebooks: tables that sort, in the colours of whoever shows them.

A notebook that is not trusted, and a page that shows one, remove scripts and styles: everything can be read without
them. JupyterLab, Visual Studio Code and Colab run inline scripts of trusted outputs; a file or a widget would have to
be found by a browser that may be on another machine. The script looks for tables below a class, since an output may not
know its own element, and notebooks show several outputs on one page.
"""

from __future__ import annotations

import html
import io
from collections.abc import Callable, Iterable, Iterator
from importlib import resources
from itertools import groupby
from typing import Any

from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.protocol import rich_cast
from rich.table import Table
from rich.text import Text

from irbench.core.plain_text import plain, unmarked
from irbench.render.full_width import in_full_width
from irbench.render.table import Row, TableColumn, TextTable
from irbench.render.views import Block, CodeBlock, HasBlocks, Sentence

Words = Callable[[str], str]
"""Returns a sentence as its reader knows the options that it names."""

_STYLE = (
    ".irbench thead button{all:unset;cursor:pointer}"
    ".irbench thead button:focus-visible{outline:2px solid currentColor}"
    '.irbench [aria-sort="ascending"] button::after{content:" \\2191"}'
    '.irbench [aria-sort="descending"] button::after{content:" \\2193"}'
)
_MARKS = {"green": "#2a8a5a", "red": "#c43d55", "yellow": "#a07a00"}
"""The edge of a row, by the colour of its text on a terminal: each can be seen on white and on black."""
_WORDS = ' class="words"'
"""Of columns that do not sort as numbers."""
_CELL = "padding:.2em .6em;text-align:"


def html_of(view: RenderableType, words: Words = unmarked) -> str:
    """Return a view as HTML; names in it are escaped.

    Args:
        view: What ``__rich__`` of a result returns.
        words: How sentences name options.
    """
    blocks = list(_blocks(view, _console(view)))
    parts = [part for kind, some in groupby(blocks, _kind) for part in _drawn(kind, some, words) if part]
    has_table = any(isinstance(block, TextTable) and block.rows for block in blocks)
    if has_table:
        parts += [f"<style>{_STYLE}</style>", f"<script>{sorting_script()}</script>"]
    return f'<div class="irbench">{"".join(parts)}</div>'


def sorting_script() -> str:
    """Return the script that makes tables below an element of the class ``irbench`` sortable."""
    return resources.files("irbench.render").joinpath("sorting.js").read_text(encoding="utf-8")


def _console(view: RenderableType) -> Console:
    return in_full_width(Console(file=io.StringIO(), force_terminal=False, force_jupyter=False), view)


def _blocks(view: Any, console: Console) -> Iterator[Block | Text]:
    """Yield what a view is made of; lines that it lays out itself stay as they are."""
    view = rich_cast(view)
    if isinstance(view, Sentence | TextTable | CodeBlock | Text):
        yield view
    elif isinstance(view, HasBlocks):
        yield from view.blocks()
    elif isinstance(view, str):
        yield Sentence(view)
    elif isinstance(view, Table):
        yield _text_table(view)
    elif isinstance(view, Padding):
        yield from _blocks(view.renderable, console)
    elif isinstance(view, Group):
        for part in view.renderables:
            yield from _blocks(part, console)
    else:
        for part in view.__rich_console__(console, console.options):
            yield from _blocks(part, console)


def _text_table(table: Table) -> TextTable:
    columns = tuple(TableColumn(str(column.header), words=True) for column in table.columns)
    rows = zip(*(map(str, column.cells) for column in table.columns), strict=True)
    return TextTable(columns, tuple(map(Row, rows)))


def _kind(block: Block | Text) -> str:
    if isinstance(block, Text):
        return "title" if block.style == "bold" else "lines"
    return block.role if isinstance(block, Sentence) else "other"


def _drawn(kind: str, blocks: Iterable[Block | Text], words: Words) -> Iterator[str]:
    if kind == "lines":
        lines = "\n".join(_escaped(line, words) for block in blocks for line in str(block).split("\n")).strip("\n")
        yield f'<pre style="white-space:pre-wrap;margin:.5em 0">{lines}</pre>' if lines else ""
    elif kind in ("note", "warning"):
        items = "".join(f"<li>{_item(block, words)}</li>" for block in blocks if isinstance(block, Sentence))
        style = "margin:.25em 0;font-size:.9em;opacity:.8" if kind == "note" else "margin:.25em 0"
        yield f'<ul style="{style}">{items}</ul>'
    else:
        yield from (_block(block, kind, words) for block in blocks)


def _item(sentence: Sentence, words: Words) -> str:
    shown = _escaped(sentence.text, words)
    if not sentence.whole:
        return shown
    return f"<details><summary>{shown}</summary>{_escaped(sentence.whole, words)}</details>"


def _block(block: Block | Text, kind: str, words: Words) -> str:
    if isinstance(block, TextTable):
        return _table(block, words) if block.rows else ""
    if isinstance(block, CodeBlock):
        lines = "\n".join(html.escape(plain(line)) for line in block.code.splitlines())
        return f'<pre style="overflow-x:auto"><code>{lines}</code></pre>'
    text = (str(block) if isinstance(block, Text) else block.text).strip()
    if not text:
        return ""
    shown = _escaped(text, words)
    if kind == "verdict":
        return f'<p style="margin:.5em 0;font-size:1.15em"><strong>{shown}</strong></p>'
    return f'<p style="margin:.5em 0">{f"<strong>{shown}</strong>" if kind == "title" else shown}</p>'


def _table(table: TextTable, words: Words) -> str:
    heads = "".join(map(_head, table.columns))
    rows = "".join(_row(row, table.columns, words) for row in table.rows)
    return (
        '<div style="overflow-x:auto;margin:.5em 0">'
        '<table style="font-variant-numeric:tabular-nums">'
        f"<thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table></div>"
    )


def _head(column: TableColumn) -> str:
    kind = _WORDS if column.words else ""
    return f'<th scope="col"{kind} style="{_CELL}{_side(column)}">{html.escape(plain(column.heading))}</th>'


def _row(row: Row, columns: tuple[TableColumn, ...], words: Words) -> str:
    mark = _MARKS.get(row.style.rpartition(" ")[2])
    edge = f' style="box-shadow:inset 3px 0 {mark}"' if mark else ""
    cells = "".join(
        f'<td style="{_CELL}{_side(column)};white-space:nowrap"><bdi>{_lines(cell)}</bdi></td>'
        for column, cell in zip(columns, row.cells, strict=False)
    )
    span = len(columns) - len(row.cells)
    if row.sentence and span:
        cells += f'<td colspan="{span}" style="{_CELL}left"><bdi>{_escaped(row.sentence, words)}</bdi></td>'
    return f"<tr{edge}>{cells}</tr>"


def _lines(cell: str) -> str:
    return "<br>".join(html.escape(plain(line)) for line in cell.split("\n"))


def _side(column: TableColumn) -> str:
    return "left" if column.words else "right"


def _escaped(text: str, words: Words) -> str:
    return html.escape(plain(words(text)))
