"""A result as pages and files of charts have it: its sentences, tables and charts, whatever measured it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from irbench.render.table import ListingTable, TextTable
from irbench.render.views import CodeBlock, PlainView

if TYPE_CHECKING:
    from irbench.charts.figure import Figure

Part: TypeAlias = str | TextTable | ListingTable | CodeBlock


def _no_figures() -> Iterator[Figure]:
    yield from ()


@dataclass(frozen=True)
class PageResult:
    """A result of any command.

    Attributes:
        name: What it is called, in a list of results.
        question: What was measured, or what was asked.
        verdict: The answer, in a sentence.
        parts: Sentences, tables and code, in their order.
        warnings: What speaks against its figures.
        command: That shows or repeats it; empty for none.
        figures: Makes its charts; called only where the libraries that draw are installed.
    """

    name: str
    question: str
    verdict: str
    parts: tuple[Part, ...] = ()
    warnings: tuple[str, ...] = ()
    command: str = ""
    figures: Callable[[], Iterable[Figure]] = _no_figures


def result_of_view(
    name: str, view: PlainView, figures: Callable[[], Iterable[Figure]], command: str = ""
) -> PageResult:
    """Return what a view says, with charts."""
    table = (view.table,) if view.table.rows else ()
    return PageResult(name, view.title, view.headline, (*table, *view.notes), view.warnings, command, figures)
