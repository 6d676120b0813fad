"""A whole run, for the terminal."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import Console, ConsoleOptions, RenderResult
from rich.measure import Measurement
from rich.text import Text

from irbench.render.cold_start import cold_view
from irbench.render.counters import counter_views
from irbench.render.footer import incomplete
from irbench.render.group import GroupView
from irbench.render.leaders import best_text
from irbench.render.line_wrapping import wrap, wrap_message
from irbench.render.memory import memory_view
from irbench.render.plain_view import PlainView
from irbench.render.soak import soak_view
from irbench.result import RunDocument
from irbench.store.leaders import best_of_run


class DocumentView:
    """Every table of a run, and below them what is to be said of the run.

    Args:
        document: The run.
        intervals: Whether latencies and FPS are shown with their intervals over launches.
        warnings: Whether warnings are shown whole, with their remedies; otherwise each has one line.
        memory: Whether the memory of rows is shown in place of their speed.
        call: What shows the warnings whole; by default the command.
    """

    def __init__(
        self,
        document: RunDocument,
        *,
        intervals: bool = False,
        warnings: bool = False,
        memory: bool = False,
        call: str = "",
    ) -> None:
        self._document = document
        self._call = call or f"irbench show {document.run_id} --warnings"
        facts = (document.environment, document.plan)
        self._groups: list[GroupView | PlainView] = [
            memory_view(group, *facts) if memory else GroupView(group, *facts, intervals=intervals, warnings=warnings)
            for group in document.groups
        ]
        self._groups += [
            *(cold_view(table, *facts) for table in document.cold_starts),
            *(soak_view(table, *facts) for table in document.soaks),
            *(view for table in document.counters for view in counter_views(table, *facts)),
        ]

    def __rich_measure__(self, console: Console, options: ConsoleOptions) -> Measurement:
        """Return the width that shows every column; called by rich."""
        widths = [Measurement.get(console, options, group).maximum for group in self._groups]
        width = max(widths, default=options.max_width)
        return Measurement(width, width)

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Yield the lines; called by rich."""
        yield from self.as_lines(options.max_width)

    def as_lines(self, width: int) -> Iterator[Text]:
        """Yield the tables as lines of at most ``width`` cells, an empty line between two of them.

        What shows the warnings whole is to be typed: no line break is in it, however long it is.
        """
        for number, group in enumerate(self._groups):
            if number:
                yield Text()
            yield from group.as_lines(width)
        for sentence in self._below():
            yield from (Text(line) for line in wrap(sentence, width))
        if whole := self._whole(width):
            yield from (Text(line, no_wrap=True, overflow="ignore") for line in wrap_message(whole, width))

    def _below(self) -> Iterator[str]:
        if not self._groups:
            yield "The run holds no table."
        yield from map(best_text, best_of_run(self._document))
        if not self._document.complete:
            yield incomplete(self._document)

    def _whole(self, width: int) -> str:
        """Return what shows in full what the tables shorten; empty where they shorten nothing."""
        shortened = (
            ("warnings with their remedies", any(group.shortens(width) for group in self._groups)),
            ("reasons in full", any(group.shortens_reasons for group in self._groups)),
        )
        texts = [text for text, is_shortened in shortened if is_shortened]
        return f"{' and '.join(texts).capitalize()}: {self._call}" if texts else ""
