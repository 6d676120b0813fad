"""Progress reporting: to a terminal or notebook, to the caller's function, or not at all."""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from irbench.core.plain_text import plain_lines, unmarked
from irbench.errors import IrbenchError
from irbench.options.option import CommandOptions
from irbench.options.python_words import with_keywords

if TYPE_CHECKING:
    from irbench.runner.run_progress import Listener, Progress

Say: TypeAlias = Callable[[str], None]
ProgressOption: TypeAlias = "Literal['auto'] | Listener | None"
"""``auto`` displays on a terminal and in a notebook; a function gets each :class:`Progress`; ``None`` shows nothing.

What a function raises ends a run as Ctrl-C does, and is raised again when all that was measured is stored.
"""

_LOG = logging.getLogger("irbench")


@dataclass(frozen=True)
class Reporter:
    """The functions that progress is reported to.

    Attributes:
        say: Receives lines of text: what is chosen, exported or optimised, and warnings.
        show: Receives each moment of a run, between rounds only.
        status: Receives what is done at the moment, each time in place of what was; nothing where it is over. Only
            terminals display it.
    """

    say: Say
    show: Listener
    status: Say = lambda _text: None


class GuardedListener:
    """Turns what a listener raises into an interrupt, after which a run stores what was measured."""

    def __init__(self, listen: Listener) -> None:
        self._listen = listen
        self.error: BaseException | None = None

    def __call__(self, progress: Progress) -> None:
        """Hand a moment on.

        Raises:
            KeyboardInterrupt: The listener raised something.
        """
        try:
            self._listen(progress)
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            self.error = error
            raise KeyboardInterrupt from error


@contextmanager
def reporting(progress: ProgressOption, command: CommandOptions[Any] | None) -> Iterator[Reporter]:
    """Yield the functions that progress is reported to, as ``progress`` asks for it.

    What is said in words, and not displayed, is logged by the logger ``irbench``.

    Args:
        progress: What the caller gave.
        command: Whose options are named as keywords; ``None`` on the command line.
    """

    def words(text: str) -> str:
        return unmarked(text) if command is None else with_keywords(text, command.options)

    def log(text: str) -> None:
        _LOG.info("%s", plain_lines(words(text)))

    if progress is not None and not callable(progress) and not (isinstance(progress, str) and progress == "auto"):
        raise IrbenchError(f"progress={progress!r} is not valid.", hint='Write "auto", None or a function.')
    if progress == "auto":
        if not (sys.stderr.isatty() or _in_notebook()):
            yield Reporter(log, _ignore)
            return
        with _in_output_of_cell(words) if _in_notebook() else displayed(words) as reporter:
            yield reporter
    else:
        yield Reporter(log, progress or _ignore)


@contextmanager
def displayed(words: Callable[[str], str] = unmarked) -> Iterator[Reporter]:
    """Yield a reporter that writes to stderr, redrawing in place where that is a terminal.

    ``words`` names options as whoever reads them does.
    """
    from irbench.api.live_display import LiveDisplay, ProgressConsole

    with LiveDisplay(ProgressConsole(), words) as display:
        yield Reporter(display.say, display.show, display.status)


@contextmanager
def _in_output_of_cell(words: Callable[[str], str]) -> Iterator[Reporter]:
    from irbench.api.notebook_display import NotebookDisplay

    with NotebookDisplay(words) as display:
        yield Reporter(display.say, display.show, display.status)


def _ignore(_progress: Progress) -> None: ...


def _in_notebook() -> bool:
    """Whether this is IPython with a kernel, which JupyterLab, Visual Studio Code and Colab show the output of."""
    ipython = sys.modules.get("IPython")
    return ipython is not None and getattr(ipython.get_ipython(), "kernel", None) is not None
