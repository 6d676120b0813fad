"""What travels between the coordinator and a worker, over a descriptor of its own and never over stdout.

Messages are pickled: both ends are the same program started by the same user, and the arrays
they carry need no other form.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

__all__ = ["Problem", "Reply", "Request", "Say"]


@dataclass(frozen=True)
class Request:
    """Call ``target`` (``module:name``), or the method of that name where an object is held.

    Attributes:
        target: What to call.
        args: Its positional arguments.
        hold: Keep the result in the worker as the object that later methods belong to.
        talks: Give the callee a function as its last argument with which it reports progress.
    """

    target: str
    args: tuple[Any, ...] = ()
    hold: bool = False
    talks: bool = False


@dataclass(frozen=True)
class Say:
    """A line of progress."""

    text: str


@dataclass(frozen=True)
class Reply:
    """What the call returned."""

    value: Any


@dataclass(frozen=True)
class Problem:
    """What the call raised.

    Attributes:
        message: What is wrong, for the user.
        hint: How to mend it; may be empty.
        exit_code: Of an :class:`irbench.errors.IrbenchError`; ``None`` for any other exception.
    """

    message: str
    hint: str
    exit_code: int | None
