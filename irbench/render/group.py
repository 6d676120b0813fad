"""A table with its title, headline, footer and warnings."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from rich.console import Console, ConsoleOptions, RenderResult
from rich.measure import Measurement
from rich.text import Text

from irbench.core.result import GroupResult
from irbench.notices import Warn
from irbench.notices.warnings import Disturbed
from irbench.render.context import context_of
from irbench.render.footer import footer, is_long, mismatches, not_applicable
from irbench.render.headline import headline
from irbench.render.line_wrapping import wrap
from irbench.render.rows import group_table
from irbench.render.table_title import title
from irbench.render.warnings import is_shortened, short_warnings, whole_warnings

_NARROWEST = 100
_INDENT = " "
"""What a headline of a busy machine says already."""


class GroupView:
    """Everything a person sees of a group, in as much width as there is.

    Args:
        result: The group.
        environment: The machine, from the run's document; says how many cores there were.
        plan: What was asked for, from the run's document; says which processors were named and the confidence.
        intervals: Whether latencies and FPS are shown with their intervals over launches.
        warnings: Whether warnings are shown whole, with their remedies, and reasons of rows without figures as well;
            otherwise a warning is a short sentence, and a long reason is cut.
    """

    def __init__(
        self,
        result: GroupResult,
        environment: Mapping[str, Any] | None = None,
        plan: Mapping[str, Any] | None = None,
        *,
        intervals: bool = False,
        warnings: bool = False,
    ) -> None:
        self._result = result
        self._environment = environment or {}
        self._plan = plan or {}
        self._context = context_of(result, self._environment, self._plan)
        self._whole_warnings = warnings
        self._table = group_table(result, self._confidence, intervals=intervals, whole_reasons=warnings)

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
        yield from _paragraph(headline(self._result, self._context), width, "")
        for line in self._table.as_lines(width - len(_INDENT)):
            line.pad_left(len(_INDENT))
            yield line
        left_out = self._table.left_out(width - len(_INDENT))
        if left_out:
            yield from _paragraph(f"hidden, the terminal is too narrow: {', '.join(left_out)}", width, "dim")
        for note in footer(self._result, self._context, left_out):
            yield from _paragraph(note, width, "dim")
        for mismatch in (*mismatches(self._result, self._context), *not_applicable(self._result, self._context)):
            yield from _paragraph(mismatch, width, "yellow", hanging="  ")
        yield from self._warnings(width)

    def shortens(self, width: int) -> bool:
        """Whether some warning has more to say than is shown at this width."""
        if self._whole_warnings:
            return False
        shown = self._shown_warnings
        return len(shown) < len(self._result.warnings) or is_shortened(shown, self._context, width)

    @property
    def shortens_reasons(self) -> bool:
        """Whether the reason of some row without figures has more to say than is shown."""
        return not self._whole_warnings and any(map(is_long, self._result.cells))

    def _warnings(self, width: int) -> Iterator[Text]:
        shown = (
            whole_warnings(self._result.warnings, self._context)
            if self._whole_warnings
            else short_warnings(self._shown_warnings, self._context, width)
        )
        for warning in shown:
            yield from _paragraph(warning, width, "yellow", hanging="  ")

    @property
    def _shown_warnings(self) -> tuple[Warn, ...]:
        """The warnings that say more than the line above the table."""
        warnings = self._result.warnings
        if self._result.lead is None or not self._result.is_busy:
            return warnings
        return tuple(warning for warning in warnings if not isinstance(warning, Disturbed))

    @property
    def _confidence(self) -> float:
        timing = self._plan.get("timing")
        return float(timing.get("confidence", 0.95)) if isinstance(timing, Mapping) else 0.95


def _paragraph(text: str, width: int, style: str, hanging: str = "") -> Iterator[Text]:
    for number, line in enumerate(wrap(text, width - len(hanging)) if text else ()):
        yield Text(hanging * (number > 0) + line, style=style)
