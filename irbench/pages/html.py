"""Pages as HTML that asks for nothing outside of it, and the parts that are made of results."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from irbench.charts.drawing import can_draw, page_svg
from irbench.core.plain_text import plain
from irbench.errors import IrbenchError
from irbench.pages.result import PageResult
from irbench.pages.values import (
    Heading,
    Page,
    PageCell,
    PageCode,
    PageEntry,
    PageFigure,
    PageFigures,
    PageGrid,
    PagePart,
    PageRow,
    PageSection,
)
from irbench.render.table import Row, TextTable
from irbench.render.views import Block, CodeBlock, Sentence
from irbench.system.installation import require_libraries

if TYPE_CHECKING:
    from irbench.charts.figure import Figure

WITHOUT_CHARTS = "Charts are left out: they need altair and vl-convert-python, the extra report of irbench."
WITHOUT_SAMPLES = "Charts of raw samples are left out: {}"
_WIDE, _NARROW = 440, 200
"""Of the drawing area of charts in pixels; labels come beside it."""
_STATES = {"red": "slower", "green": "faster", "yellow": "undecided"}
"""How a row of a page is coloured, by its style on a terminal."""


def page_of(entries: Iterable[PageEntry], *, lacks_charts: bool, title: str = "") -> Page:
    """Return a page of results, titled by their names if by nothing else; if it ``lacks_charts``, it says why."""
    shown = tuple(entries)
    names = dict.fromkeys(entry.name for entry in shown)
    return Page(title or ", ".join(names), shown, WITHOUT_CHARTS if lacks_charts else "")


def entry_of(result: PageResult, key: str) -> PageEntry:
    """Return a result as a page shows it; ``key`` is unique in the page."""
    figures, missing = _drawn(result, key)
    section = PageSection(
        key=f"{key}-answer",
        question=plain(result.question),
        verdict=plain(result.verdict),
        parts=(*figures, *(_part(part, f"{key}-{number}") for number, part in enumerate(result.parts))),
        warnings=tuple(plain(warning.removeprefix("warning: ")) for warning in (*result.warnings, *missing)),
    )
    commands = (("Show it again", plain(result.command)),) if result.command else ()
    return PageEntry(key, plain(result.name), (section,), commands=commands)


def _drawn(result: PageResult, key: str) -> tuple[tuple[PageFigures, ...], tuple[str, ...]]:
    """Return the charts of a result, and why there are none."""
    try:
        figures = tuple(drawn_figures(result.figures(), key, rows=f"{key}-") if can_draw() else ())
    except IrbenchError as error:
        return (), (WITHOUT_SAMPLES.format(error.message),)
    return (PageFigures(figures),) if figures else (), ()


def drawn_figures(figures: Iterable[Figure], key: str, rows: str = "") -> Iterator[PageFigure]:
    """Yield charts as a page has them, drawn for wide and for narrow screens.

    Args:
        figures: In their order.
        key: Unique in the page.
        rows: What the keys of rows begin with in the page.
    """
    from markupsafe import Markup

    from irbench.charts.figure import configured

    for figure in figures:
        own = f"{key}-{figure.name}"
        wide, narrow = (page_svg(configured(figure.chart, width), f"{own}-{width}", rows) for width in (_WIDE, _NARROW))
        yield PageFigure(
            key=own,
            title=plain(figure.title),
            caption=plain(figure.caption),
            summary=plain(figure.summary),
            wide=Markup(wide),  # noqa: S704 - drawn by irbench
            narrow=Markup(narrow),  # noqa: S704
        )


def headings_of(table: TextTable) -> tuple[Heading, ...]:
    """Return the head of a table."""
    return tuple(Heading(plain(column.heading), column.words) for column in table.columns)


def page_row(row: Row, columns: int, key: str = "", state: str = "") -> PageRow:
    """Return a row of a table of so many columns; ``key`` is that of its marks, ``state`` what colours it."""
    return PageRow(
        cells=tuple(PageCell(plain(cell)) for cell in row.cells),
        state=state,
        key=key,
        sentence=plain(row.sentence),
        span=columns - len(row.cells),
    )


def grid_of(table: TextTable, key: str) -> PageGrid:
    """Return a table as a page shows it, its rows coloured as in a terminal; ``key`` is unique in the page."""
    rows = (page_row(row, len(table.columns), state=_STATES.get(row.style, "")) for row in table.rows)
    return PageGrid(key, headings_of(table), tuple(rows))


def _part(part: Block, key: str) -> PagePart:
    if isinstance(part, Sentence):
        return plain(part.text)
    if isinstance(part, CodeBlock):
        return PageCode(part.code)
    return grid_of(part, key)


def require_templates() -> None:
    """Refuse where the library that makes pages is missing.

    Raises:
        IrbenchError: It is not installed.
    """
    require_libraries(("jinja2",), "jinja2 is not installed, which pages are made with.", "report")


def html_of(page: Page, links: Sequence[tuple[str, str]] = ()) -> str:
    """Return a page as HTML that asks for nothing outside of it.

    Args:
        page: What it shows.
        links: Of its head: what each is called, and the address that it leads to.

    Raises:
        IrbenchError: The library that makes pages is not installed.
    """
    require_templates()
    from irbench.pages.templating import html_from

    return html_from("page.html.j2", page=page, links=links)
