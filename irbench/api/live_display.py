"""The progress display of a run: updated by the coordinator between rounds, never while a round is timed."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable
from types import TracebackType
from typing import Self

from rich.console import Console, Group
from rich.live import Live
from rich.text import Text

from irbench.core.plain_text import plain_lines, unmarked
from irbench.render.line_wrapping import wrap_message
from irbench.render.progress_texts import (
    activity_text,
    at_most_text,
    is_lasting,
    outlook_text,
    progress_line,
    remaining_text,
)
from irbench.render.sanitized import Sanitized
from irbench.runner.run_progress import Progress

_BAR_WIDTH = 24
_LONGEST_SILENCE_S = 30.0


class ProgressConsole(Console):
    """Standard error, for as long as somebody reads it."""

    def __init__(self) -> None:
        super().__init__(stderr=True)

    def on_broken_pipe(self) -> None:
        """Fall silent; called by rich, which would end the process."""
        self.quiet = True


class LiveDisplay:
    """Shows what runs, how long it may take, and how the intervals narrow.

    On a terminal the display is redrawn in place; elsewhere a line is written after each launch, and where one takes
    long, of what runs in it. ``words`` names options as whoever reads them does.
    """

    def __init__(self, console: Console, words: Callable[[str], str] = unmarked) -> None:
        self._console = console
        self._words = words
        self._spoke_s = 0.0
        # rich would redraw from a thread of its own, in the middle of a timed round
        self._live = Live(console=console, auto_refresh=False, transient=True) if console.is_terminal else None

    def show(self, progress: Progress) -> None:
        """Take in one moment of the run."""
        with contextlib.suppress(OSError):  # a closed terminal must not lose a launch
            if self._live is not None:
                self._live.start()
                self._live.update(Sanitized(_picture(progress, self._words)), refresh=True)
            is_told = progress.interim is not None or self._silent_s(progress) >= _LONGEST_SILENCE_S
            if is_lasting(progress.activity) or (is_told and self._live is None):
                self._console.print(Text(self._words(progress_line(progress))), highlight=False, soft_wrap=True)
                self._spoke_s = progress.elapsed_s

    def say(self, text: str) -> None:
        """Write a line, above the display where it is drawn already; a warning is wrapped on a terminal."""
        whole = plain_lines(self._words(text))
        if self._console.is_terminal and whole.startswith("warning: "):
            whole = "\n".join(wrap_message(whole, self._console.width))
        with contextlib.suppress(OSError):
            if self._live is not None and self._live.is_started:
                self._console.print(Text(whole), soft_wrap=True)
            else:
                sys.stderr.write(f"{whole}\n")
                sys.stderr.flush()

    def status(self, text: str) -> None:
        """Show what is done at the moment on a terminal, in place of what was; nothing ends that."""
        if self._live is None:
            return
        with contextlib.suppress(OSError):
            if text:
                self._live.start()
                self._live.update(Text(plain_lines(text), style="dim", no_wrap=True, overflow="ellipsis"), refresh=True)
            else:
                self._live.update(Text(""))
                self._live.stop()

    def _silent_s(self, progress: Progress) -> float:
        self._spoke_s = min(self._spoke_s, progress.elapsed_s)
        return progress.elapsed_s - self._spoke_s

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._live is not None:
            with contextlib.suppress(OSError):
                self._live.stop()


def _picture(progress: Progress, words: Callable[[str], str]) -> Group:
    texts = (words(activity_text(progress.activity)), outlook_text(progress.outlook))
    head = Text.assemble(
        (progress.table, "bold"),
        f"  {progress.counted} {progress.launch}{at_most_text(progress)}  ",
        _clock(progress),
    )
    return Group(head, *(Text(f"  {text}", style="dim") for text in texts))


def _clock(progress: Progress) -> Text:
    elapsed_s, budget_s = progress.elapsed_s, progress.budget_s
    remaining = remaining_text(progress)
    if budget_s is None:
        return Text(f"{elapsed_s:.0f} s, {remaining}".removesuffix(", "))
    whole_s = budget_s if progress.remaining_s is None else elapsed_s + progress.remaining_s
    filled = round(min(1.0, elapsed_s / whole_s) * _BAR_WIDTH) if whole_s else 0
    bar = Text("━" * filled, style="green") + Text("━" * (_BAR_WIDTH - filled), style="dim")
    return bar + Text(f"  {elapsed_s:.0f} of at most {budget_s:.0f} s, {remaining}".removesuffix(", "))
