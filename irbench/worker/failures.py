"""How a call to a worker fails: it raised, its process ended, or its deadline passed."""

from __future__ import annotations

import signal

from irbench.errors import ExitCode, IrbenchError

_CRASHES = frozenset({signal.SIGABRT, signal.SIGBUS, signal.SIGFPE, signal.SIGILL, signal.SIGSEGV})
"""Signals that end a process because of what its own code did."""


class WorkerDied(IrbenchError):
    """The process ended, or was ended at its deadline, before it answered.

    Attributes:
        log_tail: The last of what it wrote to stdout and stderr.
        crash: The name of the signal, ``SIGSEGV`` for example, where its own code ended it; ``None`` otherwise.
    """

    def __init__(self, message: str, *, hint: str = "", log_tail: str = "", crash: str | None = None) -> None:
        super().__init__(message, hint=hint, exit_code=ExitCode.FAILED_CELL)
        self.log_tail = log_tail
        self.crash = crash

    def during(self, what: str, remedy: str = "") -> IrbenchError:
        """Return the error that a user sees whose call ends here.

        Args:
            what: The work that failed, as a sentence: ``The export of resnet50 failed.``
            remedy: What else may help, as a sentence.
        """
        return IrbenchError(f"{what} {self.message}", hint=" ".join(filter(None, [self.hint, remedy])))


class WorkerTimedOut(WorkerDied):
    """It was ended at its deadline."""


class CallFailed(IrbenchError):
    """The worker is alive, and its call raised; message and hint are those of the exception."""


def unreadable_answer(why: str) -> CallFailed:
    """Return the failure of a call whose answer is not what the call returns.

    Args:
        why: The end of a sentence: ``it is not what was asked for``.
    """
    return CallFailed(f"Its answer cannot be read: {why}", exit_code=ExitCode.FAILED_CELL)


def crash_signal(code: int) -> str | None:
    """Return the name of the signal by which a process was ended for what its own code did; ``None`` otherwise."""
    return signal.Signals(-code).name if -code in _CRASHES else None


def how_it_ended(code: int) -> str:
    """Return what a process's exit code says; a negative one is the signal that ended it."""
    if code >= 0:
        return f"ended with exit code {code}"
    try:
        name = signal.Signals(-code).name
    except ValueError:
        return f"was killed by signal {-code}"
    return f"crashed with {name}" if -code in _CRASHES else f"was killed by {name}"
