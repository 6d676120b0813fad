"""Signals of this process, steps that none may interrupt, and what the kernel does when a parent process ends."""

from __future__ import annotations

import ctypes
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@contextmanager
def signals_deferred() -> Iterator[None]:
    """Let what is inside finish, or raise; a signal that arrives meanwhile is obeyed afterwards in either case.

    Only the main thread can set handlers, and only it is interrupted by them: in another one nothing needs to be
    deferred. Signals that are ignored stay so. Blocking them would not do: the kernel then gives them to another
    thread, and Python runs their handlers in the main thread all the same.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    arrived: list[int] = []
    holding = True
    handlers: dict[int, Any] = {signal_: signal.getsignal(signal_) for signal_ in _SIGNALS}
    before = {number: handler for number, handler in handlers.items() if handler not in (None, signal.SIG_IGN)}

    def hold(number: int, _frame: object) -> None:
        if holding:
            arrived.append(number)
        else:  # it came while handlers were put back, and may have left this one
            signal.signal(number, before[number])
            signal.raise_signal(number)

    try:
        for number in before:
            signal.signal(number, hold)
        yield
    finally:
        holding = False
        for number, handler in before.items():
            signal.signal(number, handler)
        for number in arrived[:1]:
            signal.raise_signal(number)


_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36


def die_with_parent() -> None:
    """Have the kernel kill this process when the thread that started it ends, on Linux; a fork does not inherit it."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def adopt_orphans() -> None:
    """Have the kernel make this process the parent of those of its descendants whose parent ends, on Linux.

    A program that makes itself a daemon thus stays below this process in the tree of processes. Source: prctl(2).
    """
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
