"""A result as pages and files of charts have it: its sentences, tables and charts, whatever measured it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from irbench.render.views import Block, HasBlocks, Sentence

if TYPE_CHECKING:
    from irbench.charts.figure import Figure


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
    parts: tuple[Block, ...] = ()
    warnings: tuple[str, ...] = ()
    command: str = ""
    figures: Callable[[], Iterable[Figure]] = _no_figures


@runtime_checkable
class HasPage(Protocol):
    """A result of Python that a page can show."""

    def page_result(self) -> PageResult:
        """Return what a page shows of it."""
        ...


def result_of_view(
    name: str, view: HasBlocks, figures: Callable[[], Iterable[Figure]], command: str = ""
) -> PageResult:
    """Return what a view says, with charts: its first two sentences are what was asked, and the answer."""
    blocks = list(view.blocks())
    sentences = [block for block in blocks if isinstance(block, Sentence)]
    question, verdict = (*sentences, Sentence(""), Sentence(""))[:2]
    warnings = [sentence for sentence in sentences if sentence.role == "warning"]
    shown = (block for block in blocks if not any(block is said for said in (question, verdict, *warnings)))
    return PageResult(
        name=name,
        question=question.text,
        verdict=verdict.text,
        parts=tuple(shown),
        warnings=tuple(warning.whole or warning.text for warning in warnings),
        command=command,
        figures=figures,
    )
