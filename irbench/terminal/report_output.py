"""Results that are printed, or written as text, as a page, or as a file for each chart."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Protocol, cast

from irbench.options.values import PAGE_FORMS, PageForm, ReportForm

if TYPE_CHECKING:
    from rich.console import RenderableType

    from irbench.pages.result import PageResult


class ReportedInWords(Protocol):
    """What is shown, and written as text."""

    def __rich__(self) -> RenderableType: ...

    def to_text(self, form: ReportForm = "table") -> str:
        """Return it as text."""
        ...


class Reported(ReportedInWords, Protocol):
    """What every form of ``--format`` can be made of."""

    def page_result(self) -> PageResult:
        """Return what a page shows of it."""
        ...


def require_writable_form(form: str, output: Path | None) -> None:
    """Refuse a page or charts that could not be written, before anything is measured."""
    if form in PAGE_FORMS:
        from irbench.pages.output import require_page_form

        require_page_form(form, output)


def write_report(result: Reported, form: ReportForm | PageForm, output: Path | None, *, crop: bool = True) -> None:
    """Write a result in a form, to ``output`` or stdout; ``crop`` is whether lines end where the terminal does."""
    if form in PAGE_FORMS:
        write_page_form(result.page_result(), form, output)
    else:
        write_report_text(result, cast("ReportForm", form), output, crop=crop)


def write_report_text(result: ReportedInWords, form: ReportForm, output: Path | None, *, crop: bool = True) -> None:
    """Write a result as text; takes what :func:`write_report` does."""
    from irbench.terminal.console import print_data, to_text

    if form == "table":
        print_data(to_text(result.__rich__(), to_file=output is not None, crop=crop), output)
    else:
        print_data(result.to_text(form), output)


def write_page_form(result: PageResult, form: PageForm, output: Path | None) -> None:
    """Write a result as a page, to a file or stdout, or its charts to a folder."""
    from irbench.pages.output import page_text, write_charts
    from irbench.terminal.console import print_data
    from irbench.terminal.stderr import say

    if form == "html":
        print_data(page_text(result), output)
    else:
        assert output is not None  # refused before
        write_charts(result, form, output)
    if output is not None:
        say(f"written: {output}")
