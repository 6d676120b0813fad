"""A group's table with its title, its winner sentence, its footer and its warnings."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from rich.console import Console, ConsoleOptions, RenderResult
from rich.measure import Measurement
from rich.text import Text

from irbench.render.rows import group_table
from irbench.render.sentences import footer, headline, remarks, title
from irbench.render.wording import wrap
from irbench.result import GroupResult

__all__ = ["GroupView"]

_NARROWEST = 100
_INDENT = " "


class GroupView:
    """Everything a person sees of a group, in as much width as there is.

    Args:
        result: The group.
        environment: The machine, from the run's document; says how many cores there were.
        plan: What was asked for, from the run's document; says which processors were named and the confidence.
        intervals: Whether latencies and FPS are shown with their intervals over launches.
    """

    def __init__(
        self,
        result: GroupResult,
        environment: Mapping[str, Any] | None = None,
        plan: Mapping[str, Any] | None = None,
        *,
        intervals: bool = False,
    ) -> None:
        self._result = result
        self._environment = environment or {}
        self._plan = plan or {}
        self._table = group_table(result, self._confidence, intervals=intervals)

    def __rich_measure__(self, console: Console, options: ConsoleOptions) -> Measurement:
        """Return the width that shows every column; called by rich."""
        table = Measurement.get(console, options, self._table).maximum + len(_INDENT)
        width = min(options.max_width, max(_NARROWEST, table))
        return Measurement(width, width)

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Yield the lines; called by rich."""
        yield from self.as_lines(options.max_width)

    def as_lines(self, width: int) -> Iterator[Text]:
        """Yield the view as lines of at most ``width`` cells, as far as the table's columns allow."""
        yield from _paragraph(title(self._result, self._environment, self._plan), width, "bold")
        yield from _paragraph(headline(self._result), width, "")
        for line in self._table.as_lines(width - len(_INDENT)):
            line.pad_left(len(_INDENT))
            yield line
        left_out = self._table.left_out(width - len(_INDENT))
        if left_out:
            yield from _paragraph(f"left out for want of width: {', '.join(left_out)}", width, "dim")
        for note in footer(self._result):
            yield from _paragraph(note, width, "dim")
        for remark in remarks(self._result):
            yield from _paragraph(remark, width, "yellow", hanging="  ")

    @property
    def _confidence(self) -> float:
        timing = self._plan.get("timing")
        return float(timing.get("confidence", 0.95)) if isinstance(timing, Mapping) else 0.95


def _paragraph(text: str, width: int, style: str, hanging: str = "") -> Iterator[Text]:
    for number, line in enumerate(wrap(text, width - len(hanging)) if text else ()):
        yield Text(hanging * (number > 0) + line, style=style)
