"""How results display themselves: on a terminal through rich, in a notebook as HTML, elsewhere as text."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

__all__ = ["Displayable"]

_HTML = '<pre style="white-space:pre;overflow-x:auto;font-family:monospace">{code}</pre>'
_WIDEST = 1000
"""More than any table needs: a notebook scrolls."""


class _HasView(Protocol):
    def __rich__(self) -> RenderableType: ...


class Displayable:
    """What is shown as ``__rich__`` says, in full width."""

    def __str__(self: _HasView) -> str:
        """Return the view as plain text, without colours."""
        console = _console(self)
        with console.capture() as capture:
            console.print(self.__rich__(), highlight=False)
        return "\n".join(line.rstrip() for line in capture.get().splitlines())

    def _repr_html_(self: _HasView) -> str:
        """Return the view as HTML; called by Jupyter."""
        console = _console(self)
        console.print(self.__rich__(), highlight=False)
        return console.export_html(inline_styles=True, code_format=_HTML)


def _console(result: _HasView) -> Console:
    from rich.console import Console
    from rich.measure import Measurement

    console = Console(file=io.StringIO(), record=True, force_terminal=False, force_jupyter=False, width=_WIDEST)
    console.width = Measurement.get(console, console.options, result.__rich__()).maximum
    return console
