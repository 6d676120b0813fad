"""What a page shows, as values."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Heading:
    """The head of a column.

    Attributes:
        text: Its name.
        is_words: Whether it holds words, which stand to the left.
    """

    text: str
    is_words: bool


@dataclass(frozen=True)
class PageRow:
    """A row of a table.

    Attributes:
        key: Unique in the page; marks of charts have the same.
        cells: Its texts.
        sentence: Takes the place of the columns that are left; empty where there are none.
        span: How many columns that are.
        state: What colours it: its verdict, or its state where its outputs are not valid; empty for neither.
    """

    key: str
    cells: tuple[str, ...]
    sentence: str
    span: int
    state: str


@dataclass(frozen=True)
class PageFigure:
    """A chart as the page has it.

    Attributes:
        key: Unique in the page.
        title: What it shows.
        caption: How it is read.
        summary: What it says, in words.
        wide: SVG for wide screens and paper.
        narrow: SVG for telephones.
    """

    key: str
    title: str
    caption: str
    summary: str
    wide: str
    narrow: str


@dataclass(frozen=True)
class PageTable:
    """A table with its verdict and charts.

    Attributes:
        key: Unique in the page.
        title: What was measured.
        verdict: Which row is fastest, and how sure that is.
        headings: Of its columns.
        rows: From the fastest to the slowest.
        notes: How it was measured, and what marks mean.
        warnings: What speaks against its figures, whole.
        figures: Its charts.
    """

    key: str
    title: str
    verdict: str
    headings: tuple[Heading, ...]
    rows: tuple[PageRow, ...]
    notes: tuple[str, ...]
    warnings: tuple[str, ...]
    figures: tuple[PageFigure, ...]


@dataclass(frozen=True)
class PageRun:
    """A run.

    Attributes:
        key: Unique in the page.
        name: What it is called.
        facts: What a reader must know of it: when, machine, versions.
        command: That repeats it.
        note: What the user wrote beside it.
        incomplete: That it did not end by itself; empty where it did.
        tables: Of speeds.
        texts: Tables of other kinds, as text: cold starts, soaks, counters.
    """

    key: str
    name: str
    facts: tuple[str, ...]
    command: str
    note: str
    incomplete: str
    tables: tuple[PageTable, ...]
    texts: tuple[str, ...]


@dataclass(frozen=True)
class Page:
    """A page.

    Attributes:
        title: Of the page.
        runs: In their order.
        notice: What is missing from it, and how to have it; empty where nothing is.
    """

    title: str
    runs: tuple[PageRun, ...]
    notice: str
