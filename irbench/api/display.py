"""How results display themselves: on a terminal through rich, in a notebook as HTML, elsewhere as text."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

_HTML = '<pre style="white-space:pre;overflow-x:auto;font-family:monospace">{code}</pre>'
_WIDEST = 1000
"""More than any table needs: a notebook scrolls."""


class _HasView(Protocol):
    def __rich__(self) -> RenderableType: ...


class Displayable:
    """What is shown as ``__rich__`` says, in full width."""

    def __str__(self: _HasView) -> str:
        """Return the view as plain text, without colours."""
        return as_text(self.__rich__())

    def _repr_html_(self: _HasView) -> str:
        """Return the view as HTML; called by Jupyter."""
        return _printed(self.__rich__()).export_html(inline_styles=True, code_format=_HTML)


def as_text(view: RenderableType) -> str:
    """Return a view as plain text in full width, without colours."""
    lines = _printed(view).export_text().splitlines()
    return "\n".join(line.rstrip() for line in lines)


def _printed(view: RenderableType) -> Console:
    from rich.console import Console
    from rich.measure import Measurement

    from irbench.render.sanitized import Sanitized

    console = Console(file=io.StringIO(), record=True, force_terminal=False, force_jupyter=False, width=_WIDEST)
    console.width = Measurement.get(console, console.options, view).maximum
    console.print(Sanitized(view), highlight=False, crop=False)
    return console
