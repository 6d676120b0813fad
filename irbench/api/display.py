"""How results display themselves: on a terminal through rich, in a notebook as HTML, elsewhere as text."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Protocol, TypeVar

from irbench.options.option import CommandOptions
from irbench.options.python_words import with_keywords
from irbench.options.run import RUN
from irbench.render.text_formats import json_text

if TYPE_CHECKING:
    from rich.console import RenderableType

    from irbench.options.values import ReportForm
    from irbench.render.views import WrittenView

_Report = TypeVar("_Report")


class _HasView(Protocol):
    _command: ClassVar[CommandOptions[Any]]

    def __rich__(self) -> RenderableType: ...

    def _chart_html(self) -> str: ...


class Displayable:
    """What is shown as ``__rich__`` says, in full width; options have the names of Python's keywords."""

    _command: ClassVar[CommandOptions[Any]] = RUN
    """Whose options the view names."""

    def __str__(self: _HasView) -> str:
        """Return the view as plain text, without colours."""
        from irbench.render.line_wrapping import worded

        with worded(lambda text: with_keywords(text, self._command.options)):
            return as_text(self.__rich__())

    def _repr_html_(self: _HasView) -> str:
        """Return the view as HTML, with a chart below where a result has one; called by Jupyter."""
        from irbench.render.html import html_of

        view = html_of(self.__rich__(), lambda text: with_keywords(text, self._command.options))
        return f"{view}{self._chart_html()}"

    def _chart_html(self) -> str:
        """Return the chart that belongs below the view; none unless a class has charts."""
        return ""


class DisplayedReport(Displayable, Generic[_Report]):
    """What has a report, which is written as JSON, or shown as a view.

    Attributes:
        report: Everything that was found.
    """

    def __init__(self, report: _Report) -> None:
        self.report = report

    def to_text(self, form: ReportForm = "table") -> str:
        """Return the report as text."""
        if form == "json":
            return json_text(self.report)
        return self.__rich__().as_markdown() if form == "md" else str(self)

    def __rich__(self) -> WrittenView:
        """Return what is shown; called by rich."""
        raise NotImplementedError


def as_text(view: RenderableType) -> str:
    """Return a view as plain text in full width, without colours."""
    from rich.console import Console

    from irbench.render.full_width import in_full_width
    from irbench.render.sanitized import Sanitized

    console = Console(file=io.StringIO(), record=True, force_terminal=False, force_jupyter=False)
    in_full_width(console, view).print(Sanitized(view), highlight=False, crop=False)
    return "\n".join(line.rstrip() for line in console.export_text().splitlines())
