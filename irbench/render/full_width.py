"""Views that are laid out in full width, where no terminal sets a limit."""

from __future__ import annotations

from rich.console import Console, RenderableType
from rich.measure import Measurement

WIDEST = 1000
"""More than any table needs, in characters."""


def in_full_width(console: Console, view: RenderableType) -> Console:
    """Return a console, made as wide as a view needs."""
    console.width = Measurement.get(console, console.options.update(max_width=WIDEST), view).maximum
    return console
