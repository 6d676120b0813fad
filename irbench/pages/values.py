"""What a page shows, as values: every text is what it says, and HTML is only what draws it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias


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
class PageGrid:
    """A table without a verdict of its own.

    Attributes:
        key: Unique in the page.
        headings: Of its columns.
        rows: From top to bottom; their keys are empty where no chart shows them.
    """

    key: str
    headings: tuple[Heading, ...]
    rows: tuple[PageRow, ...]


@dataclass(frozen=True)
class PageCode:
    """Code to copy."""

    code: str


PagePart: TypeAlias = str | PageGrid | PageCode


@dataclass(frozen=True)
class PageSection:
    """A result that is not a run: a profile, a search, a history, a comparison.

    Attributes:
        key: Unique in the page.
        name: What it is called.
        question: What was asked.
        verdict: The answer.
        parts: Sentences, tables and code, in their order.
        warnings: What speaks against its figures.
        command: That shows it again; empty for none.
        figures: Its charts.
    """

    key: str
    name: str
    question: str
    verdict: str
    parts: tuple[PagePart, ...]
    warnings: tuple[str, ...]
    command: str
    figures: tuple[PageFigure, ...]


@dataclass(frozen=True)
class Page:
    """A page.

    Attributes:
        title: Of the page.
        runs: In their order.
        notice: What is missing from it, and how to have it; empty where nothing is.
        sections: Results besides the runs, which stand before them.
    """

    title: str
    runs: tuple[PageRun, ...]
    notice: str
    sections: tuple[PageSection, ...] = ()
