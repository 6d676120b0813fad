"""Pages as HTML that asks for nothing outside of it, and the parts that are made of results."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from irbench.charts.drawing import can_draw, page_svg
from irbench.core.plain_text import plain
from irbench.errors import IrbenchError, require_libraries
from irbench.pages.result import PageResult
from irbench.pages.values import Heading, Page, PageCode, PageFigure, PageGrid, PagePart, PageRow, PageSection
from irbench.render.table import Row, TextTable
from irbench.render.views import Block, CodeBlock, Sentence

if TYPE_CHECKING:
    from irbench.charts.figure import Figure

WITHOUT_CHARTS = (
    "Charts are left out: they need altair and vl-convert-python. Install them with: pip install 'irbench[report]'"
)
WITHOUT_SAMPLES = "Charts of raw samples are left out: {}"
_WIDE, _NARROW = 440, 200
"""Of the drawing area of charts in pixels; labels come beside it."""
_STATES = {"red": "slower", "green": "faster", "yellow": "undecided"}
"""How a row of a page is coloured, by its style on a terminal."""


def page_of_results(results: Iterable[PageResult]) -> Page:
    """Return a page of results that are not runs."""
    sections = tuple(section_of(result, f"result{number}") for number, result in enumerate(results))
    names = dict.fromkeys(section.name for section in sections)
    return Page(f"irbench: {', '.join(names)}", (), "" if can_draw() else WITHOUT_CHARTS, sections)


def section_of(result: PageResult, key: str) -> PageSection:
    """Return a result as a page shows it; ``key`` is unique in the page."""
    figures, missing = _drawn(result, key)
    return PageSection(
        key=key,
        name=plain(result.name),
        question=plain(result.question),
        verdict=plain(result.verdict),
        parts=tuple(_part(part, f"{key}-{number}") for number, part in enumerate(result.parts)),
        warnings=tuple(plain(warning.removeprefix("warning: ")) for warning in (*result.warnings, *missing)),
        command=plain(result.command),
        figures=figures,
    )


def _drawn(result: PageResult, key: str) -> tuple[tuple[PageFigure, ...], tuple[str, ...]]:
    """Return the charts of a result, and why there are none."""
    try:
        return tuple(drawn_figures(result.figures(), key, rows=f"{key}-") if can_draw() else ()), ()
    except IrbenchError as error:
        return (), (WITHOUT_SAMPLES.format(error.message),)


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
        texts = map(plain, (figure.title, figure.caption, figure.summary))
        yield PageFigure(own, *texts, Markup(wide), Markup(narrow))  # noqa: S704 - drawn by irbench


def headings_of(table: TextTable) -> tuple[Heading, ...]:
    """Return the head of a table."""
    return tuple(Heading(plain(column.heading), column.words) for column in table.columns)


def page_row(row: Row, columns: int, key: str = "", state: str = "") -> PageRow:
    """Return a row of a table of so many columns; ``key`` is that of its marks, ``state`` what colours it."""
    return PageRow(
        key=key,
        cells=tuple(map(plain, row.cells)),
        sentence=plain(row.sentence),
        span=columns - len(row.cells),
        state=state,
    )


def _part(part: Block, key: str) -> PagePart:
    if isinstance(part, Sentence):
        return plain(part.text)
    if isinstance(part, CodeBlock):
        return PageCode(part.code)
    rows = (page_row(row, len(part.columns), state=_STATES.get(row.style, "")) for row in part.rows)
    return PageGrid(key, headings_of(part), tuple(rows))


def require_templates() -> None:
    """Refuse where the library that makes pages is missing.

    Raises:
        IrbenchError: It is not installed.
    """
    require_libraries(("jinja2",), "jinja2 is not installed, which pages are made with.", "'irbench[report]'")


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
