"""The exception that users see, and the exit codes."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from enum import IntEnum

from irbench.core.plain_text import plain

DEBUG = "IRBENCH_DEBUG"
"""Set it to see the traceback of every error, on the command line and in notebooks."""

_LONGEST = 1000
_RED, _END = "\x1b[31m", "\x1b[0m"


class ExitCode(IntEnum):
    """What the process tells its caller."""

    OK = 0
    DIFFERENT = 1
    """A regression was found, or outputs do not match."""
    USAGE = 2
    """A wrong call, an impossible plan, or a result or output that cannot be written."""
    FAILED_CELL = 3
    """At least one cell failed, or a run could not be exported or imported; the others are recorded, or were."""
    UNDECIDED = 4
    """Not decided within the budget, where the caller asked to be told."""
    NOT_INSTALLED = 5
    """A backend or model that was asked for is not installed."""
    NOT_JUDGED = 6
    """A condition that was to fail the call could not be judged: too little, or not the right thing, was measured."""
    INTERRUPTED = 130
    """Stopped by the user; what was measured is saved."""
    UNREAD = 141
    """The reader of a command that only prints went away: 128 + SIGPIPE, as of other programs that this signal ends."""


class WithoutFrames(BaseException):
    """An exception whose cause lies with its caller: IPython shows what it says, and no lines of irbench's source."""

    def _render_traceback_(self, *_: object) -> list[str]:
        """Return the lines that IPython shows; called by it."""
        if os.environ.get(DEBUG):
            import traceback

            return [line.rstrip("\n") for line in traceback.format_exception(self)]
        notes: list[str] = getattr(self, "__notes__", [])
        return [f"{_RED}{type(self).__name__}: {plain(str(self))}{_END}", *map(plain, notes)]


class UnknownKeyword(WithoutFrames, TypeError):
    """A keyword that a function of Python does not have, or one that it needs and was not given."""


class IrbenchError(WithoutFrames, Exception):
    """A problem whose cause the user can fix.

    Attributes:
        message: One sentence saying what is wrong.
        hint: One sentence saying how to fix it; empty where nothing can be done. Tracebacks show it below the message.
        details: Lines between the two, where several things are wrong at once.
        exit_code: What the process exits with when nothing handles the error.
    """

    def __init__(
        self,
        message: str,
        *,
        hint: str = "",
        exit_code: ExitCode = ExitCode.USAGE,
        details: Iterable[str] = (),
    ) -> None:
        self.message = one_line(message)
        super().__init__(self.message)
        self.hint = one_line(hint)
        self.exit_code = exit_code
        self.details = tuple(map(one_line, details))
        self._add_notes()

    def reword(self, words: Callable[[str], str]) -> None:
        """Have message, hint and details say what ``words`` makes of them; notes of others stay."""
        own = len(self.details) + bool(self.hint)
        self.message, self.hint = words(self.message), words(self.hint)
        self.details = tuple(map(words, self.details))
        self.args = (self.message, *self.args[1:])
        others = getattr(self, "__notes__", [])[own:]
        self.__notes__ = []
        self._add_notes()
        self.__notes__ += others

    def _add_notes(self) -> None:
        for detail in self.details:
            self.add_note(detail)
        if self.hint:  # a note, not part of str(): tracebacks show it, and what prints message and hint says it once
            self.add_note(f"hint: {self.hint}")


class RequestRefused(IrbenchError):
    """A model server has no room for a request now; another one may be answered.

    Attributes:
        retry_after_s: After how many seconds the server asks for it again; 0 where it does not say.
    """

    def __init__(self, message: str, *, hint: str = "", retry_after_s: int = 0) -> None:
        super().__init__(message, hint=hint)
        self.retry_after_s = retry_after_s


def first_line(error: BaseException) -> str:
    """Return the first line of an exception's message, or its type's name where it has none."""
    return (str(error).strip().splitlines() or [type(error).__name__])[0]


def one_line(text: str) -> str:
    """Return ``text`` as one line that a terminal shows as it is: names in files may hold anything, and be endless."""
    shown = plain(text)
    return shown if len(shown) <= _LONGEST else f"{shown[: _LONGEST // 2]} ... {shown[-_LONGEST // 2 :]}"
