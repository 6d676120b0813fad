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
class Bar:
    """An interval on an axis that a table shares, each value a fraction of its length.

    Attributes:
        one: Where the axis says "as fast".
    """

    low: float
    value: float
    high: float
    one: float


@dataclass(frozen=True)
class PageCell:
    """A cell of a table, or a link of a list.

    Attributes:
        text: What it says; of a command, what opens it.
        href: Where it leads; empty for nowhere.
        code: A command that is opened on demand; empty for none.
        bar: An interval that is drawn beside the text.
        is_best: Whether it is marked as the best of its row, or as one that cannot be distinguished from it.
    """

    text: str
    href: str = ""
    code: str = ""
    bar: Bar | None = None
    is_best: bool = False


@dataclass(frozen=True)
class PageRow:
    """A row of a table.

    Attributes:
        cells: From left to right.
        state: What colours it: its verdict, or its state where its outputs are not valid; empty for neither.
        key: Unique in the page; marks of charts have the same. Empty where no chart shows it.
        sentence: Takes the place of the columns that are left; empty where there are none.
        span: How many columns that are.
    """

    cells: tuple[PageCell, ...]
    state: str = ""
    key: str = ""
    sentence: str = ""
    span: int = 0


@dataclass(frozen=True)
class ColumnChoice:
    """Values of a column, of which a reader may choose one.

    Attributes:
        column: Its number.
        name: What it is called.
    """

    column: int
    name: str
    values: tuple[str, ...]


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
class PageFigures:
    """Charts, side by side where there is room."""

    figures: tuple[PageFigure, ...]


@dataclass(frozen=True)
class PageGrid:
    """A table.

    Attributes:
        key: Unique in the page.
        headings: Of its columns.
        rows: From top to bottom.
        title: Its own; empty where its section says what it shows.
        notes: What its columns and marks mean, how it was measured, and what was left out.
        choices: Columns of which a reader may choose a value.
        is_filtered: Whether its rows can be searched.
        stacks: Whether cells stand below each other on telephones, each beside its heading.
    """

    key: str
    headings: tuple[Heading, ...]
    rows: tuple[PageRow, ...]
    title: str = ""
    notes: tuple[str, ...] = ()
    choices: tuple[ColumnChoice, ...] = ()
    is_filtered: bool = False
    stacks: bool = False


@dataclass(frozen=True)
class PageCode:
    """Code to copy, or text whose lines stay as they are.

    Attributes:
        title: What opens it on demand, with a button that copies it; empty for text that is always shown.
    """

    code: str
    title: str = ""


PagePart: TypeAlias = str | PageGrid | PageCode | PageFigures


@dataclass(frozen=True)
class PageSection:
    """An answer, and what it is made of.

    Attributes:
        key: Unique in the page.
        question: What was asked, or measured; empty where the parts say so.
        verdict: The answer; empty for none.
        parts: Sentences, tables, charts and code, in their order; of an answer with a summary its details.
        warnings: What speaks against its figures, whole.
        precision: How precise the answer is, in sentences.
        summary: What a reader needs who decides by it: a chart, a recommendation, code. Empty where there is none.
    """

    key: str
    question: str
    verdict: str
    parts: tuple[PagePart, ...]
    warnings: tuple[str, ...] = ()
    precision: tuple[str, ...] = ()
    summary: tuple[PagePart, ...] = ()


@dataclass(frozen=True)
class PageEntry:
    """A run, or another result: a profile, a search, a history, a comparison.

    Attributes:
        key: Unique in the page.
        name: What it is called.
        sections: Its answers: one for each table of a run.
        facts: What a reader must know of it, by what that is called: when, machine, versions.
        commands: That repeat it or show it again, by what they do.
        note: What the user wrote beside it.
        incomplete: That it did not end by itself; empty where it did.
    """

    key: str
    name: str
    sections: tuple[PageSection, ...]
    facts: tuple[tuple[str, str], ...] = ()
    commands: tuple[tuple[str, str], ...] = ()
    note: str = ""
    incomplete: str = ""


@dataclass(frozen=True)
class Page:
    """A page.

    Attributes:
        title: Of the page: the answer of its first section where that is what the page is about, otherwise names.
        entries: In their order.
        notice: What is missing from it, and how to have it; empty where nothing is.
    """

    title: str
    entries: tuple[PageEntry, ...]
    notice: str
