"""What rich draws, without the characters by which a name in it could steer a terminal."""

from __future__ import annotations

from dataclasses import dataclass

from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.measure import Measurement
from rich.segment import Segment

from irbench.core.plain_text import plain_lines


@dataclass(frozen=True)
class Sanitized:
    """A view as it is, but for characters that do not print.

    Its colours stay: they are styles of rich, and no part of any text.
    """

    view: RenderableType

    def __rich_measure__(self, console: Console, options: ConsoleOptions) -> Measurement:
        """Return the width of the view; called by rich."""
        return Measurement.get(console, options, self.view)

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Yield the view; called by rich."""
        for segment in console.render(self.view, options):
            is_harmless = segment.control or segment.text.isprintable()
            yield segment if is_harmless else Segment(plain_lines(segment.text), segment.style)
