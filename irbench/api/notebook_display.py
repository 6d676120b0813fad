"""The progress of a run in a notebook: one line that changes, and is gone when the call ends."""

from __future__ import annotations

import html
import sys
from collections.abc import Callable
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from irbench.core.plain_text import plain_lines, unmarked

if TYPE_CHECKING:
    from irbench.runner.run_progress import Progress

_PAUSE_S = 0.5
"""Between two changes: the browser that draws them is another program that runs beside the measurement."""


class NotebookDisplay:
    """Shows what runs in the output of a cell, as far as one line has room for it.

    ``words`` names options as whoever reads them does.
    """

    def __init__(self, words: Callable[[str], str] = unmarked) -> None:
        self._words = words
        self._handle: Any = None
        self._shown_s = 0.0

    def show(self, progress: Progress) -> None:
        """Take in one moment of the run."""
        from irbench.render.progress_texts import is_lasting, progress_line

        if is_lasting(progress.activity):
            self.say(progress_line(progress))
        elapsed_s = progress.elapsed_s
        if self._handle is None or not self._shown_s <= elapsed_s < self._shown_s + _PAUSE_S:
            self._shown_s = elapsed_s
            self.status(progress_line(progress))

    def say(self, text: str) -> None:
        """Write a line, which stays."""
        sys.stderr.write(f"{plain_lines(self._words(text))}\n")
        sys.stderr.flush()

    def status(self, text: str) -> None:
        """Show what is done at the moment in place of what was; nothing ends that."""
        from IPython.display import display

        lines = plain_lines(self._words(text))
        data = {
            "text/plain": lines,
            "text/html": f"<div style='opacity:.8;white-space:pre-wrap'>{html.escape(lines)}</div>" if lines else "",
        }
        if self._handle is not None:
            self._handle.update(data, raw=True)
        elif lines:
            self._handle = display(data, raw=True, display_id=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.status("")
